//! The shared state of the engine's parts: the store and other dependencies, hints, clocks, slots. Each operation has
//! its own module with an `impl Core`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use airlock_domain::{CancelledBy, ExecutionId, RunnerId, SessionId};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Span;

use super::{
    EngineParts,
    presence::KnownRunners,
    seats::Seats,
    uses::SessionUses,
    wake::{SessionWaits, Wake},
    watch::WatchRoom,
};
use crate::{
    api::ApiError,
    model::{Micros, RunnerRecord},
    slots::Slots,
    store::{Store, StoreError},
};

/// The shared state of the engine's parts.
pub(crate) struct Core {
    pub(crate) parts: EngineParts,
    pub(crate) wake: Wake<SessionId>,
    /// Runners with free slots that executions wait for.
    pub(crate) vacant: Wake<RunnerId>,
    pub(crate) session_waits: SessionWaits,
    pub(crate) seats: Seats,
    pub(crate) watches: WatchRoom,
    /// The slots for policy decisions, one per processor.
    policy: Arc<Slots>,
    pub(crate) uses: SessionUses,
    /// Triggers an immediate reconciliation.
    pub(crate) poll_now: Notify,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    memory: Mutex<Memory>,
    clock: Mutex<(Micros, Instant)>,
}

/// The state that is kept between reconciliations. Losing it does no harm.
#[derive(Default)]
struct Memory {
    /// The origin of the cancel request of executions that have not ended.
    cancels: HashMap<ExecutionId, CancelledBy>,
    /// Since when an execution has waited only for a runner.
    heads: HashMap<ExecutionId, Instant>,
    /// The open trace span of each queued execution.
    queue_spans: HashMap<ExecutionId, Span>,
    /// The executions with state here that were not live at the last reconciliation.
    doubtful: HashSet<ExecutionId>,
    /// The start of this server.
    began: Option<Instant>,
    /// Since when a runner has had no link here.
    unlinked: HashMap<RunnerId, Instant>,
    /// Runners that were unreachable for too long.
    lost: HashSet<RunnerId>,
    runners: KnownRunners,
}

