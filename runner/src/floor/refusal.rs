//! The refusal of a start, and the checks of a grant that need no configuration.

use std::path::{Component, Path};

use airlock_domain::{BoundFile, Cause, ExecutionResult};

/// A refused start: a stable reason and a message for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// The state of the files that the command would run, if an approval may depend on them.
    pub(crate) files: Vec<BoundFile>,
}

impl Refusal {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), files: Vec::new() }
    }

    /// Returns the result of the execution that was refused.
    pub(crate) fn into_result(self) -> ExecutionResult {
        let Self { reason, message, files } = self;
        ExecutionResult::not_started(Cause::Refused { reason: reason.to_owned(), message, files })
    }
}

/// Returns the refusal of a grant that exceeds the floor.
pub(super) fn floor(message: impl Into<String>) -> Refusal {
    Refusal::new("floor", message)
}

/// Reports whether a path is absolute and has no `.` or `..`.
pub(super) fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}
