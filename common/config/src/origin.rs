//! The path of a key, such as `limits.queue` or `identity[1].match`, and the origin of its value: a position in the file,
//! a variable of the environment, or a flag.

use std::fmt;

use serde_json::Value;

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// Returns the position of a byte.
    #[must_use]
    pub fn at(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, _) = text.split_at(offset);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// The origin of a value or of a problem, in the order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A position in the file.
    Place(Place),
    /// A variable of the environment, by name.
    Variable(String),
    /// A flag as it was given, without its value.
    Flag(String),
}

impl Origin {
    /// Returns the position in the file, if the origin is the file.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Place(place) => Some(*place),
            _ => None,
        }
    }

    /// Formats the origin. A position follows the name of the file.
    pub(crate) fn show(&self, file: &str, f: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            Self::Place(Place { line, column }) => write!(f, "{file}:{line}:{column}"),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A key of a table.
    Key(String),
    /// An entry of a list, from 0.
    Index(usize),
}

/// A path from the root of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl Path {
    /// Parses a path as [`Path`] formats it. A number between dots is a key.
    pub(crate) fn parse(text: &str) -> Self {
        let mut steps = Vec::new();
        for part in text.split('.').filter(|part| !part.is_empty()) {
            let (key, indices) = part.split_once('[').map_or((part, ""), |(key, rest)| (key, rest));
            if !key.is_empty() {
                steps.push(Step::Key(key.to_owned()));
            }
            let indices = indices.split(['[', ']']).filter_map(|index| index.parse().ok());
            steps.extend(indices.map(Step::Index));
        }
        Self(steps)
    }

    /// Converts a JSON pointer into `value`.
    pub(crate) fn from_pointer(pointer: &str, value: &Value) -> Self {
        let mut steps = Vec::new();
        let mut value = Some(value);
        for part in pointer.split('/').skip(1) {
            let key = part.replace("~1", "/").replace("~0", "~");
            match (value, key.parse::<usize>()) {
                (Some(Value::Array(list)), Ok(index)) => {
                    value = list.get(index);
                    steps.push(Step::Index(index));
                }
                _ => {
                    value = value.and_then(|value| value.get(&key));
                    steps.push(Step::Key(key));
                }
            }
        }
        Self(steps)
    }

    /// Returns the path of a key below this one.
    pub(crate) fn key(&self, name: &str) -> Self {
        self.with(Step::Key(name.to_owned()))
    }

    /// Returns the path of an entry of this list.
    pub(crate) fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Returns the path of the enclosing table or list, or `None` for the root.
    pub(crate) fn parent(&self) -> Option<Self> {
        self.0.split_last().map(|(_, steps)| Self(steps.to_vec()))
    }

    /// Returns the steps below `other`, or `None` if the path is not at or below it.
    pub(crate) fn below(&self, other: &Self) -> Option<&[Step]> {
        self.0.strip_prefix(other.0.as_slice())
    }
}

/// Returns the value at the end of the steps.
pub(crate) fn value_at<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
