//! The interface to a runner's link that requests exchange streams, and the messages of a runner on one exchange with the
//! ways in which they end.

use airlock_domain::{ExchangeFromRunner, ExchangeToRunner, RunnerId};
use airlock_output::stream::LinkUnavailable;
use futures::stream::BoxStream;
use tokio::sync::mpsc;

/// The part of a runner's link that the exchanges use. The links implement it.
#[async_trait::async_trait]
pub trait ExchangeLink: Send + Sync {
    /// Asks the runner to open an `Exchange` stream with `ticket`. Returns after the request is sent;
    /// the caller waits for the stream.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn open_exchange(&self, runner: &RunnerId, ticket: &str) -> Result<(), LinkUnavailable>;
}

/// The messages of a runner on one exchange, in order.
pub(crate) type Incoming = BoxStream<'static, Result<ExchangeFromRunner, ExchangeBroken>>;

/// The reason why the messages of a runner ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeBroken {
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Cut(String),
    /// A message does not conform to the contract.
    #[error("a message cannot be decoded: {0}")]
    Unreadable(String),
}

/// A protocol violation by a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("an invalid message")]
    Unreadable,
    #[error("a message of the wrong kind")]
    WrongKind,
    #[error("a chunk that does not begin at the end of the previous one")]
    OutOfOrder,
    #[error("a chunk that is empty or too long")]
    ChunkSize,
    #[error("a size that differs from the received bytes")]
    WrongSize,
    #[error("more entries than requested")]
    TooMany,
    #[error("an invalid entry")]
    BadEntry,
}

/// A stream that a runner opened for a ticket.
pub(super) struct Opened {
    pub(super) from: Incoming,
    pub(super) to: mpsc::Sender<ExchangeToRunner>,
}
