//! What the parts of the engine share: the store and the other parts, hints, clocks, slots. The ways of
//! a request are in the modules named after them, each with its own `impl Core`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use airlock_proto::domain::{CancelledBy, ExecutionId, RunnerId, SessionId};
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

/// What the parts of the engine share.
pub(crate) struct Core {
    pub(crate) parts: EngineParts,
    pub(crate) wake: Wake<SessionId>,
    /// Runners with free slots that somebody waits for.
    pub(crate) vacant: Wake<RunnerId>,
    pub(crate) session_waits: SessionWaits,
    pub(crate) seats: Seats,
    pub(crate) watches: WatchRoom,
    /// For work of the policy, as many as there are processors.
    policy: Arc<Slots>,
    pub(crate) uses: SessionUses,
    /// Wants the poll to run now.
    pub(crate) poll_now: Notify,
    pub(crate) stop: CancellationToken,
    pub(crate) tasks: TaskTracker,
    memory: Mutex<Memory>,
    clock: Mutex<(Micros, Instant)>,
}

/// What is remembered between polls, and may be forgotten.
#[derive(Default)]
struct Memory {
    /// Who asked for the end of what has not ended.
    cancels: HashMap<ExecutionId, CancelledBy>,
    /// Since when an execution has waited for nothing but a runner.
    heads: HashMap<ExecutionId, Instant>,
    /// One open span for each execution in the queue.
    queue_spans: HashMap<ExecutionId, Span>,
    /// What is remembered here of executions that the last poll did not find alive.
    doubtful: HashSet<ExecutionId>,
    /// Since when this server is there.
    began: Option<Instant>,
    /// Since when a runner has had no link here.
    unlinked: HashMap<RunnerId, Instant>,
    /// Runners that were away for too long.
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

    /// Begins a task that ends with the engine.
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

    /// Does work of the policy for a tenant, in the current span: on a thread that may block, since the worst text takes a
    /// hundred milliseconds, and in the tenant's turn. Dropped midway, the work that has begun is done for nobody.
    ///
    /// # Errors
    /// `Unavailable` while the server stops.
    pub(crate) async fn judge<T: Send + 'static>(
        &self,
        tenant: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let cut = || StoreError::Unavailable("the server stops, or a decision was cut short".to_owned());
        let slot = self.policy.take(tenant).await.map_err(|_| cut())?;
        let span = Span::current();
        let judged = tokio::task::spawn_blocking(move || {
            let _slot = slot;
            span.in_scope(work)
        });
        judged.await.map_err(|_| cut())
    }

    /// Refuses new work while the server stops.
    pub(crate) fn check_running(&self) -> Result<(), ApiError> {
        if self.stop.is_cancelled() { Err(ApiError::shutting_down()) } else { Ok(()) }
    }

    /// The store's clock, as it was last read and with what has passed since.
    pub(crate) fn now(&self) -> Micros {
        let (base, read) = *self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        Micros(base.0.saturating_add(micros(read.elapsed())))
    }

    pub(crate) fn set_clock(&self, now: Micros) {
        *self.clock.lock().unwrap_or_else(PoisonError::into_inner) = (now, Instant::now());
    }

    /// How long ago that was, by the store's clock.
    pub(crate) fn since(&self, then: Micros) -> Duration {
        self.now().since(then)
    }

    pub(crate) fn note_cancel(&self, id: ExecutionId, by: CancelledBy) {
        self.memory().cancels.entry(id).or_insert(by);
    }

    pub(crate) fn cancelled_by(&self, id: ExecutionId) -> Option<CancelledBy> {
        self.memory().cancels.get(&id).copied()
    }

    /// Since when this execution has waited for nothing but a runner; from now on, if it is new.
    pub(crate) fn head_since(&self, id: ExecutionId) -> Instant {
        *self.memory().heads.entry(id).or_insert_with(Instant::now)
    }

    pub(crate) fn open_queue_span(&self, id: ExecutionId, span: Span) {
        self.memory().queue_spans.insert(id, span);
    }

    /// Forgets that an execution was in the queue.
    pub(crate) fn left_queue(&self, id: ExecutionId) {
        let span = self.memory().queue_spans.remove(&id);
        // It is exported as it ends, outside the lock.
        drop(span);
    }

    /// Forgets how long an execution has waited for a runner. An offer that may still be refused for want of a slot
    /// does not end the wait.
    pub(crate) fn placed_for_good(&self, id: ExecutionId) {
        self.memory().heads.remove(&id);
    }

    /// Forgets an execution that has ended.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.left_queue(id);
        self.placed_for_good(id);
        self.memory().cancels.remove(&id);
    }

    /// Forgets what ended while it was just being noted: whatever two polls in a row did not find alive.
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

    /// A runner has its link, and its jobs are known.
    pub(crate) fn set_linked(&self, runner: &RunnerId) {
        let mut memory = self.memory();
        memory.unlinked.remove(runner);
        memory.lost.remove(runner);
    }

    /// For how long this server has been there, since it was first asked.
    pub(crate) fn up_for(&self) -> Duration {
        self.memory().began.get_or_insert_with(Instant::now).elapsed()
    }

    /// For how long a runner has had no link here, as far as this process knows.
    pub(crate) fn unlinked_for(&self, runner: &RunnerId) -> Duration {
        self.memory().unlinked.entry(runner.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// Whether it was not so before.
    pub(crate) fn set_lost(&self, runner: &RunnerId) -> bool {
        self.memory().lost.insert(runner.clone())
    }

    pub(crate) fn is_lost(&self, runner: &RunnerId) -> bool {
        self.memory().lost.contains(runner)
    }

    /// Forgets since when runners have had no link: while the store could not be read, nobody could say that they had.
    pub(super) fn forget_absences(&self) {
        self.memory().unlinked.clear();
    }

    pub(super) fn set_runners(&self, runners: HashMap<RunnerId, Arc<RunnerRecord>>) {
        self.memory().runners.replace(runners);
    }

    /// A runner as it was read just now.
    pub(super) fn learn_runner(&self, runner: RunnerRecord) {
        self.memory().runners.put(runner);
    }

    /// A runner as the store had it at the last look.
    pub(crate) fn known_runner(&self, id: &RunnerId) -> Option<Arc<RunnerRecord>> {
        self.memory().runners.get(id)
    }

    /// All of them.
    pub(crate) fn known_runners(&self) -> Vec<Arc<RunnerRecord>> {
        self.memory().runners.all()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Core {
    /// Has everything that is measured by this process's clock begun so much earlier. Links are left as they are.
    pub(super) fn pass(&self, time: Duration) {
        let mut memory = self.memory();
        let Memory { heads, unlinked, began, .. } = &mut *memory;
        for since in heads.values_mut().chain(unlinked.values_mut()).chain(began) {
            *since -= time;
        }
    }

    /// Whether an execution is known to wait for nothing but a runner.
    pub(super) fn is_head(&self, id: ExecutionId) -> bool {
        self.memory().heads.contains_key(&id)
    }
}

/// A duration in the store's unit.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
