//! Tests of the effects of transitions, of changes of the owner, and of the states of output.

use airlock_domain::{
    CancelledBy, Cause, Epoch,
    ExecutionState::{Finished, Queued, Running, Starting},
    JobPhase, OutputState, ToRunner,
};

use crate::{
    effect::{Effect, JobEffect, Outcome},
    event::Event,
    follow::{effects, entered},
    machine::step,
    output::{OUTPUTS, OutputBy, OutputEvent, is_unstored},
    owner::{OwnerEvent, change_owner, may_settle},
    record::{ExecutionRecord, LiveExecution, Micros},
    refusal::before_refusal,
    report::{Reception, Reported, received},
    results::{Absence, Settlement, settle},
    testing::{NOW, lease, offered, record, refused, reported, result, runner},
};

fn job_effects(before: &ExecutionRecord, reported: Reported) -> Vec<JobEffect> {
    step(before, &Event::Reported(Box::new(reported)), NOW).expect("a step").1.job
}

#[test]
fn a_start_is_measured_once_and_told_what_was_asked_meanwhile() {
    let before = ExecutionRecord { cancel_requested: true, ..record(Starting) };
    let effects = job_effects(&before, reported(&before, JobPhase::Running, None));
    let told = [JobEffect::MeasureStart, JobEffect::TellBackgrounded, JobEffect::RepeatEnd];
    assert_eq!(effects, told);
    let before = record(Running);
    let again = job_effects(&before, reported(&before, JobPhase::Running, None));
    assert_eq!(again, [JobEffect::TellBackgrounded]);
}

#[test]
fn an_end_frees_the_slot_and_keeps_the_output() {
    let before = record(Running);
    let ended = reported(&before, JobPhase::Ended, Some(result(Cause::Exited { code: 1 })));
    let (after, effects) = step(&before, &Event::Reported(Box::new(ended)), NOW).expect("a step");
    let expected = [
        Effect::RunnerHasRoom,
        Effect::FreeSlot,
        Effect::Forget,
        Effect::NotifyTenant,
        Effect::MeasureResult,
        Effect::LookAtSession,
        Effect::Notify,
    ];
    assert_eq!(effects.server, expected);
    assert_eq!(effects.job, [JobEffect::KeepOutput]);
    assert_eq!(after.output, OutputState::Live);
}

#[test]
fn a_late_end_is_logged_and_replaces_nothing() {
    let before = record(Finished);
    let late = reported(&before, JobPhase::Ended, Some(result(Cause::RunnerLost)));
    let (after, effects) = step(&before, &Event::Reported(Box::new(late)), NOW).expect("a step");
    assert_eq!(after, before);
    let log = JobEffect::LogLateEnd { stored: "EXITED", reported: "RUNNER_LOST" };
    assert_eq!(effects.job, [JobEffect::FreeSlot, log, JobEffect::KeepOutput]);
    assert!(effects.server.is_empty());
}

#[test]
fn a_job_of_an_ended_execution_is_ended_at_its_runner() {
    let before = record(Finished);
    let effects = job_effects(&before, reported(&before, JobPhase::Accepted, None));
    let cause = Cause::Exited { code: 0 };
    let message = Box::new(ToRunner::EndJob { execution_id: before.id, cause });
    assert_eq!(effects, [JobEffect::Disown { attempt: 1, message }]);
}

#[test]
fn refusals_have_the_effects_of_their_reasons() {
    let before = record(Starting);
    let cases = [
        ("no_slots", vec![JobEffect::SetFull], vec![]),
        ("no_such_directory", vec![JobEffect::SetBackDirectory], vec![JobEffect::LookAtSession]),
        ("stale_epoch", vec![], vec![JobEffect::LookAtSession]),
        ("no_such_session", vec![], vec![JobEffect::LoseSession, JobEffect::ForgetJob]),
        ("beyond_floor", vec![], vec![JobEffect::ForgetJob]),
    ];
    for (reason, first, then) in cases {
        let refused = refused(&before, reason);
        assert_eq!(before_refusal(&before, &refused.report), first, "{reason}");
        assert_eq!(job_effects(&before, refused), then, "{reason}");
    }
}

#[test]
fn a_request_to_end_a_placed_execution_is_passed_on_each_time() {
    let cancel = Event::CancelRequested { by: CancelledBy::Client };
    let (asked, effects) = step(&record(Running), &cancel, NOW).expect("a step");
    let sent = [Effect::NoteCancel(CancelledBy::Client), Effect::SendEnd];
    assert!(effects.server.ends_with(&sent));
    let (after, effects) = step(&asked, &cancel, NOW).expect("a step");
    assert_eq!(after, asked);
    assert_eq!(effects.server, sent);
}

#[test]
fn reports_are_told_apart_by_runner_attempt_and_epoch() {
    let before = record(Running);
    let of = |record: Option<&ExecutionRecord>, name: &str, reported: &Reported| {
        received(record, &runner(name), &reported.report)
    };
    let current = reported(&before, JobPhase::Running, None);
    assert_eq!(of(Some(&before), "r", &current), Reception::OnRunner);
    assert!(matches!(of(None, "r", &current), Reception::Unknown(_)));
    assert!(matches!(of(Some(&before), "other", &current), Reception::NotOffered(_)));
    let next = ExecutionRecord { attempt: 2, ..before.clone() };
    assert_eq!(of(Some(&next), "r", &current), Reception::OtherOffer);
    assert_eq!(of(Some(&next), "r", &refused(&before, "no_slots")), Reception::Earlier);
    let ahead = reported(&next, JobPhase::Running, None);
    assert!(matches!(of(Some(&before), "r", &ahead), Reception::NotOffered(_)));
    let over = record(Finished);
    assert_eq!(of(Some(&over), "r", &reported(&over, JobPhase::Ended, None)), Reception::Over);
}

