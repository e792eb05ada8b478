//! The creation of every gRPC status of the server.
//!
//! Every status contains `google.rpc.ErrorInfo`. All details together fit into the contract's limit, because
//! they travel in trailers. Details of an internal error are written only to the operator's log, under an
//! incident ID that the client also receives.

use std::{collections::HashMap, time::Duration};

use airlock_control::{
    api::{ApiError, FieldViolation},
    exchange::{ClientFault, ExchangeRefusal},
    links::{LinkError, LinkRefusal},
};
use airlock_domain::{ExchangeFailure, ExecutionId, limits};
use airlock_output::tickets::TicketRefused;
use airlock_proto::{LINK_PROTOCOL_OLDEST, LINK_PROTOCOL_VERSION};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};
use uuid::Uuid;

/// The domain of every reason.
pub const DOMAIN: &str = "airlock";
/// The maximum length of a status message in bytes.
const MESSAGE_BYTES: usize = 1024;
/// The maximum length of a field's path or description in a status, in bytes.
const VIOLATION_BYTES: usize = 256;
/// The maximum number of further fields that a message names.
const NAMED_FIELDS: usize = 8;
/// The maximum length of a value in the metadata of a status, in bytes.
const VALUE_BYTES: usize = 256;
/// The number of bytes that are reserved for the other details and their frames.
const ROOM_BYTES: usize = 512;
/// The time after which to retry after too many failed authentications.
const AUTHENTICATION_RETRY: Duration = Duration::from_secs(10);

/// The time after which a runner may retry.
const LINK_RETRY: Duration = Duration::from_secs(1);

/// The reason why a request was refused before it had a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// Neither a certificate nor a token was sent.
    #[error("no credentials: send a client certificate, or `authorization: Bearer TOKEN`")]
    Missing,
    /// The `authorization` header is not a bearer token.
    #[error("the `authorization` header is not `Bearer TOKEN`")]
    Malformed,
    /// No identity has this token.
    #[error("the token is unknown")]
    UnknownToken,
    /// No identity matches the verified certificate.
    #[error("no identity is configured for the client certificate")]
    UnknownCertificate,
    /// Several identities match the certificate.
    #[error("the client certificate matches several identities")]
    AmbiguousCertificate,
    /// This address has too many failed authentications.
    #[error("too many failed authentications from this address")]
    TooManyFailures,
}

impl AuthenticationError {
    /// Returns the stable name.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Missing => "CREDENTIALS_MISSING",
            Self::Malformed => "CREDENTIALS_MALFORMED",
            Self::UnknownToken => "TOKEN_UNKNOWN",
            Self::UnknownCertificate => "CERTIFICATE_UNKNOWN",
            Self::AmbiguousCertificate => "CERTIFICATE_AMBIGUOUS",
            Self::TooManyFailures => "AUTHENTICATION_RATE_LIMITED",
        }
    }
}

/// Returns the status of a request without a principal.
#[must_use]
pub fn unauthenticated(error: AuthenticationError) -> Status {
    let mut details = info(error.reason(), []);
    if error == AuthenticationError::TooManyFailures {
        details.set_retry_info(Some(AUTHENTICATION_RETRY));
        return status(Code::ResourceExhausted, &error.to_string(), details);
    }
    status(Code::Unauthenticated, &error.to_string(), details)
}

/// Returns the status of a request that a service or the edge refused.
#[must_use]
pub fn from_api(error: &ApiError) -> Status {
    refused(error, None)
}

/// Like [`from_api`], for a request that nevertheless created an execution. The status contains its ID, so that
/// the client can continue with it.
#[must_use]
pub fn from_api_about(error: &ApiError, execution: ExecutionId) -> Status {
    refused(error, Some(execution))
}

fn refused(error: &ApiError, execution: Option<ExecutionId>) -> Status {
    let (code, reason, metadata, retry) = match error {
        ApiError::Invalid(violations) => return invalid(violations),
        ApiError::Internal(detail) => return internal(detail),
        ApiError::ClientStream(fault) => return client_stream(fault),
        ApiError::Exchange(refusal) => exchange_parts(refusal),
        ApiError::NotFound { what, .. } => {
            (Code::NotFound, "NOT_FOUND", vec![("what", (*what).to_owned())], None)
        }
        ApiError::AlreadyExists { .. } => (Code::AlreadyExists, "REQUEST_ID_REUSED", vec![], None),
        ApiError::Denied { execution, approval_required } => {
            let metadata = vec![
                ("execution_id", execution.id.to_string()),
                ("reason_code", execution.decision.reason_code.clone()),
            ];
            let reason = if *approval_required { "APPROVAL_REQUIRED" } else { "DENIED" };
            (Code::PermissionDenied, reason, metadata, None)
        }
        ApiError::Forbidden { .. } => (Code::PermissionDenied, "FORBIDDEN", vec![], None),
        ApiError::FailedPrecondition { reason, .. } => (Code::FailedPrecondition, *reason, vec![], None),
        ApiError::Exhausted { limit, value, retry_after } => {
            let metadata = vec![("limit", (*limit).to_owned()), ("value", value.to_string())];
            (Code::ResourceExhausted, "LIMIT_REACHED", metadata, Some(*retry_after))
        }
        ApiError::Unavailable { reason, retry_after, .. } => {
            (Code::Unavailable, *reason, vec![], Some(*retry_after))
        }
        ApiError::CursorOutOfRange { .. } => (Code::OutOfRange, "CURSOR_OUT_OF_RANGE", vec![], None),
        ApiError::OutOfRange { end, .. } => {
            (Code::OutOfRange, "OFFSET_PAST_END", vec![("end", end.to_string())], None)
        }
    };
    let about = execution.map(|id| ("execution_id", id.to_string()));
    let mut details = info(reason, metadata.into_iter().chain(about));
    if retry.is_some() {
        details.set_retry_info(retry);
    }
    status(code, &error.to_string(), details)
}

