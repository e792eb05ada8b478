//! Hints that there may be work: sets of sessions and runners that a task takes. Hints may be lost or duplicated. The
//! reconciliation finds changes without a hint.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use airlock_domain::{RunnerId, SessionId};
use tokio::sync::Notify;

use super::runner_slots::RunnerSlots;

/// The hints of this server.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    /// Sessions with queued executions.
    pub(crate) sessions: PendingSet<SessionId>,
    /// Runners with free slots that executions wait for.
    pub(crate) runners: PendingSet<RunnerId>,
    reconcile: Notify,
}

impl Hints {
    /// Triggers a reconciliation now.
    pub(crate) fn reconcile_now(&self) {
        self.reconcile.notify_one();
    }

    /// Waits until a reconciliation is triggered.
    pub(crate) async fn reconcile_wanted(&self) {
        self.reconcile.notified().await;
    }

    /// Schedules the assignment of a runner's free slots if executions wait for them.
    pub(crate) fn notify_waiting(&self, runner_slots: &RunnerSlots, runner: &RunnerId, slots: u32) {
        if runner_slots.vacancy(runner, slots).is_some() {
            self.runners.insert(runner.clone());
        }
    }
}

/// A set of sessions or runners to check. Each is contained at most once.
#[derive(Debug)]
pub(crate) struct PendingSet<T> {
    pending: Mutex<HashSet<T>>,
    notify: Notify,
}

impl<T> Default for PendingSet<T> {
    fn default() -> Self {
        Self { pending: Mutex::default(), notify: Notify::new() }
    }
}

impl<T: Clone + Eq + Hash> PendingSet<T> {
    /// Adds an entry and notifies the receiver.
    pub(crate) fn insert(&self, id: T) {
        if self.lock().insert(id) {
            self.notify.notify_one();
        }
    }

    /// Waits until there is something to take. Spurious returns are possible.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Takes up to `at_most` entries that are not in `busy`.
    pub(crate) fn take(&self, at_most: usize, busy: &HashSet<T>) -> Vec<T> {
        let mut pending = self.lock();
        let taken: Vec<_> = pending.iter().filter(|id| !busy.contains(id)).take(at_most).cloned().collect();
        for id in &taken {
            pending.remove(id);
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
