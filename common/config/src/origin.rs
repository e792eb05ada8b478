//! The origin of a value: a position in the file, a variable of the environment, or a flag.

use std::fmt;

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
