//! What is wrong with a text: one line for each problem.

use std::fmt;

use crate::place::{Place, place_of};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where; none where there is no text.
    pub place: Option<Place>,
    /// The field's path, such as `link.lost_after` or `identity[1].match`; empty for the whole text.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

/// Everything that is wrong with one file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file as it was named.
    pub file: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl ConfigError {
    /// A problem of the file as a whole.
    #[must_use]
    pub fn whole(file: &str, what: &str, cure: &str) -> Self {
        let problem =
            Problem { place: None, field: String::new(), what: what.to_owned(), cure: cure.to_owned() };
        Self { file: file.to_owned(), problems: vec![problem] }
    }

    /// Refuses where there are problems; finds their places by their fields where `text` is given.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn unless_right(file: &str, text: Option<&str>, mut problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() {
            return Ok(());
        }
        if let Some(text) = text {
            for problem in &mut problems {
                problem.place = place_of(text, &problem.field);
            }
            problems.sort_by_key(|problem| problem.place);
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
            f.write_str(&self.file)?;
            if let Some(Place { line, column }) = problem.place {
                write!(f, ":{line}:{column}")?;
            }
            if !problem.field.is_empty() {
                write!(f, ": `{}`", problem.field)?;
            }
            write!(f, ": {}; {}", problem.what, problem.cure)?;
        }
        Ok(())
    }
}
