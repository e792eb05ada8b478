//! This server's record of runners: the store's runners as of the last read, and the time since which each has had no
//! link. Losing it does no harm.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use airlock_domain::RunnerId;
use airlock_store::record::RunnerRecord;

/// The known runners and their absences.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The start of this server.
    began: Option<Instant>,
    /// Since when a runner has had no link here.
    unlinked: HashMap<RunnerId, Instant>,
    /// Runners that were unreachable for too long.
    lost: HashSet<RunnerId>,
    /// The runners of the store, as of the last read.
    known: HashMap<RunnerId, Arc<RunnerRecord>>,
}

impl Presence {
    /// Records that a runner has a link and has reported its jobs.
    pub(crate) fn set_linked(&self, runner: &RunnerId) {
        let mut state = self.lock();
        state.unlinked.remove(runner);
        state.lost.remove(runner);
    }

    /// Returns the time since the first call.
    pub(crate) fn up_for(&self) -> Duration {
        self.lock().began.get_or_insert_with(Instant::now).elapsed()
    }

    /// Returns the time since this process first saw the runner without a link here.
    pub(crate) fn unlinked_for(&self, runner: &RunnerId) -> Duration {
        self.lock().unlinked.entry(runner.clone()).or_insert_with(Instant::now).elapsed()
    }

    /// Marks a runner as lost.
    pub(crate) fn set_lost(&self, runner: &RunnerId) {
        self.lock().lost.insert(runner.clone());
    }

    pub(crate) fn is_lost(&self, runner: &RunnerId) -> bool {
        self.lock().lost.contains(runner)
    }

    /// Forgets since when runners have had no link. While the store could not be read, links to other servers
    /// were unknown.
    pub(crate) fn forget_absences(&self) {
        self.lock().unlinked.clear();
    }

    /// Replaces the known runners.
    pub(crate) fn set_known(&self, runners: HashMap<RunnerId, Arc<RunnerRecord>>) {
        self.lock().known = runners;
    }

    /// Updates a runner that was just read.
    pub(crate) fn learn(&self, runner: RunnerRecord) {
        self.lock().known.insert(runner.id.clone(), Arc::new(runner));
    }

    /// Returns a runner as of the last reconciliation.
    pub(crate) fn known(&self, id: &RunnerId) -> Option<Arc<RunnerRecord>> {
        self.lock().known.get(id).cloned()
    }

    /// Returns all runners as of the last reconciliation.
    pub(crate) fn all_known(&self) -> Vec<Arc<RunnerRecord>> {
        self.lock().known.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl Presence {
    /// Moves the start of every timer of this process back by `time`. Links are unchanged.
    pub(crate) fn pass(&self, time: Duration) {
        let mut state = self.lock();
        let State { unlinked, began, .. } = &mut *state;
        for since in unlinked.values_mut().chain(began) {
            *since -= time;
        }
    }
}
