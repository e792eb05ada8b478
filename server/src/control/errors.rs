//! The errors that several services return.

use std::time::Duration;

use airlock_domain::{ExecutionId, ExecutionState, RunnerId, SessionId};
use airlock_store::record::ExecutionRecord;

use crate::api::{ApiError, FieldViolation};

pub(crate) fn no_such_execution(id: ExecutionId) -> ApiError {
    ApiError::NotFound { what: "execution", id: id.to_string() }
}

pub(crate) fn no_such_session(id: SessionId) -> ApiError {
    ApiError::NotFound { what: "session", id: id.to_string() }
}

/// Returns the error for an execution that has not started or has ended.
pub(crate) fn not_running(record: &ExecutionRecord) -> ApiError {
    let state = match record.state {
        ExecutionState::PendingApproval => "it waits for an approval",
        ExecutionState::Queued => "it waits in the queue",
        ExecutionState::Starting => "it is starting",
        ExecutionState::Running => "it is running",
        ExecutionState::Finished => "it has ended",
    };
    let how = record.result.as_ref().map(|result| format!(" ({})", result.cause.name()));
    ApiError::FailedPrecondition {
        reason: "NOT_RUNNING",
        message: format!("execution `{}` is not running: {state}{}", record.id, how.unwrap_or_default()),
    }
}

/// Returns the error for a runner that has no link now or does not answer.
pub(crate) fn runner_unreachable(runner: &RunnerId) -> ApiError {
    ApiError::Unavailable {
        reason: "RUNNER_UNREACHABLE",
        message: format!("runner `{runner}` is unreachable; try again"),
        retry_after: Duration::from_secs(1),
    }
}

/// Returns the error for a limit that is currently reached.
pub(crate) fn exhausted(limit: &'static str, value: u64) -> ApiError {
    ApiError::Exhausted { limit, value, retry_after: Duration::from_secs(1) }
}

/// Returns the error for a limit per second or per day.
pub(crate) fn exhausted_for(limit: &'static str, value: u64, wait_micros: i64) -> ApiError {
    ApiError::Exhausted { limit, value, retry_after: Duration::from_micros(wait_micros.unsigned_abs()) }
}

/// Returns a violation for one field.
pub(crate) fn violation(field: &str, description: String) -> FieldViolation {
    FieldViolation { field: field.to_owned(), description }
}
