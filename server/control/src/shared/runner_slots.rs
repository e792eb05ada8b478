//! The executions that use the slots of each runner, and whether others wait. This state is in memory only. It is
//! rebuilt from the store whenever a runner connects, and updated by reports about the executions of other servers.
//! The store decides which execution gets the next free slot.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use airlock_domain::{ExecutionId, RunnerId};

/// The slots of all runners.
#[derive(Debug, Default)]
pub(crate) struct RunnerSlots {
    runners: Mutex<HashMap<RunnerId, Runner>>,
    /// Whether other servers have queued executions.
    others_wait: AtomicBool,
}

#[derive(Debug, Default)]
struct Runner {
    /// The executions that use a slot.
    taken: HashMap<ExecutionId, Use>,
    /// The number of failed attempts to get a slot since there were last no waiters.
    asked: u64,
    /// Whether the runner reported that it is full, independently of the count here.
    is_full: bool,
}

/// The use of a slot by one execution.
#[derive(Debug)]
struct Use {
    since: Instant,
    /// Whether an offer is being written, so that the store does not show the execution on the runner yet.
    is_being_offered: bool,
}

impl Use {
    fn new() -> Self {
        Self { since: Instant::now(), is_being_offered: false }
    }
}

/// Keeps the slot of an execution while its offer is written. Without it, a reconciliation in that time would take
/// the slot for free.
#[derive(Debug)]
#[must_use = "the slot is kept only while this value exists"]
pub(crate) struct OfferInProgress<'a> {
    slots: &'a RunnerSlots,
    runner: &'a RunnerId,
    id: ExecutionId,
}

impl Drop for OfferInProgress<'_> {
    fn drop(&mut self) {
        if let Some(runner) = self.slots.lock().get_mut(self.runner)
            && let Some(used) = runner.taken.get_mut(&self.id)
        {
            *used = Use::new();
        }
    }
}

/// The result of asking for a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotResult {
    /// The execution has a slot.
    Taken,
    /// A slot is free, but others wait too. The store decides which is next.
    Contended,
    /// No slot is free. The store finds the waiting executions when one becomes free.
    Full,
}

/// Free slots that executions wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vacancy {
    pub(crate) free: u32,
    asked: u64,
}

impl Runner {
    fn free(&self, slots: u32) -> u32 {
        let taken = u32::try_from(self.taken.len()).unwrap_or(u32::MAX);
        if self.is_full { 0 } else { slots.saturating_sub(taken) }
    }
}

impl RunnerSlots {
    /// Takes one of `slots` for an execution, unless others wait for one.
    pub(crate) fn take(&self, runner: &RunnerId, slots: u32, id: ExecutionId) -> SlotResult {
        let mut runners = self.lock();
        let runner = runners.entry(runner.clone()).or_default();
        if runner.taken.contains_key(&id) {
            return SlotResult::Taken;
        }
        let is_free = runner.free(slots) > 0;
        if is_free && runner.asked == 0 && !self.others_wait.load(Ordering::Relaxed) {
            runner.taken.insert(id, Use::new());
            return SlotResult::Taken;
        }
        runner.asked = runner.asked.saturating_add(1);
        if is_free { SlotResult::Contended } else { SlotResult::Full }
    }

    /// Takes a slot for an execution from the queue. Returns whether one is free.
    pub(crate) fn hold(&self, runner: &RunnerId, slots: u32, id: ExecutionId) -> bool {
        let mut runners = self.lock();
        let runner = runners.entry(runner.clone()).or_default();
        let holds = runner.taken.contains_key(&id) || runner.free(slots) > 0;
        if holds {
            runner.taken.entry(id).or_insert_with(Use::new);
        }
        holds
    }

    /// Keeps the slot of an execution until the result is dropped, whatever [`RunnerSlots::prune`] reads.
    pub(crate) fn begin_offer<'a>(&'a self, runner: &'a RunnerId, id: ExecutionId) -> OfferInProgress<'a> {
        if let Some(runner) = self.lock().get_mut(runner) {
            runner.taken.entry(id).or_insert_with(Use::new).is_being_offered = true;
        }
        OfferInProgress { slots: self, runner, id }
    }

    /// Returns the free slots of a runner if executions wait for one.
    pub(crate) fn vacancy(&self, runner: &RunnerId, slots: u32) -> Option<Vacancy> {
        let mut runners = self.lock();
        let runner = runners.get_mut(runner)?;
        let free = runner.free(slots);
        (free > 0 && runner.asked > 0).then_some(Vacancy { free, asked: runner.asked })
    }

    /// Records that no execution waits, unless there was another attempt since `seen`.
    pub(crate) fn none_waits(&self, runner: &RunnerId, seen: Vacancy) {
        if let Some(runner) = self.lock().get_mut(runner)
            && runner.asked == seen.asked
        {
            runner.asked = 0;
        }
    }

    /// Records that the runner reported to be full. This lasts until an execution on it ends, or until the next
    /// reconciliation.
    pub(crate) fn set_full(&self, runner: &RunnerId) {
        self.lock().entry(runner.clone()).or_default().is_full = true;
    }

    /// Records that an execution on the runner has ended.
    pub(crate) fn has_room(&self, runner: &RunnerId) {
        if let Some(runner) = self.lock().get_mut(runner) {
            runner.is_full = false;
        }
    }

    pub(crate) fn set_others_wait(&self, wait: bool) {
        self.others_wait.store(wait, Ordering::Relaxed);
    }

