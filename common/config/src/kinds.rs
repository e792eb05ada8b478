//! Kinds of values that Rust's types do not express: times with bounds, and forms of text. They describe fields in
//! schemas, and convert times.

use std::{borrow::Cow, net::SocketAddr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// 365.25 days, in milliseconds. The bound of times without a smaller one, so that adding one to a clock does not
/// overflow.
pub const YEAR: u64 = 31_557_600_000;
/// The format of [`Address`].
pub(crate) const ADDRESS: &str = "socket-address";
/// The keyword of a time's bounds.
pub(crate) const TIME: &str = "x-time";

/// A time with its unit, from `LEAST` to `MOST` milliseconds. A field of the type [`Duration`] or `Option<Duration>`
/// names it as `#[serde(with = "...")]`.
#[derive(Debug)]
pub struct Time<const LEAST: u64, const MOST: u64>;

impl<const LEAST: u64, const MOST: u64> Time<LEAST, MOST> {
    /// Writes a time, such as `4m`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(time: &impl Timed, to: S) -> Result<S::Ok, S::Error> {
        let shown = time.get().map(|time| humantime::format_duration(time).to_string().replace(' ', ""));
        shown.serialize(to)
    }

    /// Reads a time. The schema has already checked its bounds.
    ///
    /// # Errors
    /// If the text is not a time.
    pub fn deserialize<'de, D: Deserializer<'de>, T: From<Duration>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        humantime::parse_duration(&text).map(T::from).map_err(D::Error::custom)
    }
}

impl<const LEAST: u64, const MOST: u64> JsonSchema for Time<LEAST, MOST> {
    fn schema_name() -> Cow<'static, str> {
        format!("Time{LEAST}To{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", (TIME): {"least": LEAST, "most": MOST}})
    }
}

/// A field with a time.
pub trait Timed {
    /// Returns the time, if it is set.
    fn get(&self) -> Option<Duration>;
}

impl Timed for Duration {
    fn get(&self) -> Option<Duration> {
        Some(*self)
    }
}

impl Timed for Option<Duration> {
    fn get(&self) -> Option<Duration> {
        *self
    }
}

/// A table, or the text `"none"` for no table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OrNone<T>(pub Option<T>);

/// The values of [`OrNone`] in a configuration.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WordOrTable<T> {
    Word(NoneWord),
    Table(T),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoneWord {
    None,
}

impl<T: Serialize> Serialize for OrNone<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().map_or(WordOrTable::Word(NoneWord::None), WordOrTable::Table).serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNone<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        WordOrTable::deserialize(from).map(|value| match value {
            WordOrTable::Word(NoneWord::None) => Self(None),
            WordOrTable::Table(table) => Self(Some(table)),
        })
    }
}

impl<T: JsonSchema> JsonSchema for OrNone<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrNone", T::schema_name()).into()
    }

    /// Returns the schema of the table, which also permits the word. `pattern` applies to texts only.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.insert("type".to_owned(), serde_json::json!(["object", "string"]));
        schema.insert("pattern".to_owned(), "^none$".into());
        schema.insert("x-words".to_owned(), serde_json::json!(["none"]));
        schema
    }
}

/// An IP address and a port.
#[derive(Debug)]
pub struct Address;

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": ADDRESS,
            "x-write": "an IP address and a port, such as \"127.0.0.1:7443\" or \"[::]:7443\"",
        })
    }
}

/// A TCP port or a range of ports.
#[derive(Debug)]
pub struct Ports;

impl JsonSchema for Ports {
    fn schema_name() -> Cow<'static, str> {
        "Ports".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        const PORT: &str = r"([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])";
        json_schema!({
            "type": "string",
            "pattern": format!("^{PORT}(-{PORT})?$"),
            "x-write": "a port or a range of ports in quotes, such as \"8000\" or \"3000-3999\"",
        })
    }
}

/// Reports whether a text is an [`Address`].
pub(crate) fn is_address(text: &str) -> bool {
    text.parse::<SocketAddr>().is_ok()
}

/// Defines a form of text: a type that describes fields in schemas, its pattern, and what to write.
#[macro_export]
macro_rules! text_form {
    ($name:ident, $pattern:expr, $write:expr $(,)?) => {
        $crate::text_form!(, $name, $pattern, $write);
    };
    ($visible:vis, $name:ident, $pattern:expr, $write:expr $(,)?) => {
        $visible struct $name;

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern, "x-write": $write})
            }
        }
    };
}
