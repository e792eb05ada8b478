//! The results that the server gives an execution, and the states in which a runner has it.

use airlock_domain::{CancelledBy, Cause, DirectoryReport, ExecutionResult, ExecutionState, Started};

/// The states of an execution that is on a runner.
pub const PLACED: [ExecutionState; 2] = [ExecutionState::Starting, ExecutionState::Running];

/// Reports whether an execution in this state is on a runner.
#[must_use]
pub fn is_placed(state: ExecutionState) -> bool {
    PLACED.contains(&state)
}

/// Returns the result of an execution that was lost with its runner.
#[must_use]
pub fn lost_result(started: Started) -> ExecutionResult {
    ExecutionResult {
        started,
        directory_report: DirectoryReport::Unchanged,
        ..ExecutionResult::not_started(Cause::RunnerLost)
    }
}

/// Returns the result of an execution that was cancelled before it was on a runner.
pub(crate) fn cancelled(by: CancelledBy) -> ExecutionResult {
    ExecutionResult::not_started(Cause::Cancelled(by))
}

/// Returns whether a command that is no longer on its runner began.
pub(crate) fn began(state: ExecutionState) -> Started {
    if state == ExecutionState::Running { Started::Yes } else { Started::Unknown }
}
