//! Requests about sessions.

use airlock_domain::{SessionId, limits};
use airlock_proto::v1;

use super::checker::Checker;
use crate::api::{ApiError, CreateSession};

/// Validates Create.
///
/// # Errors
/// Returns [`ApiError::Invalid`] with every invalid field.
pub fn create_session(request: v1::SessionServiceCreateRequest) -> Result<CreateSession, ApiError> {
    let mut checker = Checker::default();
    let session = CreateSession {
        request_id: checker.text("request_id", request.request_id, limits::REQUEST_ID_BYTES),
        profile: checker.name("profile", request.profile),
        mode: checker.mode("mode", request.mode),
        shell: checker.shell("shell", request.shell),
        base: checker.name("base", request.base),
        env: checker.env("env", request.env, request.env_bytes),
        labels: checker.labels("labels", request.labels),
        runner_labels: checker.labels("runner_labels", request.runner_labels),
        idle_timeout: checker.duration("idle_timeout", request.idle_timeout, limits::IDLE_TIMEOUT_MAX),
    };
    checker.finish(Some(session))
}

/// Validates the ID of a session as the only field of a request.
///
/// # Errors
/// Returns [`ApiError::Invalid`].
pub fn session_id(text: &str) -> Result<SessionId, ApiError> {
    let mut checker = Checker::default();
    let id = checker.id("session_id", text);
    checker.finish(id)
}
