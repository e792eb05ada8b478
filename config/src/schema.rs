//! What a text may say, as data.

use std::time::Duration;

/// 365.25 days.
const YEAR: Duration = Duration::from_secs(31_557_600);

/// A key and what it holds.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether the text must have it.
    pub required: bool,
}

impl Field {
    /// A key that may be left out.
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false }
    }

    /// A key that must be there.
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true }
    }
}

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// A whole number, both bounds included.
    Number {
        /// At least.
        least: u64,
        /// At most.
        most: u64,
    },
    /// A number that need not be whole, both bounds included.
    Fraction {
        /// At least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// A text such as `30s`, both bounds included.
    Time {
        /// At least.
        least: Duration,
        /// At most.
        most: Duration,
    },
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A text of a certain form.
    Form(Form),
    /// A list of such values.
    List(&'static Kind),
    /// A table with these keys and no others.
    Table(&'static [Field]),
    /// A table with any keys, and such values.
    Map(&'static Kind),
    /// One of these words, or a table with exactly one of these keys. What is written is not shown in
    /// errors: it may be a secret.
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
    /// Whether a text has it.
    pub holds: fn(&str) -> bool,
    /// What it is and an example, as in "an address and a port, such as `127.0.0.1:7443`".
    pub what: &'static str,
}

impl Kind {
    /// Whole numbers without an upper bound of their own.
    #[must_use]
    pub const fn at_least(least: u64) -> Self {
        // TOML's own bound.
        Self::Number { least, most: i64::MAX as u64 }
    }

    /// Whole numbers of 32 bits.
    #[must_use]
    pub const fn at_least_u32(least: u64) -> Self {
        Self::Number { least, most: u32::MAX as u64 }
    }

    /// Times of up to a year, so that any of them can be added to any clock.
    #[must_use]
    pub const fn time_from(least: Duration) -> Self {
        Self::Time { least, most: YEAR }
    }

    /// What to write, as in "write a whole number from 1 to 128".
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Text => "write a text in quotes".to_owned(),
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

/// `"a"`, or `"a", "b" or "c"`.
fn one_of(words: &[&str], quote: char) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{quote}{word}{quote}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The keys, each in backticks.
pub(crate) fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| format!("`{}`", field.name)).collect::<Vec<_>>().join(", ")
}
