//! Random sequences of events, with failed writes and crashes. A naive loop performs the effects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airlock_domain::{Epoch, ExecutionId};
use proptest::prelude::*;

use crate::{
    jobs::{Effect, Event, History, OfferKey, Phase, Record, Room, State, Terms, step},
    samples::{epoch, exited, id, lost, refused, session},
};

const REMEMBERED: usize = 3;
const ROOM: Room = Room { slots: 2, jobs_kept: 4, disk_short: None };

/// One thing that happens. Executions and attempts are few, so that they meet.
#[derive(Debug, Clone, Copy)]
enum Move {
    Offer {
        offer: OfferKey,
        stale: bool,
        draining: bool,
        passes: bool,
    },
    Start(ExecutionId),
    End(ExecutionId),
    Forget(ExecutionId),
    NextEpoch,
    Told,
    /// The process starts again. `true`: the host does.
    Restart(bool),
    Compact,
}

fn any_id() -> impl Strategy<Value = ExecutionId> {
    (1_u8..7).prop_map(id)
}

fn any_offer() -> impl Strategy<Value = Move> {
    let rare = || prop::bool::weighted(0.1);
    (any_id(), 1_u32..4, rare(), rare(), any::<bool>()).prop_map(|(id, attempt, stale, draining, passes)| {
        Move::Offer { offer: OfferKey { id, attempt }, stale, draining, passes }
    })
}

fn any_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => any_offer(),
        3 => any_id().prop_map(Move::Start),
        3 => any_id().prop_map(Move::End),
        2 => any_id().prop_map(Move::Forget),
        1 => Just(Move::NextEpoch),
        1 => Just(Move::Told),
        1 => any::<bool>().prop_map(Move::Restart),
        1 => Just(Move::Compact),
    ]
}

/// A runner whose journal is a list of records.
struct Runner {
    state: State,
    journal: Vec<Record>,
    /// Whether each of the next writes fails.
    failures: VecDeque<bool>,
    /// Whether the journal lacks a fact because a write failed.
    is_behind: bool,
    epoch: Epoch,
    epochs: u8,
    boots: u8,
    /// The number of starts by execution, while the runner knows it.
    starts: BTreeMap<ExecutionId, u32>,
    /// The jobs that have ended, while the runner knows them.
    over: BTreeSet<ExecutionId>,
}

impl Runner {
    fn new(journal: Vec<Record>, failures: Vec<bool>) -> Self {
        let mut runner = Self {
            state: State::default(),
            journal,
            failures: failures.into(),
            is_behind: false,
            epoch: epoch(0),
            epochs: 0,
            boots: 0,
            starts: BTreeMap::new(),
            over: BTreeSet::new(),
        };
        runner.restart(false);
        runner
    }

    /// Takes an event, performs its writes and starts, and returns the other effects.
    fn take(&mut self, event: Event) -> Vec<Effect> {
        let mut events = VecDeque::from([event]);
        let mut others = Vec::new();
        while let Some(event) = events.pop_front() {
            let (state, effects) = step(std::mem::take(&mut self.state), event);
            self.state = state;
            for effect in effects {
                match effect {
                    Effect::Append(record) if self.failures.pop_front().unwrap_or_default() => {
                        self.is_behind = true;
                        events.push_back(Event::NotWritten { record, problem: "full".to_owned() });
                    }
                    Effect::Append(record) => {
                        self.journal.push(record.clone());
                        events.push_back(Event::Written(record));
                    }
                    Effect::Start(id) => *self.starts.entry(id).or_default() += 1,
                    other => others.push(other),
                }
            }
        }
        others
    }

    fn begin_epoch(&mut self) {
        self.epochs += 1;
        self.epoch = epoch(self.epochs);
        self.take(Event::EpochBegan(self.epoch));
    }

    fn restart(&mut self, host: bool) {
        self.boots += u8::from(host);
        self.state = State::of(replay(self.journal.iter().cloned()), true, &self.boots.to_string());
        // Facts that were not written are lost with the process.
        self.is_behind = false;
        self.over.clear();
        self.begin_epoch();
        let live: Vec<_> = self.state.jobs().filter(|(_, job)| job.is_live()).map(|(id, _)| *id).collect();
        for id in live {
            assert!(self.state.started_before_loss(&id, false).is_some());
            self.take(Event::Ended { id, result: lost(), keep_until_ms: 0 });
        }
        assert_eq!(self.state.live_count(), 0, "no job outlives the process that ran it");
    }