    /// Records that a runner has an execution, whichever server offered it.
    pub(crate) fn note(&self, runner: &RunnerId, id: ExecutionId) {
        self.lock().entry(runner.clone()).or_default().taken.entry(id).or_insert_with(Use::new);
    }

    /// Frees the slots of executions that are not in `placed`, which was read after `since`. They were ended by
    /// another server without a report here.
    pub(crate) fn prune(&self, placed: &HashSet<ExecutionId>, since: Instant) {
        for runner in self.lock().values_mut() {
            runner
                .taken
                .retain(|id, used| used.is_being_offered || used.since >= since || placed.contains(id));
            runner.is_full = false;
        }
    }

    pub(crate) fn release(&self, runner: &RunnerId, id: ExecutionId) {
        if let Some(runner) = self.lock().get_mut(runner) {
            runner.taken.remove(&id);
        }
    }

    pub(crate) fn reset(&self, runner: &RunnerId, taken: HashSet<ExecutionId>) {
        self.lock().entry(runner.clone()).or_default().taken =
            taken.into_iter().map(|id| (id, Use::new())).collect();
    }

    /// Removes a runner that is lost.
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

    fn fresh() -> (RunnerSlots, RunnerId, [ExecutionId; 3]) {
        (RunnerSlots::default(), "r".parse().expect("an id"), [(); 3].map(|()| ExecutionId::new()))
    }

    #[test]
    fn a_free_slot_is_taken_until_somebody_waits_and_then_the_store_says_who_is_next() {
        let (slots, runner, [first, second, third]) = fresh();
        assert_eq!(slots.take(&runner, 1, first), SlotResult::Taken);
        assert_eq!(
            slots.take(&runner, 1, first),
            SlotResult::Taken,
            "a repeated offer takes no further slot"
        );
        assert_eq!(slots.take(&runner, 1, second), SlotResult::Full);
        assert_eq!(slots.vacancy(&runner, 1), None, "no slot is free yet");
        slots.release(&runner, first);
        assert_eq!(
            slots.take(&runner, 1, third),
            SlotResult::Contended,
            "the other execution waited earlier"
        );
        let seen = slots.vacancy(&runner, 1).expect("a free slot");
        assert_eq!(seen.free, 1);
        assert!(slots.hold(&runner, 1, second) && !slots.hold(&runner, 1, third));
        assert_eq!(slots.take(&runner, 1, second), SlotResult::Taken);
        slots.release(&runner, second);
        assert_eq!(slots.take(&runner, 1, first), SlotResult::Contended);
        slots.none_waits(&runner, seen);
        assert_eq!(
            slots.take(&runner, 1, third),
            SlotResult::Contended,
            "another request arrived in the meantime"
        );
        slots.none_waits(&runner, slots.vacancy(&runner, 1).expect("a free slot"));
        assert_eq!(slots.take(&runner, 1, third), SlotResult::Taken);
    }

    #[test]
    fn while_other_servers_have_a_queue_nobody_goes_before_it() {
        let (slots, runner, [first, ..]) = fresh();
        slots.set_others_wait(true);
        assert_eq!(slots.take(&runner, 1, first), SlotResult::Contended);
    }

    #[test]
    fn a_runner_that_says_it_is_full_is_asked_again_when_something_ends_or_at_the_next_look() {
        let (slots, runner, [first, second, _]) = fresh();
        assert_eq!(slots.take(&runner, 2, first), SlotResult::Taken);
        slots.set_full(&runner);
        assert_eq!(slots.take(&runner, 2, second), SlotResult::Full);
        slots.release(&runner, first);
        assert_eq!(slots.vacancy(&runner, 2), None, "a refused offer frees no slot");
        slots.has_room(&runner);
        assert_eq!(slots.vacancy(&runner, 2).map(|seen| seen.free), Some(2));
        slots.set_full(&runner);
        slots.prune(&HashSet::new(), Instant::now());
        assert!(slots.vacancy(&runner, 2).is_some());
    }

    #[test]
    fn what_another_server_gave_a_runner_takes_a_slot_until_it_is_over() {
        let (slots, runner, [theirs, ours, _]) = fresh();
        slots.note(&runner, theirs);
        assert_eq!(slots.take(&runner, 1, ours), SlotResult::Full);
        slots.prune(&HashSet::from([theirs]), Instant::now());
        assert_eq!(slots.taken(&runner), 1);
        let before = Instant::now();
        slots.note(&runner, ours);
        slots.prune(&HashSet::new(), before);
        assert_eq!(
            slots.taken(&runner),
            1,
            "a slot that was taken while the list was read is not in the list yet"
        );
        assert_eq!(slots.take(&runner, 1, ours), SlotResult::Taken);
    }

    #[test]
    fn an_execution_keeps_its_slot_while_its_offer_is_written() {
        let (slots, runner, [offered, next, _]) = fresh();
        assert_eq!(slots.take(&runner, 1, offered), SlotResult::Taken);
        let offer = slots.begin_offer(&runner, offered);
        // The list was read before the offer was stored.
        slots.prune(&HashSet::new(), Instant::now());
        assert_eq!(slots.take(&runner, 1, next), SlotResult::Full);
        let read = Instant::now();
        drop(offer);
        slots.prune(&HashSet::new(), read);
        assert_eq!(slots.taken(&runner), 1, "the list can be older than the offer");
        slots.prune(&HashSet::new(), Instant::now());
        assert_eq!(slots.taken(&runner), 0);
    }
}