impl Core {
    pub(crate) async fn new(parts: EngineParts) -> Result<Self, StoreError> {
        let clock = (parts.store.now().await?, Instant::now());
        Ok(Self {
            parts,
            wake: Wake::default(),
            vacant: Wake::default(),
            session_waits: SessionWaits::default(),
            seats: Seats::default(),
            watches: WatchRoom::default(),
            policy: Arc::new(Slots::new(std::thread::available_parallelism().map_or(1, usize::from))),
            uses: SessionUses::default(),
            poll_now: Notify::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            memory: Mutex::default(),
            clock: Mutex::new(clock),
        })
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// Starts a task that ends with the engine.
    pub(crate) fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Runs a policy decision for a tenant in the current span. It runs on a blocking thread, because the worst input
    /// takes a hundred milliseconds, and tenants take turns. If the future is dropped, running work continues and its
    /// result is discarded.
    ///
    /// # Errors
    /// `Unavailable` while the server stops.
    pub(crate) async fn judge<T: Send + 'static>(
        &self,
        tenant: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let cut =
            || StoreError::Unavailable("the server is stopping, or a decision was interrupted".to_owned());
        let slot = self.policy.take(tenant).await.map_err(|_| cut())?;
        let span = Span::current();
        let judged = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            span.in_scope(work)
        });
        judged.await.map_err(|_| cut())
    }

    /// Rejects new work while the server stops.
    pub(crate) fn check_running(&self) -> Result<(), ApiError> {
        if self.stop.is_cancelled() { Err(ApiError::shutting_down()) } else { Ok(()) }
    }

    /// Returns the time of the store's clock: the last reading plus the time since.
    pub(crate) fn now(&self) -> Micros {
        let (base, read) = *self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        Micros(base.0.saturating_add(micros(read.elapsed())))
    }

    pub(crate) fn set_clock(&self, now: Micros) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = (now, Instant::now());
    }

    /// Returns the time since `then` by the store's clock.
    pub(crate) fn since(&self, then: Micros) -> Duration {
        self.now().since(then)
    }

    pub(crate) fn note_cancel(&self, id: ExecutionId, by: CancelledBy) {
        self.memory().cancels.entry(id).or_insert(by);
    }

    pub(crate) fn cancelled_by(&self, id: ExecutionId) -> Option<CancelledBy> {
        self.memory().cancels.get(&id).copied()
    }

    /// Returns since when this execution has waited only for a runner, which is now for a new one.
    pub(crate) fn head_since(&self, id: ExecutionId) -> Instant {
        *self.memory().heads.entry(id).or_insert_with(Instant::now)
    }

    pub(crate) fn open_queue_span(&self, id: ExecutionId, span: Span) {
        self.memory().queue_spans.insert(id, span);
    }

    /// Removes the state of an execution's time in the queue.
    pub(crate) fn left_queue(&self, id: ExecutionId) {
        let span = self.memory().queue_spans.remove(&id);
        // The span is exported when it is dropped, so drop it outside the lock.
        drop(span);
    }

    /// Ends the wait of an execution for a runner. The caller must not call this for an offer that can still be refused
    /// for lack of a slot.
    pub(crate) fn placed_for_good(&self, id: ExecutionId) {
        self.memory().heads.remove(&id);
    }

    /// Removes the state of an execution that has ended.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.left_queue(id);
        self.placed_for_good(id);
        self.memory().cancels.remove(&id);
    }

    /// Removes the state of every execution that was not live at two consecutive reconciliations. An execution can end
    /// while its state is being added.
    pub(crate) fn prune(&self, live: &HashSet<ExecutionId>) {
        let mut memory = self.memory();
        let noted = memory.cancels.keys().chain(memory.heads.keys()).chain(memory.queue_spans.keys());
        let (gone, doubtful): (HashSet<_>, HashSet<_>) =
            noted.filter(|id| !live.contains(id)).copied().partition(|id| memory.doubtful.contains(id));
        memory.cancels.retain(|id, _| !gone.contains(id));
        memory.heads.retain(|id, _| !gone.contains(id));
        memory.queue_spans.retain(|id, _| !gone.contains(id));
        memory.doubtful = doubtful;
    }

    /// Records that a runner has a link and has reported its jobs.
    pub(crate) fn set_linked(&self, runner: &RunnerId) {
        let mut memory = self.memory();
        memory.unlinked.remove(runner);
        memory.lost.remove(runner);
    }

    /// Returns the time since the first call.
    pub(crate) fn up_for(&self) -> Duration {
        self.memory().began.get_or_insert_with(Instant::now).elapsed()
    }

    /// Returns the time since this process first saw the runner without a link here.
    pub(crate) fn unlinked_for(&self, runner: &RunnerId) -> Duration {
        self.memory().unlinked.entry(runner.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// Marks a runner as lost. Returns whether it was not marked before.
    pub(crate) fn set_lost(&self, runner: &RunnerId) -> bool {
        self.memory().lost.insert(runner.clone())
    }

    pub(crate) fn is_lost(&self, runner: &RunnerId) -> bool {
        self.memory().lost.contains(runner)
    }

    /// Forgets since when runners have had no link. While the store could not be read, links to other servers were
    /// unknown.
    pub(super) fn forget_absences(&self) {
        self.memory().unlinked.clear();
    }

    pub(super) fn set_runners(&self, runners: HashMap<RunnerId, Arc<RunnerRecord>>) {
        self.memory().runners.replace(runners);
    }

    /// Updates a runner that was just read.
    pub(super) fn learn_runner(&self, runner: RunnerRecord) {
        self.memory().runners.put(runner);
    }

    /// Returns a runner as of the last reconciliation.
    pub(crate) fn known_runner(&self, id: &RunnerId) -> Option<Arc<RunnerRecord>> {
        self.memory().runners.get(id)
    }

    /// Returns all runners as of the last reconciliation.
    pub(crate) fn known_runners(&self) -> Vec<Arc<RunnerRecord>> {
        self.memory().runners.all()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Core {
    /// Moves the start of every timer of this process back by `time`. Links are unchanged.
    pub(super) fn pass(&self, time: Duration) {
        let mut memory = self.memory();
        let Memory { heads, unlinked, began, .. } = &mut *memory;
        for since in heads.values_mut().chain(unlinked.values_mut()).chain(began) {
            *since -= time;
        }
    }

    /// Returns whether an execution is known to wait only for a runner.
    pub(super) fn is_head(&self, id: ExecutionId) -> bool {
        self.memory().heads.contains_key(&id)
    }
}

/// Converts a duration to the store's unit.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
