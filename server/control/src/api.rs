//! The interface between the gRPC edge and the services: domain requests, events and errors.
//!
//! This module must not use generated protobuf types or `tonic::Status`. The edge converts both ways.

use std::time::Duration;

use airlock_domain::{Mode, OutputStream, SessionId, Shell};

pub use airlock_domain::{CreateSession, StartExecution};
use airlock_output::stream::{ShelfError, StreamError};
use airlock_store::{
    NetworkChange, StoreError,
    record::{ExecutionRecord, Milestone},
};

use crate::exchange::{ClientFault, ExchangeRefusal};

/// A change to a session. A field that is `None` stays unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpdateSession {
    /// The loosest mode of commands that are decided from now on.
    pub mode: Option<Mode>,
    /// Never zero.
    pub idle_timeout: Option<Duration>,
    /// The rules that narrow the profile's network, for running and later commands.
    pub network: Option<NetworkChange>,
}

/// The subject of a watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchExecutions {
    /// `None`: all executions of the tenant.
    pub session_id: Option<SessionId>,
    /// The cursor of an earlier event. `None`: from now on.
    pub cursor: Option<Vec<u8>>,
}

/// An event of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchEvent {
    /// The position of the watch after this event.
    pub cursor: Vec<u8>,
    /// The milestone, and the execution in its current state. `None` in the first event.
    pub what: Option<(Milestone, Box<ExecutionRecord>)>,
}

/// A request for a decision without an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckCommand {
    /// The command as bytes for the shell.
    pub command: Vec<u8>,
    /// `None`: the shell of the session or profile.
    pub shell: Option<Shell>,
    /// The session that supplies profile, mode and directory.
    pub session_id: Option<SessionId>,
    /// The profile to decide with.
    pub profile: Option<String>,
    /// A directory inside the sandbox.
    pub directory: Option<Vec<u8>>,
    /// `None`: the mode of the session or profile.
    pub mode: Option<Mode>,
}

/// An invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// The path of the field in the request, such as `spec.timeout`.
    pub field: String,
    /// The problem and the expected value.
    pub description: String,
}

/// The reason why a request failed. Only `status.rs` maps it to a gRPC status.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// All invalid fields.
    #[error("the request has {} invalid fields", .0.len())]
    Invalid(Vec<FieldViolation>),
    /// The object does not exist or belongs to another tenant.
    #[error("no such {what}: `{id}`")]
    NotFound {
        /// `session`, `execution`, `approval`, `profile`.
        what: &'static str,
        /// The ID from the request.
        id: String,
    },
    /// The key was used for a different request.
    #[error("request_id `{request_id}` was used for another request")]
    AlreadyExists {
        /// The key from the request.
        request_id: String,
    },
    /// Policy denied the command, or asked for a person and the request did not wait for one. The execution exists and
    /// is `FINISHED`.
    #[error(
        "{}, {}",
        if *approval_required { "the command needs a person's approval" } else { "the command was not allowed" },
        execution.decision.explanation(),
    )]
    Denied {
        /// The finished execution.
        execution: Box<ExecutionRecord>,
        /// Policy asked for a person, and the request did not wait for one.
        approval_required: bool,
    },
    /// The principal lacks the permission.
    #[error("{message}")]
    Forbidden {
        /// The role or rule that is missing.
        message: String,
    },
    /// The operation is not possible in the current state.
    #[error("{message}")]
    FailedPrecondition {
        /// A stable name in upper case.
        reason: &'static str,
        /// The operation and the reason.
        message: String,
    },
    /// A named limit is reached.
    #[error("limit `{limit}` of {value} is reached")]
    Exhausted {
        /// The name of the limit in the configuration.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// The time after which to retry.
        retry_after: Duration,
    },
    /// The operation is temporarily not possible: no runner is connected, the server shuts down, or the store
    /// is unavailable.
    #[error("{message}")]
    Unavailable {
        /// A stable name in upper case.
        reason: &'static str,
        /// The operation and the reason.
        message: String,
        /// The time after which to retry.
        retry_after: Duration,
    },
    /// The offset is past the end of a finished output.
    #[error("offset {asked} is past the end of {}, which has {end} bytes", stream_name(*stream))]
    OutOfRange {
        /// The stream.
        stream: OutputStream,
        /// The offset from the request.
        asked: u64,
        /// The length of the stream.
        end: u64,
    },
    /// An operation on files or input was refused by the runner, or because of the data that the client sent.
    #[error(transparent)]
    Exchange(ExchangeRefusal),
    /// The data that a client streams is invalid.
    #[error(transparent)]
    ClientStream(ClientFault),
    /// A watch cannot continue after its cursor.
    #[error("{message}")]
    CursorOutOfRange {
        /// The reason and the remedy.
        message: &'static str,
    },
    /// An internal error. It is logged in full and returned without detail.
    #[error("internal error")]
    Internal(String),
}

impl ApiError {
    /// Returns the error of a server that shuts down. The client can retry on this or another server.
    #[must_use]
    pub fn shutting_down() -> Self {
        Self::Unavailable {
            reason: "SHUTTING_DOWN",
            message: "the server is shutting down; try again".to_owned(),
            retry_after: Duration::from_secs(1),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Undone(_) => Self::Unavailable {
                reason: "STORE_UNAVAILABLE",
                message: "the store is unavailable; try again".to_owned(),
                retry_after: Duration::from_secs(1),
            },
            StoreError::BadPageToken => Self::Invalid(vec![FieldViolation {
                field: "page.page_token".to_owned(),
                description: "is not a page token of this list; use the token of the previous page, with the same filter"
                    .to_owned(),
            }]),
            StoreError::Full { limit, value } => {
                Self::Exhausted { limit, value, retry_after: Duration::from_secs(60) }
            }
            error @ (StoreError::Corrupt(_) | StoreError::Newer { .. } | StoreError::Refused(_)) => {
                Self::Internal(error.to_string())
            }
        }
    }
}

impl From<StreamError> for ApiError {
    fn from(error: StreamError) -> Self {
        let unavailable = |reason, message: &str, retry_after| Self::Unavailable {
            reason,
            message: message.to_owned(),
            retry_after,
        };
        match error {
            StreamError::NoExecution(id) => Self::NotFound { what: "execution", id: id.to_string() },
            StreamError::NoStderr => Self::Invalid(vec![FieldViolation {
                field: "stream".to_owned(),
                description:
                    "this command's standard error is in its STDOUT, in order; read STDOUT, or start the \
                              command with `separate_stderr`"
                        .to_owned(),
            }]),
            StreamError::PastEnd { stream, asked, end } => Self::OutOfRange { stream, asked, end },
            StreamError::Exhausted { limit, value, retry_after } => {
                Self::Exhausted { limit, value, retry_after }
            }
            StreamError::Unreachable { retry_after } => unavailable(
                "OUTPUT_UNREACHABLE",
                "the runner that has the output is unreachable; try again",
                retry_after,
            ),
            StreamError::Stopping => unavailable(
                "SHUTTING_DOWN",
                "the server is shutting down; try again, with the last cursor if you have one",
                Duration::from_secs(1),
            ),
            StreamError::Store(error) => error.into(),
            StreamError::Shelf(ShelfError::Unavailable(_)) => unavailable(
                "OUTPUTS_UNAVAILABLE",
                "the output storage is unavailable; try again",
                Duration::from_secs(1),
            ),
            StreamError::Shelf(ShelfError::Corrupt(detail)) => Self::Internal(detail),
            StreamError::Internal(detail) => Self::Internal(detail.to_owned()),
        }
    }
}

fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}
