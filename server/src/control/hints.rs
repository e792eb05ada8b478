//! Hints that there may be work. Hints may be lost or duplicated. The reconciliation finds changes without a hint.

use airlock_domain::{RunnerId, SessionId};
use tokio::sync::Notify;

use super::{pending::PendingSet, runner_slots::RunnerSlots};

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
