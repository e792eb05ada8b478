//! Leases, take-over, and executions that runners do not report.

use airlock_domain::{
    Epoch,
    ExecutionState::{self, Running, Starting},
    OutputState,
};

use crate::{
    event::Event,
    machine::step,
    output::{OUTPUTS, OutputBy, OutputEvent, is_unstored},
    owner::{OwnerEvent, change_owner, may_settle},
    record::{ExecutionRecord, LiveExecution, Micros},
    settle::{Absence, Settlement, settle},
    testing::{NOW, lease, record},
};

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
    ExecutionRecord { output, ..record(ExecutionState::Finished) }
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