    fn offer(&mut self, offer: OfferKey, terms: Terms, passes: bool) {
        let epoch = self.epoch;
        let before = self.state.report(offer.id).filter(|report| report.attempt == offer.attempt);
        let mut effects = self.take(Event::Offered { offer, epoch, terms: Some(terms) });
        if effects == [Effect::Check(offer)] {
            effects = self.take(match passes {
                true => Event::Checked { offer, epoch, session: session(), room: ROOM },
                false => Event::Rejected { offer, epoch, reason: "floor", result: refused() },
            });
        }
        let answers: Vec<_> = effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::Answer(report) => Some(report.clone()),
                Effect::Report(id) => self.state.report(*id),
                _ => None,
            })
            .collect();
        let [answer] = answers.as_slice() else { panic!("one answer to {offer:?}: {answers:?}") };
        assert_eq!((answer.execution_id, answer.attempt), (offer.id, offer.attempt));
        if let Some(before) = before {
            assert_eq!(*answer, before, "a repeated offer gets the answer of the journal");
        }
    }

    fn make(&mut self, next: Move) {
        match next {
            Move::Offer { offer, stale, draining, passes } => {
                let named = if stale { epoch(0) } else { self.epoch };
                self.offer(offer, Terms { epoch: named, not_after_ms: 5, now_ms: 1, draining }, passes);
            }
            Move::Start(id) => drop(self.take(Event::Started { id })),
            Move::End(id) => drop(self.take(Event::Ended { id, result: exited(), keep_until_ms: 0 })),
            Move::Forget(id) => drop(self.take(Event::Forget { id })),
            Move::NextEpoch => self.begin_epoch(),
            Move::Told => drop(self.take(Event::ServersTold)),
            Move::Restart(host) => self.restart(host),
            Move::Compact => {
                self.journal = self.state.records().collect();
                self.is_behind = false;
            }
        }
    }

    fn check(&mut self) {
        let history = self.state.history();
        if !self.is_behind {
            assert_eq!(&replay(self.journal.iter().cloned()), history, "the state follows from the records");
        }
        let live = self.state.jobs().filter(|(_, job)| job.is_live()).count();
        assert_eq!(self.state.live_count(), live);
        assert_eq!(&replay(self.state.records()), history, "rewriting the records changes nothing");
        assert!(history.forgotten_count() <= REMEMBERED, "the number of remembered IDs is bounded");
        for (id, job) in self.state.jobs() {
            match job.phase {
                Phase::Ended(_) | Phase::Lost(_) => {
                    self.over.insert(*id);
                }
                _ => assert!(!self.over.contains(id), "the end of a job is final: {id} is {:?}", job.phase),
            }
        }
        // An ID that is no longer remembered counts as new.
        let state = &self.state;
        self.over.retain(|id| state.knows(id));
        self.starts.retain(|id, _| state.knows(id));
        assert!(self.starts.values().all(|starts| *starts == 1), "started once: {:?}", self.starts);
    }
}

fn replay(records: impl IntoIterator<Item = Record>) -> History {
    let mut history = History::new(REMEMBERED);
    records.into_iter().for_each(|record| history.apply(record));
    history
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_job_is_started_once_and_its_answer_and_its_end_are_final(
        moves in proptest::collection::vec(any_move(), 0..60),
        failures in proptest::collection::vec(prop::bool::weighted(0.1), 0..60),
    ) {
        let mut runner = Runner::new(Vec::new(), failures);
        for next in moves {
            runner.make(next);
            runner.check();
        }
    }
}

proptest! {
    // Each case tries a crash at each of its records.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn after_a_crash_at_any_record_no_accepted_job_is_started_again(
        moves in proptest::collection::vec(any_move(), 0..40),
    ) {
        let mut runner = Runner::new(Vec::new(), Vec::new());
        moves.into_iter().filter(|next| !matches!(next, Move::Compact)).for_each(|next| runner.make(next));
        for records in 0..=runner.journal.len() {
            let journal = runner.journal.iter().take(records).cloned().collect();
            let mut again = Runner::new(journal, Vec::new());
            for id in (1..7).map(id) {
                let was_accepted = match again.state.job(&id) {
                    Some(job) => !job.is_refused(),
                    None => again.state.was_forgotten(&id),
                };
                for attempt in (1..5).filter(|_| was_accepted) {
                    let offer = OfferKey { id, attempt };
                    again.make(Move::Offer { offer, stale: false, draining: false, passes: true });
                }
                prop_assert!(!was_accepted || !again.starts.contains_key(&id));
            }
        }
    }
}
