//! The errors of the front, as E2B's SDKs expect them: an HTTP status for a call of the REST API, and a code for a call of
//! the Connect protocol. No error names a file, an address or a credential of the front's own host.

use airlock_client::{ClientError, Rejection};
use http::StatusCode;
use tonic::Code;

/// The text that the SDKs take as the end of a sandbox.
pub(crate) const GONE: &str = "The sandbox was not found";
/// The reasons of errors after which a session cannot be used again.
const ENDED: [&str; 3] = ["SESSION_CLOSED", "SESSION_LOST", "SESSION_NOT_OPEN"];
/// The characters of a message that reach the caller.
const MESSAGE: usize = 4096;

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Invalid,
    Unauthenticated,
    Denied,
    NotFound,
    Exists,
    /// The state of the sandbox or the process does not permit the call.
    State,
    TooLarge,
    TooMany,
    /// Airlock has no counterpart.
    Unsupported,
    Internal,
    /// The sandbox does not exist or no longer runs.
    Gone,
    Unavailable,
    Late,
}

impl Kind {
    /// Returns the HTTP status of a plain response.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Invalid => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Denied => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Exists | Self::State => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Unsupported => StatusCode::NOT_IMPLEMENTED,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Gone => StatusCode::BAD_GATEWAY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Late => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// Returns the code of the Connect protocol.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_argument",
            Self::Unauthenticated => "unauthenticated",
            Self::Denied => "permission_denied",
            Self::NotFound => "not_found",
            Self::Exists => "already_exists",
            Self::State => "failed_precondition",
            Self::TooLarge | Self::TooMany => "resource_exhausted",
            Self::Unsupported => "unimplemented",
            Self::Internal => "internal",
            Self::Gone | Self::Unavailable => "unavailable",
            Self::Late => "deadline_exceeded",
        }
    }
}

/// An error for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    /// One line or more, for people and models.
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if let Some((end, _)) = message.char_indices().nth(MESSAGE) {
            message.truncate(end);
        }
        Self { kind, message }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// Returns the error for a feature that Airlock does not have.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(Kind::Unsupported, format!("Airlock has no counterpart for {what}"))
    }

    /// Returns the error for a sandbox that does not exist, or no longer.
    pub(crate) fn gone() -> Self {
        Self::new(Kind::Gone, GONE)
    }

    /// Reports whether the sandbox cannot be used again.
    pub(crate) fn is_gone(&self) -> bool {
        self.kind == Kind::Gone
    }
}

impl From<&ClientError> for Refusal {
    fn from(error: &ClientError) -> Self {
        match (error.rejection(), error) {
            (Some(rejection), _) => of_rejection(rejection),
            (None, ClientError::Denied(denial)) => Self::new(Kind::Denied, denial.text()),
            (None, ClientError::Deadline { message, .. }) => Self::new(Kind::Late, message.as_str()),
            (
                None,
                ClientError::Transport { .. } | ClientError::ViewLost { .. } | ClientError::Untrusted { .. },
            ) => Self::new(Kind::Unavailable, "Airlock's server cannot be reached; try again in a moment"),
            (None, ClientError::StartUnknown { .. }) => Self::new(
                Kind::Unavailable,
                "no answer to the start, so it is not known whether the command runs",
            ),
            (None, ClientError::Local(message) | ClientError::Archive { message, .. }) => {
                Self::internal(message.as_str())
            }
            _ => Self::internal("the answer of Airlock's server could not be used"),
        }
    }
}

impl From<ClientError> for Refusal {
    fn from(error: ClientError) -> Self {
        Self::from(&error)
    }
}

fn of_rejection(rejection: &Rejection) -> Refusal {
    let is_session = rejection.metadata.get("what").is_some_and(|what| what == "session");
    let has_ended = ENDED.contains(&rejection.reason.as_str());
    let kind = match rejection.code {
        Code::NotFound if is_session => return Refusal::gone(),
        Code::FailedPrecondition if has_ended => return Refusal::gone(),
        Code::Unauthenticated => {
            return Refusal::internal("Airlock's server does not accept the credentials of this API key");
        }
        Code::InvalidArgument | Code::OutOfRange => Kind::Invalid,
        Code::NotFound => Kind::NotFound,
        Code::AlreadyExists => Kind::Exists,
        Code::PermissionDenied => Kind::Denied,
        Code::ResourceExhausted => Kind::TooMany,
        Code::FailedPrecondition | Code::Aborted => Kind::State,
        Code::Unimplemented => Kind::Unsupported,
        Code::Unavailable => Kind::Unavailable,
        Code::DeadlineExceeded => Kind::Late,
        _ => Kind::Internal,
    };
    let fields: Vec<String> = rejection
        .violations
        .iter()
        .map(|violation| format!("{}: {}", violation.field, violation.description))
        .collect();
    match fields.is_empty() {
        true => Refusal::new(kind, rejection.message.as_str()),
        false => Refusal::new(kind, fields.join("; ")),
    }
}
