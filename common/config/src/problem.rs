//! The problems of a text, one line each.

use std::fmt::{self, Write as _};

use toml::de::DeTable;

use crate::place::{Place, place_in};

/// The largest number of problems that are reported for one text.
pub(crate) const PROBLEMS: usize = 100;
/// The longest quoted part of a text in a line, in characters.
const SHOWN: usize = 400;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The position; `None` if there is no text.
    pub place: Option<Place>,
    /// The field's path, such as `link.lost_after` or `identity[1].match`; empty for the whole text.
    pub field: String,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub cure: String,
}

impl Problem {
    /// Creates the problem that there are more problems than are reported.
    pub(crate) fn more() -> Self {
        let what = format!("there are more than {PROBLEMS} problems");
        Self { place: None, field: String::new(), what, cure: "correct the problems above first".to_owned() }
    }
}

/// The problems of one file, in the order of the file; at most one hundred.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file as it was named.
    pub file: String,
    /// The problems; at least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// Creates an error for the file as a whole.
    #[must_use]
    pub fn whole(file: &str, what: &str, cure: &str) -> Self {
        let problem =
            Problem { place: None, field: String::new(), what: what.to_owned(), cure: cure.to_owned() };
        Self { file: file.to_owned(), problems: vec![problem] }
    }

    /// Returns an error if there are problems. If `text` is given, the positions are found by the
    /// fields.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn unless_right(file: &str, text: Option<&str>, mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        if let Some(text) = text {
            let more = problems.len() > PROBLEMS;
            problems.truncate(PROBLEMS);
            if let Ok(table) = DeTable::parse(text) {
                for problem in &mut problems {
                    problem.place = Some(place_in(table.get_ref(), text, &problem.field));
                }
            }
            problems.sort_by_key(|problem| problem.place);
            problems.extend(more.then(Problem::more));
        }
        Err(Self { file: file.to_owned(), problems })
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            harmless(f, &self.file)?;
            if let Some(Place { line, column }) = problem.place {
                write!(f, ":{line}:{column}")?;
            }
            if !problem.field.is_empty() {
                f.write_str(": `")?;
                harmless(f, &problem.field)?;
                f.write_char('`')?;
            }
            f.write_str(": ")?;
            harmless(f, &problem.what)?;
            write!(f, "; {}", problem.cure)?;
        }
        Ok(())
    }
}

/// Writes a text on one line, without characters that affect a terminal.
fn harmless(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if index >= SHOWN => return f.write_char('…'),
            '"' | '\'' | '\\' => f.write_char(c)?,
            c => write!(f, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}
