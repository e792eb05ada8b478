//! Tests that every refusal has its code, its reason, and the information for a retry.

use std::time::Duration;

use airlock_control::{
    api::{ApiError, FieldViolation},
    exchange::{ClientFault, ExchangeRefusal},
    links::{LinkError, LinkRefusal},
};
use airlock_domain::{ExchangeFailure, OutputStream, limits};
use airlock_store::{record::ExecutionRecord, testing::execution};
use tonic::Code;
use tonic_types::StatusExt as _;

use super::{
    AuthenticationError, MESSAGE_BYTES, adopt, from_api, from_api_about, link_ended, link_message,
    link_refused, unauthenticated,
};

fn violation(field: &str, description: &str) -> FieldViolation {
    FieldViolation { field: field.to_owned(), description: description.to_owned() }
}

#[test]
fn every_api_error_has_its_code_and_reason() {
    let second = Duration::from_secs(1);
    let denied = |approval_required| ApiError::Denied { execution: Box::new(execution()), approval_required };
    let table = [
        (
            ApiError::Invalid(vec![violation("spec.timeout", "too long")]),
            Code::InvalidArgument,
            "INVALID_REQUEST",
        ),
        (ApiError::NotFound { what: "session", id: "x".into() }, Code::NotFound, "NOT_FOUND"),
        (ApiError::AlreadyExists { request_id: "x".into() }, Code::AlreadyExists, "REQUEST_ID_REUSED"),
        (denied(false), Code::PermissionDenied, "DENIED"),
        (denied(true), Code::PermissionDenied, "APPROVAL_REQUIRED"),
        (ApiError::Forbidden { message: "no".into() }, Code::PermissionDenied, "FORBIDDEN"),
        (
            ApiError::FailedPrecondition { reason: "SESSION_CLOSED", message: "no".into() },
            Code::FailedPrecondition,
            "SESSION_CLOSED",
        ),
        (
            ApiError::Exhausted { limit: "queue", value: 3, retry_after: second },
            Code::ResourceExhausted,
            "LIMIT_REACHED",
        ),
        (
            ApiError::Unavailable { reason: "NO_RUNNER", message: "no".into(), retry_after: second },
            Code::Unavailable,
            "NO_RUNNER",
        ),
        (
            ApiError::OutOfRange { stream: OutputStream::Stdout, asked: 9, end: 3 },
            Code::OutOfRange,
            "OFFSET_PAST_END",
        ),
        (ApiError::Internal("the disk is on fire".into()), Code::Internal, "INTERNAL"),
    ];
    for (error, code, reason) in table {
        let status = from_api(&error);
        let info = status.get_details_error_info().unwrap();
        assert_eq!((status.code(), info.reason.as_str(), info.domain.as_str()), (code, reason, "airlock"));
        let retry = matches!(code, Code::ResourceExhausted | Code::Unavailable);
        assert_eq!(status.get_details_retry_info().is_some(), retry, "{reason}");
        assert!(!status.message().contains("fire"), "{}", status.message());
        assert!(!status.message().contains('\n'), "{}", status.message());
    }
}

#[test]
fn a_denial_names_its_execution_and_reason() {
    let record = execution();
    let error = ApiError::Denied { execution: Box::new(record.clone()), approval_required: false };
    let info = from_api(&error).get_details_error_info().unwrap();
    assert_eq!(info.metadata["execution_id"], record.id.to_string());
    assert_eq!(info.metadata["reason_code"], record.decision.reason_code);
}

#[test]
fn a_denial_says_why_and_where_in_its_message() {
    let mut record = execution();
    let said = |record: &ExecutionRecord, approval_required| {
        let error = ApiError::Denied { execution: Box::new(record.clone()), approval_required };
        from_api(&error).message().to_owned()
    };
    assert_eq!(
        said(&record, false),
        "the command was not allowed, deny_rule (bytes 0 to 8): a rule denies it"
    );
    assert_eq!(
        said(&record, true),
        "the command needs a person's approval, deny_rule (bytes 0 to 8): a rule denies it"
    );
    // A message is one line, and a long message is cut after the span.
    record.decision.reason_message = "a\n\u{1b}[2J".repeat(1000);
    let long = said(&record, false);
    assert!(long.starts_with("the command was not allowed, deny_rule (bytes 0 to 8): a\\n"), "{long}");
    assert!(long.len() <= MESSAGE_BYTES && !long.chars().any(char::is_control), "{long}");
}

