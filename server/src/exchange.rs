//! Exchanges: requests about a session's files or an execution's input. The runner opens a connection
//! for each one. This module opens exchanges, counts them, enforces their time limits and carries their
//! messages. The modules `files` and `input` define what the messages mean.
//!
//! An exchange belongs to the call that opened it. Dropping [`Exchange`] ends the runner's stream and
//! its work. The runner is not trusted: a message that the order does not permit ends the exchange.

pub mod input;
mod limits;
mod observe;
mod open;
mod pour;
mod refusal;
mod seats;

use std::{future::Future, sync::Arc, time::Duration};

use airlock_domain::{ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, RunnerId};
use futures::{Stream, StreamExt as _, stream::BoxStream};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    api::ApiError,
    exchange_door::ExchangeDoor,
    links::Links,
    tickets::{TicketRefused, Tickets},
};

pub use limits::ExchangeLimits;
pub use observe::{ExchangeKind, ExchangeObserver, ExchangeOutcome};
pub use pour::{Piece, Pieces};
pub use refusal::{ClientFault, ExchangeRefusal};

pub(crate) use pour::{Start, What};
pub(crate) use refusal::shown;

use open::{Account, Opened};
use seats::Seats;

/// The number of messages to a runner that may wait for the transport.
const OUTGOING: usize = 2;
/// The retry delay that clients are told after a failed exchange.
const RETRY: Duration = Duration::from_secs(1);
/// The reason code of an exchange in which the client was idle for too long.
const IDLE: &str = "TRANSFER_IDLE";

/// The messages of a runner on one exchange, in order.
pub(crate) type Incoming = BoxStream<'static, Result<ExchangeFromRunner, ExchangeBroken>>;

/// Why the messages of a runner ended.
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

/// The dependencies of [`Exchanges`].
pub struct ExchangeParts {
    /// Opens exchanges on the links to the runners.
    pub door: Arc<dyn ExchangeDoor>,
    /// The limits, which must have passed [`ExchangeLimits::check`].
    pub limits: ExchangeLimits,
    /// Receives events for telemetry.
    pub observer: Arc<dyn ExchangeObserver>,
}

/// The open exchanges of this server. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct Exchanges {
    inner: Arc<Inner>,
}

struct Inner {
    door: Arc<dyn ExchangeDoor>,
    limits: ExchangeLimits,
    observer: Arc<dyn ExchangeObserver>,
    cancel: CancellationToken,
    tasks: TaskTracker,
    tickets: Tickets<(), Opened>,
    seats: Seats,
}

/// An exchange that was opened on behalf of another server.
pub struct LentExchange {
    /// The messages of the runner.
    pub from: BoxStream<'static, Result<ExchangeFromRunner, ExchangeBroken>>,
    /// The messages to the runner.
    pub to: mpsc::Sender<ExchangeToRunner>,
}

/// The error of an exchange that could not be opened on behalf of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runner has no link to this server, or did not open an exchange in time")]
pub struct NotLent;

/// An open exchange with an order. Dropping it ends the exchange.
pub struct Exchange {
    inner: Arc<Inner>,
    to: mpsc::Sender<ExchangeToRunner>,
    from: Incoming,
    account: Account,
}

