//! One thing that was looked at, and how it is told.
//!
//! Must not look at anything itself.

use serde::Serialize;

/// How much of something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All of it, as it was seen.
    Ok,
    /// A part of it, or something weaker in its place.
    Degraded,
    /// Nothing of it, or it could not be seen.
    Missing,
}

impl State {
    /// As it is shown and written to JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Missing => "missing",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is, as a stable lower-case name.
    pub name: &'static str,
    /// How much of it is there.
    pub state: State,
    /// What was seen, in one line.
    pub seen: String,
    /// What is lost without it, in one line; empty where all of it is there.
    pub lost: String,
    /// The command or the Kubernetes field that gives it, in one line; empty
    /// where all of it is there, and where nothing is known to.
    pub cure: String,
}

impl Check {
    /// Something that is there.
    pub(crate) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: State::Ok, seen: seen.into(), lost: String::new(), cure: String::new() }
    }

    /// Something that is there in part.
    pub(crate) fn degraded(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { name, state: State::Degraded, seen: seen.into(), lost: lost.into(), cure: cure.into() }
    }

    /// Something that is not there.
    pub(crate) fn missing(
        name: &'static str,
        seen: impl Into<String>,
        lost: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { state: State::Missing, ..Self::degraded(name, seen, lost, cure) }
    }

    /// Whether all of it was seen to be there.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        self.state == State::Ok
    }
}
