//! The reading side of executions: views that can be cut and resumed, live output that any number of
//! readers share, and the copying of finished output into the storage.
//!
//! A view costs no task and is only as fast as its reader: it is polled, and looks at what is there. It
//! must not decide anything about an execution: that is the engine's, and the truth is in the store.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_proto::domain::{ExecutionId, PushFromRunner, PushToRunner, RunnerId};
use futures::{Stream, StreamExt, stream::BoxStream};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    api::{ApiError, AttachFrom, Event},
    changes::Changes,
    links::Links,
    model::ExecutionRecord,
    shares::Shares,
    slots::Slots,
    store::Store,
    stream_door::OutputDoor,
    tickets::TicketRefused,
};

mod facts;
mod feed;
mod hub;
mod keep;
mod limits;
mod observe;
mod progress;
mod push;
mod read_output;
mod reads;
mod registry;
mod ring;
mod seat;
mod shelf;
mod storing_slots;
mod tickets;
mod track;
mod view;

#[cfg(test)]
mod tests;

pub use limits::StreamLimits;
pub use observe::{StreamObserver, Unobserved};
pub use push::{LentOutput, NotLent, PushBroken};
pub use read_output::{
    Amount, OutputLine, Pattern, PatternError, ReadDone, ReadOutput, ReadPart, ReadStream, Search, Selection,
};
pub use ring::Piece;
pub use shelf::{GAPS_MOST, OutputShelf, ShelfError, ShelfReader, ShelfWriter, Shelved};

use keep::StoringMap;
use push::{OUTGOING, Push};
use registry::Registry;
use storing_slots::StoringSlots;
use tickets::{Opened, Tickets};

/// The events of one view. It reads nothing ahead of being polled, keeps at most one catch-up read for
/// itself, and can be dropped at any time. It ends after [`crate::api::EventKind::Finished`] or an
/// error; one that ends otherwise does not exist.
pub type EventStream = BoxStream<'static, Result<Event, ApiError>>;

/// What the streams are built from.
pub struct StreamParts {
    /// The truth about executions.
    pub store: Arc<dyn Store>,
    /// Where finished output goes.
    pub outputs: Arc<dyn OutputShelf>,
    /// The way to the runners.
    pub door: Arc<dyn OutputDoor>,
    /// Hints that an execution has changed.
    pub changes: Changes,
    /// Names this server in the leases of outputs that it stores.
    pub server_id: String,
    /// Checked already.
    pub limits: StreamLimits,
    /// Told what happens.
    pub observer: Arc<dyn StreamObserver>,
    /// Ends every view and task.
    pub cancel: CancellationToken,
}

/// How a runner introduces an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushHello {
    /// Who; the edge has compared it with who was authenticated.
    pub runner_id: RunnerId,
    /// Whose output.
    pub execution_id: ExecutionId,
    /// From `OpenOutput`.
    pub ticket: String,
    /// Nothing is held for it.
    pub missing: bool,
}

/// The reading side of executions. Cheap to clone.
#[derive(Clone)]
pub struct Streams {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    shelf: Arc<dyn OutputShelf>,
    door: Arc<dyn OutputDoor>,
    changes: Changes,
    server_id: String,
    limits: StreamLimits,
    observer: Arc<dyn StreamObserver>,
    cancel: CancellationToken,
    tasks: TaskTracker,
    tickets: Tickets,
    registry: Registry,
    readers: Shares<String>,
    storing: Mutex<StoringMap>,
    storing_slots: Arc<StoringSlots>,
    search_slots: Slots,
}

