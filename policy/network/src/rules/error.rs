//! The errors of the lists of a layer.

use std::{borrow::Cow, fmt};

use airlock_escape::shortened;

/// The most columns of an entry in a message.
const MOST_COLUMNS: usize = 80;

/// A list of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum List {
    /// `allow`
    Allow,
    /// `deny`
    Deny,
    /// `ask`
    Ask,
}

/// An entry that is not a rule. Its text is one line of ASCII: the entry, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuleError {
    /// The list of the entry.
    pub list: List,
    /// The position of the entry in the list, from 0. `None` if the problem is the list itself.
    pub index: Option<usize>,
    /// The message.
    pub message: String,
}

/// The problem of an entry, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    problem: String,
    remedy: String,
}

impl Problem {
    pub(crate) const fn new(problem: String, remedy: String) -> Self {
        Self { problem, remedy }
    }

    pub(crate) fn parts(&self) -> (String, String) {
        (self.problem.clone(), self.remedy.clone())
    }
}

impl RuleError {
    pub(super) fn of_list(list: List, length: usize, most: usize) -> Self {
        let message = format!(
            "`{list}` has {length} entries; write at most {most}, for example with `*.` before a domain"
        );
        Self { list, index: None, message }
    }

    pub(super) fn of_entry(list: List, index: usize, text: &str, problem: &Problem) -> Self {
        let text = without_credentials(text);
        let text = shortened(text.as_bytes(), MOST_COLUMNS);
        let number = index + 1;
        let message = format!("entry {number} of `{list}`, `{text}`: {problem}");
        Self { list, index: Some(index), message }
    }
}

/// Replaces the user and the password of a URL, because the message is logged.
fn without_credentials(text: &str) -> Cow<'_, str> {
    match text.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}").into(),
        None => text.into(),
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Ask => "ask",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}