impl Exchanges {
    /// Creates the state without any open exchange.
    #[must_use]
    pub fn new(parts: ExchangeParts) -> Self {
        let ExchangeParts { door, limits, observer } = parts;
        let inner = Inner {
            door,
            limits,
            observer,
            cancel: CancellationToken::new(),
            tasks: TaskTracker::new(),
            tickets: Tickets::default(),
            seats: Seats::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Accepts a stream that a runner opened and returns the messages to send on it. When these messages
    /// end, the caller must close the stream; `incoming` is not read any further.
    ///
    /// # Errors
    /// [`TicketRefused`] if the ticket is not valid for this runner.
    pub fn accept<S>(
        &self,
        runner: &RunnerId,
        ticket: &str,
        incoming: S,
    ) -> Result<mpsc::Receiver<ExchangeToRunner>, TicketRefused>
    where
        S: Stream<Item = Result<ExchangeFromRunner, ExchangeBroken>> + Send + 'static,
    {
        let opened = self.inner.tickets.redeem(ticket, runner, &())?;
        let (to, messages) = mpsc::channel(OUTGOING);
        let answer = Opened { from: incoming.boxed(), to };
        opened.send(answer).map_err(|_| TicketRefused::UnknownTicket)?;
        Ok(messages)
    }

    /// Opens an exchange on one of `links` on behalf of another server, which sends the order.
    ///
    /// # Errors
    /// [`NotLent`] if the runner has no link here or does not open the stream in time.
    pub async fn lend(&self, links: &Links, runner: &RunnerId) -> Result<LentExchange, NotLent> {
        let (ticket, opened) = self.inner.tickets.issue((), runner.clone());
        links.open_exchange(runner, ticket.text()).await.map_err(|_| NotLent)?;
        match timeout(self.inner.limits.exchange_open_wait, opened).await {
            Ok(Ok(Opened { from, to })) => Ok(LentExchange { from, to }),
            Ok(Err(_)) | Err(_) => Err(NotLent),
        }
    }

    /// Returns the number of open exchanges.
    #[must_use]
    pub fn open_now(&self) -> usize {
        self.inner.seats.taken()
    }

    /// Returns the limits of the exchanges.
    #[must_use]
    pub fn limits(&self) -> &ExchangeLimits {
        &self.inner.limits
    }

    /// Ends every exchange with `UNAVAILABLE` and waits for the background tasks.
    pub async fn shut_down(&self) {
        self.inner.cancel.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }
}

impl Exchange {
    /// Returns the limits of this exchange.
    pub(crate) fn limits(&self) -> &ExchangeLimits {
        &self.inner.limits
    }

    /// Returns the next message of the runner other than a refusal.
    ///
    /// # Errors
    /// The runner's refusal, or `Unavailable` if the runner disconnects or sends nothing in time, or if
    /// the server stops.
    pub(crate) async fn hear(&mut self) -> Result<ExchangeFromRunner, ApiError> {
        let wait = self.inner.limits.exchange_answer_wait;
        tokio::select! {
            biased;
            () = self.inner.cancel.cancelled() => Err(self.stopping()),
            heard = self.from.next() => self.read(heard),
            () = sleep(wait) => Err(self.silent()),
        }
    }

    fn read(
        &mut self,
        heard: Option<Result<ExchangeFromRunner, ExchangeBroken>>,
    ) -> Result<ExchangeFromRunner, ApiError> {
        match heard {
            Some(Ok(ExchangeFromRunner::Failed(failed))) => {
                if failed.failure == ExchangeFailure::Internal {
                    tracing::warn!(runner = %self.account.runner, "a runner reported an internal error in an exchange");
                }
                Err(refusal::refused(failed))
            }
            Some(Ok(message)) => Ok(message),
            Some(Err(ExchangeBroken::Unreadable(_))) => Err(self.misbehaved(Violation::Unreadable)),
            Some(Err(ExchangeBroken::Cut(_))) | None => Err(self.cut()),
        }
    }

    /// Runs `work` unless the server stops first.
    pub(crate) async fn until_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, ApiError> {
        tokio::select! {
            biased;
            () = self.inner.cancel.cancelled() => Err(self.stopping()),
            value = work => Ok(value),
        }
    }

    /// Counts transferred bytes.
    pub(crate) fn passed(&mut self, bytes: usize) {
        self.account.passed(bytes as u64);
    }

    /// Records the outcome and returns `result` unchanged. An exchange that is dropped without this call
    /// counts as abandoned by its client.
    pub(crate) fn settled<T>(&mut self, result: Result<T, ApiError>) -> Result<T, ApiError> {
        self.account.settle(match &result {
            Ok(_) => ExchangeOutcome::Done,
            Err(ApiError::ClientStream(ClientFault::Gone)) => ExchangeOutcome::Left,
            Err(ApiError::Unavailable { reason: IDLE, .. }) => ExchangeOutcome::Left,
            Err(ApiError::Unavailable { .. }) => ExchangeOutcome::Cut,
            Err(ApiError::Internal(_)) => ExchangeOutcome::Misbehaved,
            Err(_) => ExchangeOutcome::Refused,
        });
        result
    }

    /// Logs a protocol violation of the runner for the operator, and returns an internal error for the
    /// client.
    pub(crate) fn misbehaved(&self, violation: Violation) -> ApiError {
        let (runner, kind) = (&self.account.runner, self.account.kind.name());
        tracing::warn!(%runner, kind, %violation, "a runner violated the protocol of an exchange");
        ApiError::Internal(format!(
            "runner `{runner}` violated the protocol of an exchange ({kind}): {violation}"
        ))
    }

    /// Returns the error for a client that was idle for too long.
    pub(crate) fn idle(&self) -> ApiError {
        let seconds = self.inner.limits.transfer_idle.as_secs();
        let message = format!("no data was sent or received for {seconds} s; {}", self.account.way_on());
        ApiError::Unavailable { reason: IDLE, message, retry_after: RETRY }
    }

    fn stopping(&self) -> ApiError {
        self.account.stopping()
    }

    fn silent(&self) -> ApiError {
        let seconds = self.inner.limits.exchange_answer_wait.as_secs();
        self.account.unreachable(&format!("the runner did not respond for {seconds} s"))
    }

    fn cut(&self) -> ApiError {
        self.account.unreachable("the connection to the runner was lost")
    }
}

#[cfg(test)]
mod tests;