#[test]
fn a_view_that_cannot_be_had_names_what_was_started() {
    let record = execution();
    let error = ApiError::Exhausted { limit: "readers", value: 1, retry_after: Duration::from_secs(1) };
    let info = from_api_about(&error, record.id).get_details_error_info().unwrap();
    assert_eq!(info.metadata["execution_id"], record.id.to_string());
    assert_eq!(info.metadata["limit"], "readers");
}

#[test]
fn all_violations_are_there_while_they_fit() {
    let some: Vec<_> = (0..20).map(|n| violation(&format!("field_{n}"), "is wrong")).collect();
    let bad = from_api(&ApiError::Invalid(some)).get_details_bad_request().unwrap();
    assert_eq!(bad.field_violations.len(), 20);

    let many: Vec<_> = (0..5000).map(|n| violation(&format!("field_{n}"), &"é".repeat(500))).collect();
    let status = from_api(&ApiError::Invalid(many));
    assert!(status.details().len() <= limits::ERROR_DETAIL_BYTES, "{}", status.details().len());
    let last = status.get_details_bad_request().unwrap().field_violations.pop().unwrap();
    assert!(last.description.contains("more"), "{last:?}");

    let tiny: Vec<_> = (0..5000).map(|_| violation("", "")).collect();
    let status = from_api(&ApiError::Invalid(tiny));
    assert!(status.details().len() <= limits::ERROR_DETAIL_BYTES, "{}", status.details().len());
}

#[test]
fn the_message_names_every_field_that_is_not_valid() {
    let message = |fields: &[&str]| {
        let violations = fields.iter().map(|field| violation(field, "is not allowed")).collect();
        from_api(&ApiError::Invalid(violations)).message().to_owned()
    };
    assert_eq!(message(&["env[IFS]"]), "`env[IFS]`: is not allowed");
    let three = message(&["env[IFS]", "env[SHELL]", "cwd"]);
    assert_eq!(three, "`env[IFS]`: is not allowed; also invalid: `env[SHELL]`, `cwd`");
    let ten = message(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    assert!(ten.ends_with("`h`, `i` and 1 more"), "{ten}");
}

#[test]
fn long_texts_are_cut_to_the_bound() {
    let id = "€".repeat(10_000);
    let status = from_api(&ApiError::NotFound { what: "profile", id });
    assert!(status.message().len() <= 1024);
    assert!(status.details().len() <= limits::ERROR_DETAIL_BYTES);
}

#[test]
fn authentication_errors_say_which() {
    let status = unauthenticated(AuthenticationError::UnknownToken);
    assert_eq!(status.code(), Code::Unauthenticated);
    assert_eq!(status.get_details_error_info().unwrap().reason, "TOKEN_UNKNOWN");
    let status = unauthenticated(AuthenticationError::TooManyFailures);
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_details_retry_info().is_some());
}

#[test]
fn a_link_of_another_version_is_told_both_versions() {
    let status = link_refused(&LinkRefusal::Version { theirs: 7, ours: 2 });
    let info = status.get_details_error_info().unwrap();
    assert_eq!((status.code(), info.reason.as_str()), (Code::FailedPrecondition, "PROTOCOL_VERSION"));
    assert_eq!((info.metadata["supported"].as_str(), info.metadata["yours"].as_str()), ("2", "7"));
}

