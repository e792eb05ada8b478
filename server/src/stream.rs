//! The read side of executions: resumable views, live output that all readers share, and the copying of finished
//! output into the output storage.
//!
//! A view has no task of its own. It makes progress only when its reader polls it, and reads at its reader's pace.
//! This module must not make decisions about an execution: the engine does, and the store holds the authoritative
//! state.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_domain::{ExecutionId, PushFromRunner, PushToRunner, RunnerId};
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

/// The events of one view. It reads nothing before it is polled, buffers at most one catch-up read, and can be
/// dropped at any time. Its last item is [`crate::api::EventKind::Finished`],
/// [`crate::api::EventKind::Backgrounded`] or an error.
pub type EventStream = BoxStream<'static, Result<Event, ApiError>>;

/// The dependencies of [`Streams`].
pub struct StreamParts {
    /// The authoritative state of executions.
    pub store: Arc<dyn Store>,
    /// The storage of finished output.
    pub outputs: Arc<dyn OutputShelf>,
    /// Opens output streams on the links to the runners.
    pub door: Arc<dyn OutputDoor>,
    /// Hints that an execution has changed.
    pub changes: Changes,
    /// The name of this server in the leases of outputs that it stores.
    pub server_id: String,
    /// The limits, which must have passed [`StreamLimits::check`].
    pub limits: StreamLimits,
    /// Receives events for telemetry.
    pub observer: Arc<dyn StreamObserver>,
    /// Ends every view and task when it is cancelled.
    pub cancel: CancellationToken,
}

/// The first message of a runner on an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushHello {
    /// The runner. The transport layer has compared it with the authenticated identity.
    pub runner_id: RunnerId,
    /// The execution of the output.
    pub execution_id: ExecutionId,
    /// The ticket from `OpenOutput`.
    pub ticket: String,
    /// Whether the runner holds no output of the execution.
    pub missing: bool,
}

/// The read side of executions. Clones are cheap and share the same state.
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
    /// Creates the streams. Starts no task until it is needed.
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

    /// Opens a view of an execution. It returns the header, then every change of state and every byte of output
    /// after `from`, and then the closing event. Each item is returned exactly once, with a cursor to resume from.
    ///
    /// The view ends with an error, or when the server stops. After `UNAVAILABLE`, clients attach again with the
    /// last cursor.
    ///
    /// # Errors
    /// `Exhausted` if there are too many readers; `OutOfRange` if `from` is past the end of a finished output;
    /// `Unavailable` while the server stops.
    pub async fn attach(
        &self,
        execution: ExecutionRecord,
        from: AttachFrom,
    ) -> Result<EventStream, ApiError> {
        view::open(&self.inner, execution, from, view::Whose::Reader)
    }

    /// Opens a view from the beginning for the call that started the execution. If the execution starts in the
    /// background, the view closes at once with `Backgrounded`, unless the execution has finished.
    ///
    /// # Errors
    /// See [`Streams::attach`].
    pub async fn attach_starter(&self, execution: ExecutionRecord) -> Result<EventStream, ApiError> {
        let from = AttachFrom::Offsets { stdout: 0, stderr: 0 };
        view::open(&self.inner, execution, from, view::Whose::Starter)
    }

    /// Accepts an output stream that a runner opened and returns the messages to send on it. When these messages
    /// end, the caller must close the stream; `incoming` is not read any further.
    ///
    /// # Errors
    /// [`TicketRefused`] if the ticket is not valid for this stream.
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

    /// Opens an output stream on one of `links` on behalf of another server, which requests the reads. Returns
    /// `None` if the runner holds no output. The runner sends only what the other server requests.
    ///
    /// # Errors
    /// [`NotLent`] if the runner has no link here or does not open the stream in time.
    pub async fn lend(
        &self,
        links: &Links,
        runner: &RunnerId,
        execution: ExecutionId,
    ) -> Result<Option<LentOutput>, NotLent> {
        self.inner.lend(links, runner, execution).await
    }

    /// Resumes the copying of outputs that was incomplete when the server last stopped. Call it once, at the start.
    /// It returns when every copy is queued.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume_storing(&self) -> Result<(), ApiError> {
        self.inner.resume_storing().await
    }

    /// Returns the number of open views.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.inner.readers.taken()
    }

    /// Returns the memory that holds live output for readers, in bytes, including the overhead of each piece.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        self.inner.registry.retained_bytes()
    }

    /// Ends every view with `UNAVAILABLE`, ends every task, and waits for the tasks. [`Streams::resume_storing`]
    /// resumes copies that are interrupted here.
    pub async fn shut_down(&self) {
        self.inner.cancel.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// Returns the error for a server that is stopping.
fn stopping() -> ApiError {
    ApiError::Unavailable {
        reason: "SHUTTING_DOWN",
        message: "this server is stopping; attach again with the last cursor".to_owned(),
        retry_after: Duration::from_secs(1),
    }
}
