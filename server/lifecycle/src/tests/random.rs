//! Random sequences of events by several servers, and the properties that hold after every one of them.

use airlock_domain::{
    ApprovalId, BackgroundedBy, CancelledBy, Cause, DeniedBy, Epoch, ExecutionState, JobPhase, LinkState,
    OutputState,
};
use proptest::{prelude::*, strategy::ValueTree as _};

use crate::{
    effect::{Effect, Effects, Outcome},
    event::{Answer, Event, Offered},
    follow::effects,
    machine::{decide, step},
    output::OutputEvent,
    owner::OwnerEvent,
    record::{ExecutionRecord, Micros, Verdict},
    report::Reported,
    results::is_placed,
    taken::taken,
    testing::{lease, question, record, redecision, refused, reported, result, runner},
};

/// The random choices for an event about a record. The numbers select among few values, so that events often concern the
/// record, and often its past.
#[derive(Debug, Clone, Copy)]
struct Choice {
    kind: u8,
    variant: u8,
    /// The age of the record that the event belongs to, in records.
    age: usize,
    /// Whether another server writes first.
    raced: bool,
    micros: i64,
}

fn choices() -> impl Strategy<Value = Vec<Choice>> {
    let choice = (0..19_u8, 0..6_u8, 0..4_usize, any::<bool>(), 0..120_i64);
    let choice = choice.prop_map(|(kind, variant, age, raced, micros)| Choice {
        kind,
        variant,
        age: age.saturating_sub(1),
        raced,
        micros,
    });
    proptest::collection::vec(choice, 1..60)
}

fn event(choice: Choice, record: &ExecutionRecord, now: Micros) -> Event {
    let Choice { kind, variant, .. } = choice;
    let server = if variant % 2 == 0 { "one" } else { "two" };
    let lease = lease(server);
    let attempt = record.attempt;
    match kind {
        0 => Event::CancelRequested {
            by: if variant == 0 { CancelledBy::Client } else { CancelledBy::Disconnect },
        },
        1 => Event::Answered {
            approval: record.approval_id.filter(|_| variant != 0).unwrap_or_else(ApprovalId::new),
            answer: match variant {
                1 => Answer::Denied { reason: String::new() },
                2 => Answer::Expired,
                _ => Answer::Allowed,
            },
        },
        2 if variant == 0 => Event::SessionFailed { cause: Cause::refused("no_base", String::new()) },
        2 if variant == 1 => Event::SessionEnded { lost: choice.raced },
        2 if variant == 2 => Event::NotPlaced { cause: Cause::QueueExpired },
        2 if variant == 3 => Event::DeniedAgain { decision: redecision(Verdict::Deny), by: DeniedBy::Policy },
        2 => Event::DecidedAgain { decision: redecision(Verdict::Allow) },
        3 => Event::AskedAgain(Box::new(question(record))),
        4..=7 => Event::Offered(Box::new(Offered {
            runner: runner(if variant == 0 { "s" } else { "r" }),
            epoch: Epoch::new(),
            lease,
            decision: (variant == 1).then(|| redecision(Verdict::Allow)),
        })),
        8 => Event::TakenBack { attempt, by: CancelledBy::Client },
        9 => Event::LinkSeen(if variant % 2 == 0 { LinkState::Connected } else { LinkState::Unreachable }),
        10 => Event::Lost { attempt, is_back: choice.raced },
        11 => Event::Backgrounded {
            by: if variant % 2 == 0 { BackgroundedBy::Client } else { BackgroundedBy::Budget },
        },
        12 => Event::Owner(match variant {
            0 | 1 => OwnerEvent::Seen { lease, now, is_linked_elsewhere: choice.raced },
            2 | 3 => OwnerEvent::LinkedElsewhere { lease },
            _ => OwnerEvent::TakenFromQueue { lease },
        }),
        13 => Event::Output(match variant {
            0 | 1 => OutputEvent::Claimed { lease },
            2 | 3 => OutputEvent::Kept { server: server.to_owned(), output: OutputState::Stored },
            4 => OutputEvent::Removed,
            _ => OutputEvent::Abandoned,
        }),
        _ => Event::Reported(Box::new(report(choice, record))),
    }
}

fn report(Choice { kind, variant, raced, .. }: Choice, record: &ExecutionRecord) -> Reported {
    let mut report = match kind {
        14 => reported(record, JobPhase::Accepted, None),
        15 | 16 => reported(record, JobPhase::Running, None),
        17 => {
            let reasons =
                ["stale_epoch", "no_slots", "no_such_session", "files_changed", "already_accepted", "x"];
            let reason = reasons.into_iter().nth(usize::from(variant)).unwrap_or_default();
            let question = (variant == 3).then(|| question(record));
            Reported { question, ..refused(record, reason) }
        }
        _ => {
            let phase = if raced { JobPhase::Ended } else { JobPhase::Lost };
            reported(record, phase, (variant > 2).then(|| result(Cause::Exited { code: 0 })))
        }
    };
    if variant == 5 && kind != 17 {
        report.report.epoch = Epoch::new();
    }
    report
}

/// An execution and its past.
struct History {
    records: Vec<ExecutionRecord>,
    now: Micros,
}

impl History {
    fn new() -> Self {
        Self { records: vec![record(ExecutionState::Queued)], now: Micros(1) }
    }

    fn current(&self) -> ExecutionRecord {
        self.records.last().expect("a record").clone()
    }

