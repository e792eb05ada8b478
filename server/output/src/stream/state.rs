//! The state that views, reads and copies of output share, and the observer of their events for telemetry. The events
//! contain counts only: no output and no IDs.

use std::sync::{Arc, Mutex};

use airlock_limits::{shares::Shares, slots::Slots};
use airlock_store::{Store, changes::Changes};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    hub::Hub,
    limits::StreamLimits,
    link::{OutputLink, Tickets},
    registry::Registry,
    shelf::OutputShelf,
    storing::{StoringMap, StoringSlots},
};

/// The dependencies of [`Streams`].
pub struct StreamParts {
    /// The authoritative state of executions.
    pub store: Arc<dyn Store>,
    /// The storage of finished output.
    pub outputs: Arc<dyn OutputShelf>,
    /// Opens output streams on the links to the runners.
    pub link: Arc<dyn OutputLink>,
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

/// The read side of executions. Clones are cheap and share the same state.
#[derive(Clone)]
pub struct Streams {
    pub(super) inner: Arc<Inner>,
}

/// The state of the streams.
pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) shelf: Arc<dyn OutputShelf>,
    pub(super) link: Arc<dyn OutputLink>,
    pub(super) changes: Changes,
    pub(super) server_id: String,
    pub(super) limits: StreamLimits,
    pub(super) observer: Arc<dyn StreamObserver>,
    pub(super) cancel: CancellationToken,
    pub(super) tasks: TaskTracker,
    pub(super) tickets: Tickets,
    pub(super) registry: Registry<Hub>,
    pub(super) readers: Shares<String>,
    pub(super) storing: Mutex<StoringMap>,
    pub(super) storing_slots: Arc<StoringSlots>,
    pub(super) search_slots: Slots,
}

impl Streams {
    /// Creates the streams. Starts no task until it is needed.
    #[must_use]
    pub fn new(parts: StreamParts) -> Self {
        let StreamParts { store, outputs, link, changes, server_id, limits, observer, cancel } = parts;
        let storing_slots = StoringSlots::new(&limits);
        let search_slots = Slots::new(limits.searches_at_once);
        let inner = Inner {
            store,
            shelf: outputs,
            link,
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

    /// Returns the number of open views.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.inner.readers.taken()
    }

    /// Returns the memory that holds live output for readers, in bytes, including the overhead of each piece.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        self.inner.registry.all().iter().map(|hub| hub.retained_bytes()).sum()
    }

    /// Ends every view with `UNAVAILABLE`, ends every task, and waits for the tasks. [`Streams::resume_storing`]
    /// resumes copies that are interrupted here.
    pub async fn shut_down(&self) {
        self.inner.cancel.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

/// Receives the events of the streams. The calls are on the path of every event and must return at
/// once.
pub trait StreamObserver: Send + Sync {
    /// A view was opened.
    fn reader_opened(&self) {}
    /// A view ended for any reason.
    fn reader_closed(&self) {}
    /// Output was delivered to a reader, in bytes.
    fn bytes_out(&self, _bytes: u64) {}
    /// A reader received a gap, in bytes.
    fn bytes_missing(&self, _bytes: u64) {}
    /// A reader fell behind the ring and uses individual reads.
    fn caught_up(&self) {}
    /// A runner opened an output stream.
    fn push_opened(&self) {}
    /// An output stream was ended because the runner violated the protocol.
    fn push_misbehaved(&self) {}
    /// An output was stored, with its size in bytes.
    fn stored(&self, _bytes: u64) {}
    /// An output was lost, completely or in part.
    fn lost(&self) {}
    /// The output of an ended execution was queued for copying into the storage.
    fn storing_began(&self) {}
    /// The copy was stored, lost or postponed.
    fn storing_ended(&self) {}
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl StreamObserver for Unobserved {}
