//! The error of a message to a runner that could not be sent.

/// Why a message could not be sent to a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkUnavailable {
    /// The runner has no link to this server. When it reconnects, it reports every job that it was not
    /// told to forget. The executions that have ended are then passed to the output streams again.
    #[error("the runner has no link to this server")]
    NotConnected,
    /// The link ended or was blocked for too long while the message waited to be sent.
    #[error("the link to the runner ended")]
    LinkEnded,
}