impl Streams {
    /// Streams over these parts. Nothing runs before it is asked for.
    #[must_use]
    pub fn new(parts: StreamParts) -> Self {
        let StreamParts { store, outputs, door, changes, server_id, limits, observer, cancel } = parts;
        let storing_slots = StoringSlots::new(&limits);
        let search_slots = Slots::new(limits.searches_at_once);
        let inner = Inner {
            store,
            shelf: outputs,
            door,
            changes,
            server_id,
            limits,
            observer,
            cancel,
            tasks: TaskTracker::new(),
            tickets: Tickets::default(),
            registry: Registry::default(),
            readers: Shares::default(),
            storing: Mutex::default(),
            storing_slots,
            search_slots,
        };
        Self { inner: Arc::new(inner) }
    }

    /// A view of an execution: its header, then every change of state and every byte of output after
    /// `from`, exactly once and each with the cursor to go on from, and the end when all was given.
    ///
    /// The view outlives neither an error nor the server: `UNAVAILABLE` is a reason to attach again
    /// with the last cursor.
    ///
    /// # Errors
    /// `Exhausted` with too many readers; `OutOfRange` past the end of a finished output;
    /// `Unavailable` while the server stops.
    pub async fn attach(
        &self,
        execution: ExecutionRecord,
        from: AttachFrom,
    ) -> Result<EventStream, ApiError> {
        view::open(&self.inner, execution, from, view::Whose::Reader)
    }

    /// Likewise from the beginning, for the call that started the execution: one that begins in the background
    /// closes it at once with `Backgrounded`, unless it has finished.
    ///
    /// # Errors
    /// As [`Streams::attach`].
    pub async fn attach_starter(&self, execution: ExecutionRecord) -> Result<EventStream, ApiError> {
        let from = AttachFrom::Offsets { stdout: 0, stderr: 0 };
        view::open(&self.inner, execution, from, view::Whose::Starter)
    }

    /// Takes an output stream that a runner opened, and gives the messages to be sent on it. The
    /// stream is to be ended when those end; the streams stop reading `incoming` then.
    ///
    /// # Errors
    /// If its ticket is not valid for it.
    pub fn accept_push<S>(
        &self,
        hello: &PushHello,
        incoming: S,
    ) -> Result<mpsc::Receiver<PushToRunner>, TicketRefused>
    where
        S: Stream<Item = Result<PushFromRunner, PushBroken>> + Send + 'static,
    {
        let opened = self.inner.tickets.redeem(&hello.ticket, &hello.runner_id, &hello.execution_id)?;
        let (outgoing, messages) = mpsc::channel(OUTGOING);
        let answer = if hello.missing {
            Opened::Missing
        } else {
            Opened::Push(Push { incoming: incoming.boxed(), outgoing })
        };
        opened.send(answer).map_err(|_| TicketRefused::UnknownTicket)?;
        Ok(messages)
    }

    /// Opens an output stream on one of `links` for another server, which says what is read. None: the runner holds
    /// nothing. What the other server does not ask for is not sent.
    ///
    /// # Errors
    /// [`NotLent`].
    pub async fn lend(
        &self,
        links: &Links,
        runner: &RunnerId,
        execution: ExecutionId,
    ) -> Result<Option<LentOutput>, NotLent> {
        self.inner.lend(links, runner, execution).await
    }

    /// Takes up what the server had not copied into the storage when it last stopped. Call it once,
    /// at the start; it returns when all of it is under way.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume_storing(&self) -> Result<(), ApiError> {
        self.inner.resume_storing().await
    }

    /// How many views there are.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.inner.readers.taken()
    }

    /// What is kept in memory for readers of live output, in bytes, with what each piece costs.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        self.inner.registry.retained_bytes()
    }

    /// Ends every view with `UNAVAILABLE` and every task, and waits for the tasks. What was being
    /// copied is taken up by [`Streams::resume_storing`].
    pub async fn shut_down(&self) {
        self.inner.cancel.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// The server stops.
fn stopping() -> ApiError {
    ApiError::Unavailable {
        reason: "SHUTTING_DOWN",
        message: "this server is stopping; attach again with the last cursor".to_owned(),
        retry_after: Duration::from_secs(1),
    }
}
