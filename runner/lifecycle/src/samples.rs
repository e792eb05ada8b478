//! Samples for the tests of the machines.

use airlock_domain::{Cause, Epoch, ExecutionId, ExecutionResult, SessionId, Started};

/// Returns the execution with this number. Its ID sorts by the number.
pub(crate) fn id(number: u8) -> ExecutionId {
    format!("00000000-0000-7000-8000-0000000000{number:02x}").parse().unwrap()
}

/// Returns the epoch with this number.
pub(crate) fn epoch(number: u8) -> Epoch {
    Epoch::from_bytes([number; 16])
}

/// Returns the session of the samples.
pub(crate) fn session() -> SessionId {
    "00000000-0000-7000-8000-0000000000ff".parse().unwrap()
}

/// Returns the result of a refused offer.
pub(crate) fn refused() -> ExecutionResult {
    ExecutionResult::not_started(Cause::refused("floor", "too much".to_owned()))
}

/// Returns the result of a command that ran.
pub(crate) fn exited() -> ExecutionResult {
    ExecutionResult { started: Started::Yes, ..ExecutionResult::not_started(Cause::Exited { code: 7 }) }
}

/// Returns the result of a job that ended with its epoch.
pub(crate) fn lost() -> ExecutionResult {
    ExecutionResult { started: Started::Unknown, ..ExecutionResult::not_started(Cause::RunnerLost) }
}