#[test]
fn an_offer_that_lost_a_race_leads_to_another_look_at_the_session() {
    let before = record(Queued);
    let raced = effects(&offered("r"), &Outcome::Raced(&before));
    assert_eq!(raced.server, [Effect::LookAtSession]);
    assert!(offered("r").is_single());
}

#[test]
fn a_new_execution_is_looked_at_or_is_over() {
    assert_eq!(entered(&record(Queued)), [Effect::Notify, Effect::EnterQueue, Effect::LookAtSession]);
    assert_eq!(entered(&record(Finished)), [Effect::Notify, Effect::NotifyTenant, Effect::MeasureResult]);
}

const SECOND: i64 = 1_000_000;

fn is_taken_over(now: i64, is_linked_elsewhere: bool) -> bool {
    let seen = OwnerEvent::Seen { lease: lease("two"), now: Micros(now), is_linked_elsewhere };
    change_owner(&LiveExecution::from(&record(Running)), &seen).is_some()
}

#[test]
fn a_server_takes_over_after_the_lease_and_leaves_time_to_one_with_a_link() {
    assert!(!is_taken_over(99, false), "the lease is valid until 100");
    assert!(is_taken_over(100, false));
    assert!(!is_taken_over(100, true));
    assert!(is_taken_over(100 + 3 * SECOND, true));
}

#[test]
fn an_owner_does_not_take_over_its_own_execution() {
    let live = LiveExecution::from(&record(Running));
    let seen = OwnerEvent::Seen { lease: lease("one"), now: Micros(SECOND), is_linked_elsewhere: false };
    assert!(change_owner(&live, &seen).is_none());
    assert!(may_settle(&live, "one", Micros(0)));
    assert!(!may_settle(&live, "two", Micros(0)));
    assert!(may_settle(&LiveExecution { owner_server: None, ..live }, "two", Micros(0)));
}

#[test]
fn what_a_runner_does_not_report_is_settled_by_its_epoch_and_journal() {
    let epoch = Epoch::new();
    let seen = Absence { epoch, is_current: true, is_surely_absent: false, vouches: true };
    let of = |state, epoch| ExecutionRecord { runner_epoch: epoch, ..record(state) };
    let (same, other) = (Some(epoch), Some(Epoch::new()));
    let sure = Absence { is_surely_absent: true, ..seen };
    for (record, absence, expected) in [
        (of(Running, same), seen, Settlement::Probe),
        (of(Running, same), sure, Settlement::Lose),
        (of(Running, other), sure, Settlement::Lose),
        (of(Starting, same), seen, Settlement::SendAgain),
        (of(Starting, other), seen, Settlement::TakeBack),
        (of(Starting, other), Absence { vouches: false, ..seen }, Settlement::Lose),
        (of(Starting, other), Absence { is_current: false, ..seen }, Settlement::Leave),
        (of(Running, other), Absence { is_current: false, ..sure }, Settlement::Leave),
    ] {
        assert_eq!(settle(&record, &absence), expected, "{:?} {absence:?}", record.state);
    }
}

fn ended(output: OutputState) -> ExecutionRecord {
    ExecutionRecord { output, ..record(Finished) }
}

fn after(before: &ExecutionRecord, event: &OutputEvent) -> ExecutionRecord {
    step(before, &Event::Output(event.clone()), NOW).expect("no transition").0
}

#[test]
fn each_writer_replaces_its_own_states_only() {
    for output in OUTPUTS {
        let before = ended(output);
        let kept = OutputEvent::Kept { server: "one".to_owned(), output: OutputState::Stored };
        let is_kept = after(&before, &kept).output == OutputState::Stored;
        assert_eq!(is_kept, is_unstored(output) || output == OutputState::Stored, "{output:?}");
        let is_removed = after(&before, &OutputEvent::Removed).output == OutputState::Lost;
        let may = OutputBy::Retention.may_replace(output);
        assert_eq!(is_removed, may || output == OutputState::Lost, "{output:?}");
        assert!(!(may && OutputBy::Keeper("one").may_replace(output)), "{output:?} has one writer");
    }
}

#[test]
fn only_the_server_with_the_lease_stores() {
    let before = ended(OutputState::Storing);
    let other = OutputEvent::Kept { server: "two".to_owned(), output: OutputState::Lost };
    assert_eq!(after(&before, &other), before);
    let held = ExecutionRecord { lease_until: Micros(NOW.0 + 1), ..before.clone() };
    let claimed = OutputEvent::Claimed { lease: lease("two") };
    assert_eq!(after(&held, &claimed), held);
    assert_eq!(after(&held, &OutputEvent::Abandoned), held);
    let taken = after(&before, &claimed);
    assert_eq!(taken.owner_server.as_deref(), Some("two"));
    assert_eq!(after(&taken, &other).output, OutputState::Lost);
}
