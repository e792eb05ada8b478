//! The structure of a text, as data.

use std::time::Duration;

/// 365.25 days.
const YEAR: Duration = Duration::from_secs(31_557_600);

/// A key and its value.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// The permitted values.
    pub kind: Kind,
    /// Whether the key is required.
    pub required: bool,
}

impl Field {
    /// Creates an optional key.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false }
    }

    /// Creates a required key.
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true }
    }
}

/// The permitted values of a key.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number; both bounds are inclusive.
    Number {
        /// The lower bound.
        least: u64,
        /// The upper bound.
        most: u64,
    },
    /// A number with an optional fraction; both bounds are inclusive.
    Fraction {
        /// The lower bound.
        least: f64,
        /// The upper bound.
        most: f64,
    },
    /// A duration such as `30s`; both bounds are inclusive.
    Time {
        /// The lower bound.
        least: Duration,
        /// The upper bound.
        most: Duration,
    },
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A text of a certain form.
    Form(Form),
    /// A list of such values.
    List(&'static Kind),
    /// A table with only these keys.
    Table(&'static [Field]),
    /// A table with any keys, and such values.
    Map(&'static Kind),
    /// One of these words, or a table with exactly one of these keys. Errors do not show the value,
    /// which may be a secret.
    Choice {
        /// The words.
        words: &'static [&'static str],
        /// The keys.
        fields: &'static [Field],
    },
}

/// A form of text.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Returns whether a text has this form.
    pub holds: fn(&str) -> bool,
    /// A description with an example, such as "an address and a port, such as `127.0.0.1:7443`".
    pub what: &'static str,
}

impl Kind {
    /// Returns whole numbers without an upper bound of their own.
    #[must_use]
    pub const fn at_least(least: u64) -> Self {
        // The upper bound of TOML.
        Self::Number { least, most: i64::MAX as u64 }
    }

    /// Returns whole numbers of 32 bits.
    #[must_use]
    pub const fn at_least_u32(least: u64) -> Self {
        Self::Number { least, most: u32::MAX as u64 }
    }

    /// Returns durations of up to a year, so that adding one to a clock does not overflow.
    #[must_use]
    pub const fn time_from(least: Duration) -> Self {
        Self::Time { least, most: YEAR }
    }

    /// Returns an instruction, such as "write a whole number from 1 to 128".
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Text => "write a string in quotes".to_owned(),
            Self::Bool => "write true or false, without quotes".to_owned(),
            Self::Number { least, most } if *most == i64::MAX as u64 => {
                format!("write a whole number, {least} or more, without quotes")
            }
            Self::Number { least, most } => {
                format!("write a whole number from {least} to {most}, without quotes")
            }
            Self::Fraction { least, most } => format!("write a number from {least} to {most}"),
            Self::Time { least, most } => format!(
                "write a time with its unit in quotes, such as \"500ms\", \"30s\" or \"4m\"{}",
                time_bounds(*least, *most)
            ),
            Self::OneOf(words) => format!("write {}", one_of(words, '"')),
            Self::Form(form) => format!("write {}", form.what),
            Self::List(Self::Table(_)) => {
                "begin each of them with its name in double brackets, as in [[name]]".to_owned()
            }
            Self::List(_) => "write a list in brackets, such as [\"a\", \"b\"]".to_owned(),
            Self::Table(fields) => format!("write a table with {}", names(fields)),
            Self::Map(_) => "write a table, such as { name = \"value\" }".to_owned(),
            Self::Choice { words, fields } => {
                format!("write {} or a table with exactly one of {}", one_of(words, '"'), names(fields))
            }
        }
    }
}

fn time_bounds(least: Duration, most: Duration) -> String {
    let shown = humantime::format_duration;
    match least.is_zero() {
        true => format!(", {} at most", shown(most)),
        false => format!(", from {} to {}", shown(least), shown(most)),
    }
}

/// Formats `"a"`, or `"a", "b" or "c"`.
fn one_of(words: &[&str], quote: char) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{quote}{word}{quote}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Formats the keys, each in backticks.
pub(crate) fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ")
}
