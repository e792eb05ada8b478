//! The reasons why a runner is refused, and why a link ends.

/// The reason why a runner is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// The runner uses an unsupported version of the protocol.
    #[error("the runner uses link protocol {theirs}; this server supports {ours} and the previous version")]
    Version {
        /// The runner's version.
        theirs: u32,
        /// This server's version.
        ours: u32,
    },
    /// A later epoch of this runner has connected.
    #[error("a newer epoch of the runner has connected, so this epoch is fenced")]
    Fenced,
    /// The limit of connected runners is reached.
    #[error("limit `runners` of {limit} is reached")]
    TooMany {
        /// The value of the limit.
        limit: u32,
    },
    /// The server starts, shuts down, or cannot reach its store.
    #[error("{reason}")]
    Unavailable {
        /// The reason.
        reason: String,
    },
}

/// The reason why a link ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// The link was replaced, fenced or silent for too long, or the server shuts down.
    #[error("the link has ended: {0}")]
    Ended(&'static str),
    /// The runner sent a message that the protocol does not permit here.
    #[error("the runner violated the protocol: {0}")]
    Protocol(&'static str),
    /// The message could not be stored. The runner repeats it on its next link.
    #[error("{0}")]
    NotKept(String),
}
