//! The results that the server gives an execution, the states in which a runner has it, and the settlement of an execution
//! that the store assigns to a runner and the runner did not report.

use airlock_domain::{CancelledBy, Cause, DirectoryReport, Epoch, ExecutionResult, ExecutionState, Started};

use crate::record::ExecutionRecord;

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

/// The facts of a link that does not report an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// The epoch of the runner on the link.
    pub epoch: Epoch,
    /// Whether this is the epoch of the offer, or the latest epoch of the runner. A link of an earlier epoch does not
    /// know the offers to a later epoch.
    pub is_current: bool,
    /// Whether a probe has shown that the runner does not have the job. A report can still be on its way.
    pub is_surely_absent: bool,
    /// Whether the runner's journal is complete for the epoch of the offer.
    pub vouches: bool,
}

/// The next action for an unreported execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Nothing. Another link settles it.
    Leave,
    /// Ask the runner whether it has the job.
    Probe,
    /// It is lost with its runner.
    Lose,
    /// The offer did not arrive yet, or never will: it is sent again or withdrawn.
    SendAgain,
    /// It was never accepted, and the epoch of the offer has ended, so it can be offered again.
    TakeBack,
}

/// Returns the next action for an execution that its runner did not report.
#[must_use]
pub fn settle(record: &ExecutionRecord, absence: &Absence) -> Settlement {
    let is_of_this_epoch = record.runner_epoch == Some(absence.epoch);
    match record.state {
        _ if !(is_of_this_epoch || absence.is_current) => Settlement::Leave,
        ExecutionState::Running if absence.is_surely_absent => Settlement::Lose,
        ExecutionState::Running => Settlement::Probe,
        _ if is_of_this_epoch => Settlement::SendAgain,
        _ if !absence.vouches => Settlement::Lose,
        _ => Settlement::TakeBack,
    }
}