    /// Feeds an event like a server that has read an older record: by compare-and-set, and again after a lost race.
    fn feed(&mut self, choice: Choice) -> Result<(), TestCaseError> {
        self.now.0 += choice.micros;
        let current = self.current();
        let read = self.records.iter().rev().nth(choice.age).unwrap_or(&current).clone();
        let event = event(choice, &read, self.now);
        if matches!(event, Event::Output(_)) || read.version == current.version {
            return self.apply(&current, &event);
        }
        let wants = decide(&read, &event).is_some();
        if wants && event.is_single() {
            let raced = effects(&event, &Outcome::Raced(&current));
            prop_assert!(raced.job.is_empty());
            return Ok(());
        }
        if wants { self.apply(&current, &event) } else { Ok(()) }
    }

    fn apply(&mut self, before: &ExecutionRecord, event: &Event) -> Result<(), TestCaseError> {
        let (after, effects) = step(before, event, self.now).expect("a permitted transition");
        holds(before, &after, event, &effects)?;
        self.records.push(after);
        Ok(())
    }
}

/// Checks the properties of one step.
fn holds(
    before: &ExecutionRecord,
    after: &ExecutionRecord,
    event: &Event,
    effects: &Effects,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(after.result.is_some(), after.state == ExecutionState::Finished);
    prop_assert_eq!(after.ended.is_some(), after.state == ExecutionState::Finished);
    prop_assert!(after.link.is_none() || is_placed(after.state));
    prop_assert!(before.state == after.state || before.state.may_become(after.state));
    prop_assert!(after.attempt >= before.attempt);
    let is_offered = before.attempt != after.attempt;
    prop_assert_eq!(is_offered, matches!(event, Event::Offered(_)) && before != after);
    if visible(before) != visible(after) {
        prop_assert_eq!(after.version, before.version + 1);
    } else {
        prop_assert!(after.version >= before.version);
    }
    if before.state == ExecutionState::Finished {
        let unchanged = ExecutionRecord {
            version: after.version,
            owner_server: after.owner_server.clone(),
            lease_until: after.lease_until,
            output: after.output,
            ..before.clone()
        };
        prop_assert_eq!(&unchanged, after);
    }
    if is_stale(before, event) {
        prop_assert_eq!(before, after);
        prop_assert!(effects.server.is_empty());
    }
    follows(before, after, effects)
}

/// Checks the effects of one step.
fn follows(
    before: &ExecutionRecord,
    after: &ExecutionRecord,
    effects: &Effects,
) -> Result<(), TestCaseError> {
    let has = |effect| effects.server.contains(&effect);
    let leaves_runner = is_placed(before.state) && !is_placed(after.state);
    prop_assert_eq!(has(Effect::FreeSlot), leaves_runner);
    let ends = before.state != after.state && after.state == ExecutionState::Finished;
    prop_assert_eq!(has(Effect::MeasureResult), ends);
    prop_assert_eq!(has(Effect::Forget), ends);
    if ends {
        prop_assert!(has(Effect::LookAtSession) && has(Effect::NotifyTenant));
    }
    Ok(())
}

/// Returns the fields of a record that readers see.
fn visible(record: &ExecutionRecord) -> impl PartialEq {
    (
        record.state,
        record.link,
        record.runner_id.clone(),
        record.runner_epoch,
        record.attempt,
        record.approval_id,
        record.backgrounded,
        record.result.clone(),
    )
}

/// Reports whether an event concerns an earlier offer, or another runner or epoch.
fn is_stale(record: &ExecutionRecord, event: &Event) -> bool {
    match event {
        Event::Reported(reported) => {
            let report = &reported.report;
            let epoch = report.phase == JobPhase::Refused || record.runner_epoch == Some(report.epoch);
            record.runner_id.as_ref() != Some(&reported.runner) || report.attempt != record.attempt || !epoch
        }
        Event::Lost { attempt, .. } => *attempt != record.attempt,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn the_properties_hold_after_every_event(choices in choices()) {
        let mut history = History::new();
        for choice in choices {
            history.feed(choice)?;
        }
        let ends = history.records.windows(2).filter(|pair| {
            pair.iter().map(|record| record.state == ExecutionState::Finished).eq([false, true])
        });
        prop_assert!(ends.count() <= 1);
        let offers = history.records.windows(2).filter(|pair| {
            pair.first().map(|record| record.attempt) != pair.last().map(|record| record.attempt)
        });
        prop_assert_eq!(offers.count() as u64, u64::from(history.current().attempt));
    }

    /// A record that a server has read can lack changes that left the version unchanged. The write is still permitted.
    #[test]
    fn what_was_decided_for_an_older_record_of_the_same_version_can_be_written(choices in choices()) {
        let mut history = History::new();
        for choice in choices {
            let current = history.current();
            for old in history.records.iter().filter(|old| old.version == current.version) {
                if let Some(transition) = decide(old, &event(choice, old, history.now)) {
                    prop_assert!(taken(current.clone(), &transition, history.now).is_ok());
                }
            }
            history.feed(choice)?;
        }
    }
}

/// The random sequences reach every state, so that their properties are not empty.
#[test]
fn random_sequences_reach_every_state() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut reached = Vec::new();
    for _ in 0..200 {
        let choices = choices().new_tree(&mut runner).expect("a tree").current();
        let mut history = History::new();
        for choice in choices {
            history.feed(choice).expect("the properties");
        }
        reached.extend(history.records.iter().map(|record| record.state));
    }
    for state in ExecutionState::ALL {
        assert!(reached.contains(&state), "{state:?}");
    }
}
