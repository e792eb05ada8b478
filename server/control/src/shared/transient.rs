//! This server's state of executions that have not ended. Losing it does no harm.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use airlock_domain::{CancelledBy, ExecutionId};
use tracing::Span;

/// The state about executions that is in memory only.
#[derive(Debug, Default)]
pub(crate) struct TransientState {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The origin of the cancel request of executions that have not ended.
    cancels: HashMap<ExecutionId, CancelledBy>,
    /// Since when an execution has waited only for a runner.
    heads: HashMap<ExecutionId, Instant>,
    /// The open trace span of each queued execution.
    queue_spans: HashMap<ExecutionId, Span>,
    /// The executions with state here that were not live at the last reconciliation.
    doubtful: HashSet<ExecutionId>,
}

impl TransientState {
    /// Records the origin of the first cancel request.
    pub(crate) fn note_cancel(&self, id: ExecutionId, by: CancelledBy) {
        self.lock().cancels.entry(id).or_insert(by);
    }

    pub(crate) fn cancelled_by(&self, id: ExecutionId) -> Option<CancelledBy> {
        self.lock().cancels.get(&id).copied()
    }

    /// Returns since when this execution has waited only for a runner, which is now for a new one.
    pub(crate) fn head_since(&self, id: ExecutionId) -> Instant {
        *self.lock().heads.entry(id).or_insert_with(Instant::now)
    }

    pub(crate) fn open_queue_span(&self, id: ExecutionId, span: Span) {
        self.lock().queue_spans.insert(id, span);
    }

    /// Removes the state of an execution's time in the queue.
    pub(crate) fn left_queue(&self, id: ExecutionId) {
        let span = self.lock().queue_spans.remove(&id);
        // The span is exported when it is dropped, so drop it outside the lock.
        drop(span);
    }

    /// Ends the wait of an execution for a runner. The caller must not call this for an offer that can still be
    /// refused for lack of a slot.
    pub(crate) fn placed_for_good(&self, id: ExecutionId) {
        self.lock().heads.remove(&id);
    }

    /// Removes the state of an execution that has ended.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.left_queue(id);
        self.placed_for_good(id);
        self.lock().cancels.remove(&id);
    }

    /// Removes the state of every execution that was not live at two consecutive reconciliations. An execution
    /// can end while its state is being added.
    pub(crate) fn prune(&self, live: &HashSet<ExecutionId>) {
        let mut state = self.lock();
        let noted = state.cancels.keys().chain(state.heads.keys()).chain(state.queue_spans.keys());
        let (gone, doubtful): (HashSet<_>, HashSet<_>) =
            noted.filter(|id| !live.contains(id)).copied().partition(|id| state.doubtful.contains(id));
        state.cancels.retain(|id, _| !gone.contains(id));
        state.heads.retain(|id, _| !gone.contains(id));
        state.queue_spans.retain(|id, _| !gone.contains(id));
        state.doubtful = doubtful;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl TransientState {
    /// Moves the start of every timer back by `time`.
    pub(crate) fn pass(&self, time: std::time::Duration) {
        for since in self.lock().heads.values_mut() {
            *since -= time;
        }
    }

    /// Returns whether an execution is known to wait only for a runner.
    pub(crate) fn is_head(&self, id: ExecutionId) -> bool {
        self.lock().heads.contains_key(&id)
    }
}
