//! The order of executions in a session. Pure.
//!
//! Serial commands run one after another, in the order of creation or, if an approval was required, of the
//! approval. Commands that are `concurrency_safe` or have `allow_concurrent` run at once. A command that
//! waits for an approval blocks no other.

use airlock_domain::ExecutionState;
use airlock_lifecycle::is_placed;
use airlock_store::record::{LiveExecution, Micros};

/// Returns the executions that may be placed now, from all unfinished ones of a session.
pub(super) fn turns(live: &[LiveExecution]) -> Vec<&LiveExecution> {
    let mut order: Vec<_> =
        live.iter().filter(|record| record.state != ExecutionState::PendingApproval).collect();
    order.sort_by_key(|record| (joined(record), record.id));
    // An execution that another server created earlier can become visible later.
    let mut serial_ahead = order.iter().any(|record| record.serial && is_placed(record.state));
    let mut turns = Vec::new();
    for record in order {
        if record.state == ExecutionState::Queued && !(record.serial && serial_ahead) {
            turns.push(record);
        }
        serial_ahead |= record.serial;
    }
    turns
}

/// Returns the time at which the execution joined the queue. A refused offer does not change its position.
fn joined(record: &LiveExecution) -> Micros {
    if record.approval_id.is_some() { record.queued } else { record.created }
}

#[cfg(test)]
mod tests {
    use airlock_domain::ExecutionState::{self, Finished, PendingApproval, Queued, Running, Starting};
    use airlock_store::testing::records::live_execution;

    use super::*;

    fn live(states: &[(ExecutionState, bool)]) -> Vec<LiveExecution> {
        let made = states.iter().enumerate().map(|(index, (state, serial))| {
            let mut made = live_execution(*state);
            made.created = Micros(index as i64);
            made.queued = Micros(index as i64);
            made.serial = *serial;
            made
        });
        // In arbitrary order.
        made.rev().collect()
    }

    fn placed(states: &[(ExecutionState, bool)]) -> Vec<i64> {
        turns(&live(states)).iter().map(|record| record.created.0).collect()
    }

    #[test]
    fn serial_commands_take_turns_in_the_order_of_their_creation() {
        assert_eq!(placed(&[(Queued, true), (Queued, true)]), [0]);
        assert_eq!(placed(&[(Starting, true), (Queued, true)]), [] as [i64; 0]);
        assert_eq!(placed(&[(Running, true), (Queued, true)]), [] as [i64; 0]);
        assert_eq!(
            placed(&[(Queued, true), (Running, true)]),
            [] as [i64; 0],
            "the execution became visible too late"
        );
    }

    #[test]
    fn concurrent_ones_run_at_once_and_hold_up_nobody() {
        assert_eq!(placed(&[(Running, true), (Queued, false), (Queued, false)]), [1, 2]);
        assert_eq!(placed(&[(Running, false), (Queued, true)]), [1]);
    }

    #[test]
    fn who_waits_for_a_person_is_passed_by() {
        assert_eq!(placed(&[(PendingApproval, true), (Queued, true)]), [1]);
    }

    #[test]
    fn an_approved_one_joins_the_queue_when_it_is_approved() {
        let mut records = live(&[(Queued, true), (Queued, true)]);
        let first = records.iter_mut().find(|record| record.created == Micros(0)).expect("the first");
        first.approval_id = Some(airlock_domain::ApprovalId::new());
        first.queued = Micros(7);
        assert_eq!(turns(&records).iter().map(|record| record.created.0).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_refused_offer_keeps_its_place() {
        let mut records = live(&[(Queued, true), (Queued, true)]);
        let first = records.iter_mut().find(|record| record.created == Micros(0)).expect("the first");
        first.queued = Micros(7);
        first.attempt = 1;
        assert_eq!(turns(&records).iter().map(|record| record.created.0).collect::<Vec<_>>(), [0]);
        assert!(!turns(&records).iter().any(|record| record.state == Finished));
    }
}
