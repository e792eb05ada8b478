//! The end of a link.

/// The reason why a link ended.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkEnd {
    /// The runner stops.
    #[error("the runner stops")]
    Stopped,
    /// The server is reachable, and refuses this runner.
    #[error("the server refuses this runner: {0}")]
    Refused(String),
    /// The connection failed or broke.
    #[error("{0}")]
    Lost(String),
}

/// Returns the end of a link whose connection failed or broke.
pub(super) fn lost(what: impl std::fmt::Display) -> LinkEnd {
    LinkEnd::Lost(what.to_string())
}
