//! The open exchanges of a server.

use std::sync::Arc;

use airlock_domain::{ExchangeFromRunner, ExchangeToRunner, RunnerId};
use airlock_output::tickets::{TicketRefused, Tickets};
use futures::{Stream, StreamExt as _, stream::BoxStream};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    limits::ExchangeLimits,
    limits::ExchangeSlots,
    link::ExchangeLink,
    link::{ExchangeBroken, Opened},
    observe::ExchangeObserver,
};

/// The number of messages to a runner that may wait for the transport.
const OUTGOING: usize = 2;

/// The dependencies of [`Exchanges`].
pub struct ExchangeParts {
    /// Opens exchanges on the links to the runners.
    pub link: Arc<dyn ExchangeLink>,
    /// The limits, which must have passed [`ExchangeLimits::check`].
    pub limits: ExchangeLimits,
    /// Receives events for telemetry.
    pub observer: Arc<dyn ExchangeObserver>,
}

/// The open exchanges of this server. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct Exchanges {
    pub(super) inner: Arc<Inner>,
}

/// The state of the exchanges.
pub(super) struct Inner {
    pub(super) link: Arc<dyn ExchangeLink>,
    pub(super) limits: ExchangeLimits,
    pub(super) observer: Arc<dyn ExchangeObserver>,
    pub(super) cancel: CancellationToken,
    tasks: TaskTracker,
    pub(super) tickets: Tickets<(), Opened>,
    pub(super) slots: ExchangeSlots,
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

impl Exchanges {
    /// Creates the state without any open exchange.
    #[must_use]
    pub fn new(parts: ExchangeParts) -> Self {
        let ExchangeParts { link, limits, observer } = parts;
        let inner = Inner {
            link,
            limits,
            observer,
            cancel: CancellationToken::new(),
            tasks: TaskTracker::new(),
            tickets: Tickets::default(),
            slots: ExchangeSlots::default(),
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
    pub async fn lend(&self, links: &dyn ExchangeLink, runner: &RunnerId) -> Result<LentExchange, NotLent> {
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
        self.inner.slots.taken()
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