/// Returns the status for a runner that is refused.
#[must_use]
pub fn link_refused(refusal: &LinkRefusal) -> Status {
    let (code, reason) = match refusal {
        LinkRefusal::Version { theirs, .. } => return protocol_version(*theirs),
        LinkRefusal::Fenced => (Code::FailedPrecondition, "EPOCH_FENCED"),
        LinkRefusal::TooMany { .. } => (Code::ResourceExhausted, "LIMIT_REACHED"),
        LinkRefusal::Unavailable { .. } => (Code::Unavailable, "STARTING_OR_STOPPING"),
    };
    let mut details = info(reason, []);
    if code != Code::FailedPrecondition {
        details.set_retry_info(Some(LINK_RETRY));
    }
    status(code, &refusal.to_string(), details)
}

/// Returns the status that ends a link.
#[must_use]
pub fn link_ended(error: &LinkError) -> Status {
    let (code, reason) = match error {
        LinkError::Protocol(_) => (Code::InvalidArgument, "PROTOCOL_BROKEN"),
        LinkError::Ended(_) => (Code::Unavailable, "LINK_ENDED"),
        LinkError::NotKept(_) => (Code::Unavailable, "NOT_KEPT"),
    };
    let mut details = info(reason, []);
    if code == Code::Unavailable {
        details.set_retry_info(Some(LINK_RETRY));
    }
    status(code, &error.to_string(), details)
}

/// Returns the status for a runner's stream without a valid ticket.
#[must_use]
pub fn ticket_refused(refusal: &TicketRefused) -> Status {
    let (code, reason) = match refusal {
        TicketRefused::UnknownTicket => (Code::FailedPrecondition, "TICKET_UNKNOWN"),
        TicketRefused::OtherRunner | TicketRefused::OtherSubject => {
            (Code::PermissionDenied, "TICKET_OF_ANOTHER")
        }
    };
    status(code, &refusal.to_string(), info(reason, []))
}

/// Returns the status for an invalid or unexpected message of a link.
#[must_use]
pub fn link_message(field: &str, problem: &str) -> Status {
    let mut details = info("MALFORMED_MESSAGE", []);
    details.add_bad_request_violation(cut(field, VIOLATION_BYTES), cut(problem, VIOLATION_BYTES));
    status(Code::InvalidArgument, &format!("`{field}`: {problem}"), details)
}

/// Converts a status that tonic created, so that it has details. A message that cannot be decoded or is too
/// large becomes an error of the sender.
#[must_use]
pub fn adopt(code: Code, message: &str) -> Status {
    match code {
        Code::Internal => status(
            Code::InvalidArgument,
            &format!("the message cannot be decoded: {message}"),
            info("MALFORMED_MESSAGE", []),
        ),
        Code::OutOfRange => status(
            Code::InvalidArgument,
            &format!("the message is too large: {message}"),
            info("MESSAGE_TOO_LARGE", []),
        ),
        Code::Unimplemented => status(
            Code::Unimplemented,
            "the service has no such method, or does not support this form of it",
            info("UNIMPLEMENTED", []),
        ),
        Code::ResourceExhausted | Code::Unavailable => {
            let mut details = info("OVERLOADED", []);
            details.set_retry_info(Some(Duration::from_secs(1)));
            status(code, message, details)
        }
        other => status(other, message, info("TRANSPORT", [])),
    }
}

fn protocol_version(yours: u32) -> Status {
    let supported = if LINK_PROTOCOL_OLDEST == LINK_PROTOCOL_VERSION {
        LINK_PROTOCOL_VERSION.to_string()
    } else {
        format!("{LINK_PROTOCOL_OLDEST}-{LINK_PROTOCOL_VERSION}")
    };
    let message =
        format!("the runner uses version {yours} of the link protocol; the server supports {supported}");
    let metadata = [("supported", supported), ("yours", yours.to_string())];
    status(Code::FailedPrecondition, &message, info("PROTOCOL_VERSION", metadata))
}

