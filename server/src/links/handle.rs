//! The edge's end of a link.

use std::sync::Arc;

use airlock_proto::domain::{FromRunner, ToRunner};
use tokio::sync::mpsc;

use super::{Link, Links};

/// Why a runner may not connect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefusal {
    /// It speaks another version of the protocol.
    #[error("the runner speaks link protocol {theirs}, this server {ours} and the one before")]
    Version {
        /// The runner's.
        theirs: u32,
        /// This server's.
        ours: u32,
    },
    /// This life of the runner was followed by another.
    #[error("this epoch of the runner was followed by another and is fenced")]
    Fenced,
    /// There are too many runners.
    #[error("limit `runners` of {limit} is reached")]
    TooMany {
        /// The limit's value.
        limit: u32,
    },
    /// The server starts, stops, or cannot reach its store.
    #[error("{reason}")]
    Unavailable {
        /// What and why.
        reason: String,
    },
}

/// Why a link must end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It was replaced, fenced, silent for too long, or the server stops.
    #[error("the link has ended: {0}")]
    Ended(&'static str),
    /// The runner said something that the protocol does not permit here.
    #[error("the runner broke the protocol: {0}")]
    Protocol(&'static str),
    /// What it said could not be kept; it says it again on its next link.
    #[error("{0}")]
    NotKept(String),
}

/// The edge's end of a link. Dropping it says that the link is lost.
#[derive(Debug)]
pub struct LinkHandle {
    pub(super) links: Links,
    pub(super) link: Arc<Link>,
    pub(super) outgoing: Option<mpsc::Receiver<ToRunner>>,
}

impl LinkHandle {
    /// What to send to the runner, `Welcome` first; ends when the server ends the link. Given once.
    pub fn outgoing(&mut self) -> Option<mpsc::Receiver<ToRunner>> {
        self.outgoing.take()
    }

    /// Takes in what the runner said, in the order in which it was said: call it again only after it
    /// returned. Returns when the store has it. Cancel-safe: what was not kept is said again on the
    /// runner's next link.
    ///
    /// # Errors
    /// The link must be closed; the runner may connect again.
    pub async fn received(&self, message: FromRunner) -> Result<(), LinkError> {
        self.links.received(&self.link, message).await
    }

    /// Returns when the server has ended the link, and why.
    pub async fn ended(&self) -> LinkError {
        self.link.ended().await
    }
}

impl Drop for LinkHandle {
    fn drop(&mut self) {
        self.links.lost(&self.link);
    }
}
