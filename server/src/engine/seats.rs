//! Which execution takes up a slot of which runner, and which sessions wait for one. Memory only: it
//! is counted anew from the store whenever a runner makes a link, and follows what it reports of other servers'
//! executions.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use airlock_proto::domain::{ExecutionId, RunnerId, SessionId};

/// The slots of all runners.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    runners: Mutex<HashMap<RunnerId, Runner>>,
}

#[derive(Debug, Default)]
struct Runner {
    /// Since when.
    taken: HashMap<ExecutionId, Instant>,
    /// Sessions with something to run and no free slot, each once, the longest wait first.
    waiting: VecDeque<SessionId>,
}

impl Seats {
    /// Takes one of `slots` for an execution. Without a free one its session is told when there is.
    pub(crate) fn take(&self, runner: &RunnerId, slots: u32, id: ExecutionId, session: SessionId) -> bool {
        let mut runners = self.lock();
        let runner = runners.entry(runner.clone()).or_default();
        if runner.taken.contains_key(&id) {
            return true;
        }
        if runner.taken.len() < slots as usize {
            runner.taken.insert(id, Instant::now());
            return true;
        }
        if !runner.waiting.contains(&session) {
            runner.waiting.push_back(session);
        }
        false
    }

    /// Notes that a runner has an execution, whichever server offered it.
    pub(crate) fn note(&self, runner: &RunnerId, id: ExecutionId) {
        self.lock().entry(runner.clone()).or_default().taken.entry(id).or_insert_with(Instant::now);
    }

    /// Gives back what is not among `placed`, which was read after `since`: its end was another server's step, and not
    /// heard of here.
    pub(crate) fn prune(&self, placed: &HashSet<ExecutionId>, since: Instant) {
        for runner in self.lock().values_mut() {
            runner.taken.retain(|id, taken| *taken >= since || placed.contains(id));
        }
    }

    pub(crate) fn release(&self, runner: &RunnerId, id: ExecutionId) {
        if let Some(runner) = self.lock().get_mut(runner) {
            runner.taken.remove(&id);
        }
    }

    /// The session that has waited longest, if there is a free slot now.
    pub(crate) fn next_waiting(&self, runner: &RunnerId, slots: u32) -> Option<SessionId> {
        let mut runners = self.lock();
        let runner = runners.get_mut(runner)?;
        if runner.taken.len() < slots as usize { runner.waiting.pop_front() } else { None }
    }

    pub(crate) fn reset(&self, runner: &RunnerId, taken: HashSet<ExecutionId>) {
        let now = Instant::now();
        self.lock().entry(runner.clone()).or_default().taken =
            taken.into_iter().map(|id| (id, now)).collect();
    }

    /// Forgets a runner that is gone for good.
    pub(crate) fn remove(&self, runner: &RunnerId) {
        self.lock().remove(runner);
    }

    pub(crate) fn taken(&self, runner: &RunnerId) -> u32 {
        let taken = self.lock().get(runner).map_or(0, |runner| runner.taken.len());
        u32::try_from(taken).unwrap_or(u32::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunnerId, Runner>> {
        self.runners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_longest_gets_the_next_free_slot() {
        let seats = Seats::default();
        let runner: RunnerId = "r".parse().expect("an id");
        let (first, second) = (ExecutionId::new(), ExecutionId::new());
        let (a, b) = (SessionId::new(), SessionId::new());
        assert!(seats.take(&runner, 1, first, a));
        assert!(seats.take(&runner, 1, first, a), "the same one again takes nothing more");
        assert!(!seats.take(&runner, 1, second, b));
        assert!(!seats.take(&runner, 1, second, b));
        assert_eq!(seats.next_waiting(&runner, 1), None, "nothing is free yet");
        seats.release(&runner, first);
        assert_eq!(seats.next_waiting(&runner, 1), Some(b));
        assert_eq!(seats.next_waiting(&runner, 1), None, "and waits only once");
        assert_eq!(seats.taken(&runner), 0);
    }

    #[test]
    fn what_another_server_gave_a_runner_takes_a_slot_until_it_is_over() {
        let seats = Seats::default();
        let runner: RunnerId = "r".parse().expect("an id");
        let (theirs, ours) = (ExecutionId::new(), ExecutionId::new());
        seats.note(&runner, theirs);
        assert!(!seats.take(&runner, 1, ours, SessionId::new()));
        seats.prune(&HashSet::from([theirs]), Instant::now());
        assert_eq!(seats.taken(&runner), 1);
        let before = Instant::now();
        seats.note(&runner, ours);
        seats.prune(&HashSet::new(), before);
        assert_eq!(seats.taken(&runner), 1, "one that was given while the list was read is not on it yet");
        assert!(seats.take(&runner, 1, ours, SessionId::new()));
    }
}