#[test]
fn links_end_with_a_reason() {
    let table = [
        (link_refused(&LinkRefusal::Fenced), Code::FailedPrecondition, "EPOCH_FENCED"),
        (link_refused(&LinkRefusal::TooMany { limit: 1 }), Code::ResourceExhausted, "LIMIT_REACHED"),
        (link_ended(&LinkError::Protocol("no hello")), Code::InvalidArgument, "PROTOCOL_BROKEN"),
        (link_ended(&LinkError::Ended("replaced")), Code::Unavailable, "LINK_ENDED"),
        (link_ended(&LinkError::NotKept("busy".into())), Code::Unavailable, "NOT_KEPT"),
        (link_message("job.epoch", "is missing"), Code::InvalidArgument, "MALFORMED_MESSAGE"),
    ];
    for (status, code, reason) in table {
        assert_eq!((status.code(), status.get_details_error_info().unwrap().reason.as_str()), (code, reason));
        let retry = matches!(code, Code::ResourceExhausted | Code::Unavailable);
        assert_eq!(status.get_details_retry_info().is_some(), retry, "{reason}");
    }
}

#[test]
fn what_tonic_refuses_gets_details_too() {
    for (code, becomes, reason) in [
        (Code::Internal, Code::InvalidArgument, "MALFORMED_MESSAGE"),
        (Code::OutOfRange, Code::InvalidArgument, "MESSAGE_TOO_LARGE"),
        (Code::Unimplemented, Code::Unimplemented, "UNIMPLEMENTED"),
        (Code::ResourceExhausted, Code::ResourceExhausted, "OVERLOADED"),
        (Code::Cancelled, Code::Cancelled, "TRANSPORT"),
    ] {
        let status = adopt(code, "why");
        assert_eq!(status.code(), becomes);
        assert_eq!(status.get_details_error_info().unwrap().reason, reason);
    }
}

fn refusal(failure: ExchangeFailure, accepted: Option<u64>) -> ApiError {
    let (reason, message) = ("A_REASON".to_owned(), "the field and the reason".to_owned());
    ApiError::Exchange(ExchangeRefusal { failure, reason, message, accepted })
}

#[test]
fn refusals_in_exchanges_have_their_code_and_what_is_needed_to_go_on() {
    let exhausted = |limit: &str| ExchangeFailure::Exhausted { limit: limit.to_owned(), value: 8 };
    let table = [
        (ExchangeFailure::NotFound, Code::NotFound, None, false),
        (ExchangeFailure::Invalid, Code::InvalidArgument, None, false),
        (ExchangeFailure::OutOfRange { end: 7 }, Code::OutOfRange, Some(("end", "7")), false),
        (ExchangeFailure::FailedPrecondition, Code::FailedPrecondition, None, false),
        (exhausted("transfers.at_once"), Code::ResourceExhausted, Some(("limit", "transfers.at_once")), true),
        // A retry would send the same amount of data.
        (exhausted("transfers.bytes"), Code::ResourceExhausted, Some(("value", "8")), false),
        (ExchangeFailure::Unavailable, Code::Unavailable, None, true),
    ];
    for (failure, code, metadata, retry) in table {
        let status = from_api(&refusal(failure, None));
        let info = status.get_details_error_info().unwrap();
        assert_eq!(
            (status.code(), info.reason.as_str(), status.message()),
            (code, "A_REASON", "the field and the reason")
        );
        if let Some((key, value)) = metadata {
            assert_eq!(info.metadata[key], value);
        }
        assert_eq!(status.get_details_retry_info().is_some(), retry, "{code:?}");
    }
    let status = from_api(&refusal(ExchangeFailure::FailedPrecondition, Some(5)));
    assert_eq!(status.get_details_error_info().unwrap().metadata["accepted"], "5");
}

#[test]
fn what_a_client_streams_wrongly_is_its_own_fault() {
    let of = |fault| from_api(&ApiError::ClientStream(fault));
    let table = [
        (of(ClientFault::Unreadable("x".into())), Code::InvalidArgument, "MALFORMED_MESSAGE"),
        (of(ClientFault::TooLarge("x".into())), Code::InvalidArgument, "MESSAGE_TOO_LARGE"),
        (of(ClientFault::Gone), Code::Cancelled, "TRANSPORT"),
    ];
    for (status, code, reason) in table {
        assert_eq!((status.code(), status.get_details_error_info().unwrap().reason.as_str()), (code, reason));
    }
}
