//! Tests of parsing statuses: all details, and which errors may be retried.

use tonic_types::ErrorDetails;

use super::*;

#[test]
fn reads_every_detail() {
    let mut details = ErrorDetails::new();
    details
        .set_error_info(
            "APPROVAL_REQUIRED",
            "airlock",
            HashMap::from([("execution_id".to_owned(), "e1".to_owned())]),
        )
        .set_retry_info(Some(Duration::from_secs(3)))
        .add_bad_request_violation("spec.timeout", "too long");
    let status = Status::with_error_details(Code::PermissionDenied, "no\nway", details);
    let error = ClientError::from_status("here", &status);
    let rejection = error.rejection().unwrap();
    assert_eq!(rejection.code, Code::PermissionDenied);
    assert_eq!(rejection.reason, "APPROVAL_REQUIRED");
    assert_eq!(rejection.message, "no way");
    assert_eq!(rejection.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(rejection.execution_id.as_deref(), Some("e1"));
    let violation = Violation { field: "spec.timeout".to_owned(), description: "too long".to_owned() };
    assert_eq!(rejection.violations, [violation]);
    assert!(!error.is_passing());
}

#[test]
fn only_what_may_pass_is_passing() {
    let mut details = ErrorDetails::new();
    details.set_error_info("SHUTTING_DOWN", "airlock", HashMap::new());
    let said = |code| Status::with_error_details(code, "x", details.clone());
    for (status, passing) in [
        (Status::unavailable("connection refused"), true),
        (Status::unknown("h2 protocol error"), true),
        (Status::internal("stream reset"), true),
        (Status::cancelled("timeout"), true),
        (Status::unauthenticated("who are you"), false),
        (Status::unimplemented("not airlock"), false),
        (said(Code::Unavailable), true),
        (said(Code::Internal), false),
        (said(Code::ResourceExhausted), false),
        (said(Code::NotFound), false),
    ] {
        let error = ClientError::from_status("here", &status);
        assert_eq!(error.is_passing(), passing, "{status:?}");
    }
}
