//! What is wrong with a text: one line for each problem.

use std::fmt::{self, Write as _};

use toml::de::DeTable;

use crate::{
    check::PROBLEMS,
    place::{Place, place_in},
};

/// Of each part of a line that names something of the text, in characters.
const SHOWN: usize = 400;

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

impl Problem {
    /// That there are others.
    pub(crate) fn more() -> Self {
        let what = format!("there are more than {PROBLEMS} problems");
        Self { place: None, field: String::new(), what, cure: "mend those above first".to_owned() }
    }
}

/// What is wrong with one file, in the order of the file: everything, or the first hundred.
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

/// Writes a text so that it stays on its line and does nothing to a terminal.
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
