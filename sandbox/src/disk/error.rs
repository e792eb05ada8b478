//! The errors of operations on a session's disk.

use std::fmt;

use super::backend::DiskBackend;

/// A failed operation on a session's disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The configured backend does not work on this host.
    #[error("`workspace.backend` `{}` does not work here: {cause}; {remedy}", backend.as_str())]
    Unusable {
        /// The backend.
        backend: DiskBackend,
        /// The observation.
        cause: String,
        /// The remedy.
        remedy: String,
    },
    /// A step failed.
    #[error("a session's disk: cannot {action}: {cause}")]
    Step {
        /// The step that failed.
        action: &'static str,
        /// The cause.
        cause: String,
    },
    /// The disk was in memory, and is lost.
    #[error("its files were in memory (`workspace.backend` is `tmpfs`) and are lost")]
    Lost,
}

/// Returns the error of a failed step.
pub(super) fn step<E: fmt::Display>(action: &'static str) -> impl Fn(E) -> DiskError {
    move |error| DiskError::Step { action, cause: error.to_string() }
}
