//! The result of one check.
//!
//! Must not perform a check itself.

use serde::Serialize;

/// The state of a checked item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It was observed to work completely.
    Ok,
    /// It works in part, or a weaker alternative works.
    Degraded,
    /// It does not work, or it could not be observed.
    Missing,
}

impl State {
    /// Returns the name for display and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The stable lower-case name.
    pub name: &'static str,
    /// The state.
    pub state: State,
    /// The observation, in one line.
    pub seen: String,
    /// The consequence if it is missing, in one line. Empty if it works completely.
    pub lost: String,
    /// The remedy (a command or a Kubernetes field), in one line. Empty if it works completely or no remedy is known.
    pub remedy: String,
}

impl Check {
    /// Returns the check of an item that works.
    pub(crate) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: State::Ok, seen: seen.into(), lost: String::new(), remedy: String::new() }
    }

    /// Returns the check of an item that works in part.
    pub(crate) fn degraded(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Degraded, seen: seen.into(), lost: lost.into(), remedy: remedy.into() }
    }

    /// Returns the check of an item that does not work.
    pub(crate) fn missing(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { state: State::Missing, ..Self::degraded(name, seen, lost, remedy) }
    }

    /// Reports whether the item was observed to work completely.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        self.state == State::Ok
    }
}
