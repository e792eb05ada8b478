//! The handle of a link for the gRPC edge.

use std::sync::Arc;

use airlock_domain::{FromRunner, ToRunner};
use tokio::sync::mpsc;

use super::{Link, Links};

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

/// The handle of a link for the gRPC edge. Dropping it marks the link as lost.
#[derive(Debug)]
pub struct LinkHandle {
    pub(super) links: Links,
    pub(super) link: Arc<Link>,
    pub(super) outgoing: Option<mpsc::Receiver<ToRunner>>,
}

impl LinkHandle {
    /// Returns the messages for the runner, `Welcome` first. The channel closes when the server ends the
    /// link. Returns `None` on a second call.
    pub fn outgoing(&mut self) -> Option<mpsc::Receiver<ToRunner>> {
        self.outgoing.take()
    }

    /// Processes a message of the runner and returns when it is stored. Messages must be passed in order, one
    /// at a time. Cancel-safe: the runner repeats a message that was not stored on its next link.
    ///
    /// # Errors
    /// Returns an error if the link must be closed. The runner may connect again.
    pub async fn received(&self, message: FromRunner) -> Result<(), LinkError> {
        self.links.received(&self.link, message).await
    }

    /// Returns when the server has ended the link, with the reason.
    pub async fn ended(&self) -> LinkError {
        self.link.ended().await
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        self.links.lost(&self.link);
    }
}
