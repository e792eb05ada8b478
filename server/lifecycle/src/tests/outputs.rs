//! The states of outputs, and the writers that may replace each.

use airlock_domain::{ExecutionState, OutputState};

use crate::{
    event::Event,
    machine::step,
    output::{OUTPUTS, OutputBy, OutputEvent, is_unstored},
    record::{ExecutionRecord, Micros},
    testing::{NOW, lease, record},
};

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
