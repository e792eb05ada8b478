//! The errors that several services return, and the checks that a session is open.

use std::time::Duration;

use airlock_domain::{ExecutionId, ExecutionState, RunnerId, SessionId};
use airlock_store::record::{ExecutionRecord, SessionRecord, SessionState};

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
#[must_use]
pub fn runner_unreachable(runner: &RunnerId) -> ApiError {
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

/// Rejects a session that is not open.
pub(crate) fn check_open(session: &SessionRecord) -> Result<(), ApiError> {
    if session.state == SessionState::Opening {
        return Err(ApiError::FailedPrecondition {
            reason: "SESSION_NOT_OPEN",
            message: format!(
                "session `{}` is not open: it is being created; try again in a moment",
                session.id
            ),
        });
    }
    check_not_over(session)
}

/// Rejects a session that has ended.
pub(crate) fn check_not_over(session: &SessionRecord) -> Result<(), ApiError> {
    let (reason, cure) = match session.state {
        SessionState::Open | SessionState::Opening => return Ok(()),
        SessionState::Closing | SessionState::Closed => ("SESSION_CLOSED", "create another session"),
        SessionState::Lost => ("SESSION_LOST", "its files are lost; create another session"),
    };
    Err(ApiError::FailedPrecondition {
        reason,
        message: format!("session `{}` is not open: {}; {cure}", session.id, state_words(session)),
    })
}

fn state_words(session: &SessionRecord) -> String {
    let state = match session.state {
        SessionState::Opening => "it is being created",
        SessionState::Open => "it is open",
        SessionState::Closing => "it is being closed",
        SessionState::Closed => "it was closed",
        SessionState::Lost => "it was lost",
    };
    if session.state_message.is_empty() {
        state.to_owned()
    } else {
        format!("{state} ({})", session.state_message)
    }
}
