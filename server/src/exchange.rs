//! Exchanges: pieces of work on a session's files or an execution's input, each on a connection that its
//! runner opens for it. Here one is asked for, counted, waited for and spoken on; what is said on it is
//! `files`' and `input`'s.
//!
//! An exchange belongs to the call that opened it, and ends with it: dropping [`Exchange`] ends the
//! runner's stream, and with it the runner's work. A runner is not believed: whatever it says that the
//! order does not permit ends the exchange.

pub mod input;
mod limits;
mod observe;
mod open;
mod pour;
mod refusal;
mod seats;

use std::{future::Future, sync::Arc, time::Duration};

use airlock_proto::domain::{ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, RunnerId};
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

/// Messages to a runner that wait for the transport.
const OUTGOING: usize = 2;
/// When to try again what a runner did not do.
const RETRY: Duration = Duration::from_secs(1);
/// The reason where nothing was sent or taken for too long.
const IDLE: &str = "TRANSFER_IDLE";

/// What a runner says on an exchange, as it comes.
pub(crate) type Incoming = BoxStream<'static, Result<ExchangeFromRunner, ExchangeBroken>>;

/// Why nothing more comes from a runner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeBroken {
    /// The transport failed.
    #[error("the transport failed: {0}")]
    Cut(String),
    /// It carried what is no message of the contract.
    #[error("a message cannot be read: {0}")]
    Unreadable(String),
}

/// What a runner must not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("a message that is not of the contract")]
    Unreadable,
    #[error("a message that does not answer the order")]
    WrongKind,
    #[error("a chunk that does not begin where the one before it ended")]
    OutOfOrder,
    #[error("a chunk that is empty or too long")]
    ChunkSize,
    #[error("a size that is not that of what came")]
    WrongSize,
    #[error("more entries than were asked for")]
    TooMany,
    #[error("an entry that cannot be")]
    BadEntry,
}

/// What exchanges are made from.
pub struct ExchangeParts {
    /// The way to the runners.
    pub door: Arc<dyn ExchangeDoor>,
    /// Checked already.
    pub limits: ExchangeLimits,
    /// Told what happens.
    pub observer: Arc<dyn ExchangeObserver>,
}

/// The exchanges of this server. A cheap handle; all clones are one.
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

/// An exchange that was opened for another server.
pub struct LentExchange {
    /// What the runner says.
    pub from: BoxStream<'static, Result<ExchangeFromRunner, ExchangeBroken>>,
    /// What it is to be told.
    pub to: mpsc::Sender<ExchangeToRunner>,
}

/// An exchange could not be opened for another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runner has no link here, or opened no exchange in time")]
pub struct NotLent;

/// An open exchange whose order was given. Dropping it ends it.
pub struct Exchange {
    inner: Arc<Inner>,
    to: mpsc::Sender<ExchangeToRunner>,
    from: Incoming,
    account: Account,
}

impl Exchanges {
    /// No exchange yet.
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

    /// Takes a stream that a runner opened, and gives the messages to be sent on it. The stream is to be
    /// ended when those end; `incoming` is not read any more then.
    ///
    /// # Errors
    /// If its ticket is not valid for this runner.
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

    /// Opens an exchange on one of `links` for another server, which gives the order.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(&self, links: &Links, runner: &RunnerId) -> Result<LentExchange, NotLent> {
        let (ticket, opened) = self.inner.tickets.issue((), runner.clone());
        links.open_exchange(runner, ticket.text()).await.map_err(|_| NotLent)?;
        match timeout(self.inner.limits.exchange_open_wait, opened).await {
            Ok(Ok(Opened { from, to })) => Ok(LentExchange { from, to }),
            Ok(Err(_)) | Err(_) => Err(NotLent),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn open_now(&self) -> usize {
        self.inner.seats.taken()
    }

    /// The limits that they keep.
    #[must_use]
    pub fn limits(&self) -> &ExchangeLimits {
        &self.inner.limits
    }

    /// Ends every exchange with `UNAVAILABLE`, and waits for the tasks.
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
    /// The limits that it keeps.
    pub(crate) fn limits(&self) -> &ExchangeLimits {
        &self.inner.limits
    }

    /// What the runner says next, other than no.
    ///
    /// # Errors
    /// What the runner refused; `Unavailable` if it goes away or says nothing in time, or the server
    /// stops.
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
                    tracing::warn!(runner = %self.account.runner, "a runner has failed in an exchange");
                }
                Err(refusal::refused(failed))
            }
            Some(Ok(message)) => Ok(message),
            Some(Err(ExchangeBroken::Unreadable(_))) => Err(self.misbehaved(Violation::Unreadable)),
            Some(Err(ExchangeBroken::Cut(_))) | None => Err(self.cut()),
        }
    }

    /// What `work` gives, unless the server stops first.
    pub(crate) async fn until_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, ApiError> {
        tokio::select! {
            biased;
            () = self.inner.cancel.cancelled() => Err(self.stopping()),
            value = work => Ok(value),
        }
    }

    /// So many bytes have gone through.
    pub(crate) fn passed(&mut self, bytes: usize) {
        self.account.passed(bytes as u64);
    }

    /// Notes how it ended, and gives that back. What is dropped without it was left by its client.
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

    /// The runner said what it must not say: the operator is told what, and the client that it failed.
    pub(crate) fn misbehaved(&self, violation: Violation) -> ApiError {
        let (runner, kind) = (&self.account.runner, self.account.kind.name());
        tracing::warn!(%runner, kind, %violation, "a runner misbehaves on an exchange");
        ApiError::Internal(format!("runner `{runner}` misbehaved on an exchange ({kind}): {violation}"))
    }

    /// The client did nothing for too long.
    pub(crate) fn idle(&self) -> ApiError {
        let seconds = self.inner.limits.transfer_idle.as_secs();
        let message = format!("nothing was sent or taken for {seconds} s; {}", self.account.way_on());
        ApiError::Unavailable { reason: IDLE, message, retry_after: RETRY }
    }

    fn stopping(&self) -> ApiError {
        self.account.stopping()
    }

    fn silent(&self) -> ApiError {
        let seconds = self.inner.limits.exchange_answer_wait.as_secs();
        self.account.unreachable(&format!("the runner did nothing for {seconds} s"))
    }

    fn cut(&self) -> ApiError {
        self.account.unreachable("the connection to the runner was cut")
    }
}

#[cfg(test)]
mod tests;
