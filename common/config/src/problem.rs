//! The problems of a text, one line each.

use std::fmt::{self, Write as _};

use crate::origin::Origin;

/// The largest number of problems that are reported for one text.
pub(crate) const PROBLEMS: usize = 100;
/// The longest quoted part of a text in a line, in characters.
const SHOWN: usize = 400;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The origin of the value; `None` for the file as a whole.
    pub origin: Option<Origin>,
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
        Self { origin: None, field: String::new(), what, cure: "correct the problems above first".to_owned() }
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
            Problem { origin: None, field: String::new(), what: what.to_owned(), cure: cure.to_owned() };
        Self { file: file.to_owned(), problems: vec![problem] }
    }

    /// Creates an error from the errors of the syntax. A consequence of an error on the same line is not helpful.
    pub(crate) fn syntax(file: &str, mut problems: Vec<Problem>) -> Self {
        let line = |problem: &Problem| problem.origin.as_ref().and_then(Origin::place).map(|at| at.line);
        let more = problems.len() > PROBLEMS;
        problems.truncate(PROBLEMS);
        problems.sort_by(|one, other| one.origin.cmp(&other.origin));
        problems.dedup_by(|later, first| later.field.is_empty() && line(first) == line(later));
        problems.extend(more.then(Problem::more));
        Self { file: file.to_owned(), problems }
    }

    /// Returns an error if there are problems. They are sorted by origin, and the first are reported.
    pub(crate) fn sorted(file: &str, mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.sort_by(|one, other| one.origin.cmp(&other.origin));
        let more = problems.len() > PROBLEMS;
        problems.truncate(PROBLEMS);
        problems.extend(more.then(Problem::more));
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Self { file: file.to_owned(), problems }),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let mut origin = String::new();
            match &problem.origin {
                Some(from) => from.show(&self.file, &mut origin)?,
                None => origin.push_str(&self.file),
            }
            harmless(f, &origin)?;
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
pub(crate) fn harmless(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if index >= SHOWN => return f.write_char('…'),
            '"' | '\'' | '\\' => f.write_char(c)?,
            c => write!(f, "{}", c.escape_debug())?,
        }
    }
    Ok(())
}