fn invalid(violations: &[FieldViolation]) -> Status {
    let mut details = info("INVALID_REQUEST", []);
    let message = named(violations);
    let message = cut(&message, MESSAGE_BYTES);
    // The details repeat the message.
    let mut room = limits::ERROR_DETAIL_BYTES - ROOM_BYTES - message.len();
    for (index, violation) in violations.iter().enumerate() {
        let field = cut(&violation.field, VIOLATION_BYTES);
        let description = cut(&violation.description, VIOLATION_BYTES);
        // Each violation has a frame, and so has each of its two texts. Each length takes at most two bytes.
        let Some(left) = room.checked_sub(field.len() + description.len() + 9) else {
            let rest = violations.len() - index;
            details.add_bad_request_violation("", format!("and {rest} more that do not fit here"));
            break;
        };
        room = left;
        details.add_bad_request_violation(field, description);
    }
    status(Code::InvalidArgument, message, details)
}

/// Returns a message with the first violation and the names of the other fields. Many clients show only the
/// message.
fn named(violations: &[FieldViolation]) -> String {
    let [first, others @ ..] = violations else { return "the request is invalid".to_owned() };
    let mut message = format!("`{}`: {}", first.field, first.description);
    if !others.is_empty() {
        let names: Vec<String> =
            others.iter().take(NAMED_FIELDS).map(|other| format!("`{}`", other.field)).collect();
        message += &format!("; also invalid: {}", names.join(", "));
    }
    match others.len().checked_sub(NAMED_FIELDS) {
        None | Some(0) => message,
        Some(more) => format!("{message} and {more} more"),
    }
}

/// Converts a fault of the client's stream, as [`adopt`] does.
fn client_stream(fault: &ClientFault) -> Status {
    match fault {
        ClientFault::Unreadable(message) => adopt(Code::Internal, message),
        ClientFault::TooLarge(message) => adopt(Code::OutOfRange, message),
        ClientFault::Gone => adopt(Code::Cancelled, &fault.to_string()),
    }
}

fn internal(detail: &str) -> Status {
    let incident = Uuid::new_v4().simple().to_string();
    tracing::error!(%incident, detail, "internal error");
    let message = format!("internal error; the server's log has the cause under incident {incident}");
    status(Code::Internal, &message, info("INTERNAL", [("incident", incident)]))
}

fn info<'a>(reason: &str, metadata: impl IntoIterator<Item = (&'a str, String)>) -> ErrorDetails {
    let metadata: HashMap<String, String> = metadata
        .into_iter()
        .map(|(key, value)| (key.to_owned(), cut(&value, VALUE_BYTES).to_owned()))
        .collect();
    ErrorDetails::with_error_info(reason, DOMAIN, metadata)
}

fn status(code: Code, message: &str, details: ErrorDetails) -> Status {
    Status::with_error_details(code, cut(message, MESSAGE_BYTES), details)
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// The time after which to retry if a runner is temporarily unable.
const EXCHANGE_RETRY: Duration = Duration::from_secs(1);
/// Limits of a runner that concern the data itself, so that a retry does not help.
const FIXED_LIMITS: [&str; 3] = ["transfers.bytes", "transfers.unpacked_bytes", "transfers.entries"];

/// Code, reason, metadata, and the time after which to retry.
type ExchangeStatus<'a> = (Code, &'a str, Vec<(&'static str, String)>, Option<Duration>);

fn exchange_parts(refusal: &ExchangeRefusal) -> ExchangeStatus<'_> {
    let (code, mut metadata, retry) = match &refusal.failure {
        ExchangeFailure::NotFound => (Code::NotFound, vec![], None),
        ExchangeFailure::Invalid => (Code::InvalidArgument, vec![], None),
        ExchangeFailure::OutOfRange { end } => (Code::OutOfRange, vec![("end", end.to_string())], None),
        ExchangeFailure::FailedPrecondition => (Code::FailedPrecondition, vec![], None),
        ExchangeFailure::Exhausted { limit, value } => {
            let metadata = vec![("limit", limit.clone()), ("value", value.to_string())];
            let retry = (!FIXED_LIMITS.contains(&limit.as_str())).then_some(EXCHANGE_RETRY);
            (Code::ResourceExhausted, metadata, retry)
        }
        ExchangeFailure::Unavailable => (Code::Unavailable, vec![], Some(EXCHANGE_RETRY)),
        ExchangeFailure::Internal => (Code::Internal, vec![], None),
    };
    metadata.extend(refusal.accepted.map(|accepted| ("accepted", accepted.to_string())));
    (code, &refusal.reason, metadata, retry)
}

#[cfg(test)]
mod tests;
