//! The checks that a session is open.

use airlock_store::record::{SessionRecord, SessionState};

use crate::api::ApiError;

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
