//! The errors of calls, parsed from a gRPC status and its `google.rpc` details. This module does not retry. It only
//! reports whether a call may be retried.

use std::{collections::HashMap, error::Error as _, io, path::Path, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::Denial;

/// The reason why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The connection settings are invalid. No request was sent.
    #[error("{0}")]
    Settings(String),
    /// No response arrived: there was no connection, or it broke. The server may have acted on the
    /// request.
    #[error("no answer from {address}: {message}")]
    Transport {
        /// The server's address.
        address: String,
        /// The cause.
        message: String,
    },
    /// TLS failed: the server's certificate is not trusted, or the server refuses this client's
    /// certificate.
    #[error("no secure connection to {address}: {message}")]
    Untrusted {
        /// The server's address.
        address: String,
        /// The certificate problem.
        message: String,
    },
    /// The server responded with an error.
    #[error("{}", .0.message)]
    Rejected(Box<Rejection>),
    /// The view of an execution broke repeatedly without a new event; the result of the execution is
    /// unknown.
    #[error("the view of execution {execution_id} broke and could not be resumed: {last}")]
    ViewLost {
        /// The execution.
        execution_id: String,
        /// The cursor to attach with to continue.
        cursor: Vec<u8>,
        /// The last failure.
        last: Box<ClientError>,
    },
    /// A start was sent and no response arrived. The command may run, may have run, or may never run.
    #[error("no answer to the start, so it is not known whether the command runs: {last}")]
    StartUnknown {
        /// The key of the start. A repeated start with this key returns the execution, if there is one.
        request_id: String,
        /// The last failure.
        last: Box<ClientError>,
    },
    /// Policy or a person denied the command. It did not run.
    #[error("{}", .0.message())]
    Denied(Box<Denial>),
    /// The caller's deadline expired before the call was complete.
    #[error("{message}")]
    Deadline {
        /// The state of the command.
        message: String,
        /// The execution, if it is known.
        execution_id: Option<String>,
    },
    /// A local file could not be read or written.
    #[error("{0}")]
    Local(String),
    /// A received archive was refused, or a local directory cannot be packed.
    #[error("{message}")]
    Archive {
        /// The problem, its place and the remedy.
        message: String,
        /// The number of files, directories and links that were written before the error.
        put: u64,
    },
    /// The server's response violates the contract.
    #[error("the server at {address} violated the contract: {message}")]
    Contract {
        /// The server's address.
        address: String,
        /// The violation.
        message: String,
    },
}

/// An error response of the server, with its details.
#[derive(Debug, Clone)]
pub struct Rejection {
    /// The gRPC code.
    pub code: Code,
    /// The stable name of the error, such as `APPROVAL_REQUIRED`; empty if there is none.
    pub reason: String,
    /// A message for people; one line.
    pub message: String,
    /// All invalid fields of the request.
    pub violations: Vec<Violation>,
    /// The time after which to retry, if a retry may help.
    pub retry_after: Option<Duration>,
    /// The execution that the error refers to.
    pub execution_id: Option<String>,
    /// The remaining metadata of the error.
    pub metadata: HashMap<String, String>,
}

/// An invalid field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path of the field in the request.
    pub field: String,
    /// The problem with the field.
    pub description: String,
}

impl ClientError {
    /// Converts the status of a call to `address`.
    #[must_use]
    pub(super) fn from_status(address: &str, status: &Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        // The server's own errors always contain an ErrorInfo. Without one, tonic produced these codes for
        // a broken connection.
        let unsaid = matches!(
            status.code(),
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::DeadlineExceeded
        );
        if info.is_none() && unsaid {
            if let Some(error) = tls_error(status) {
                return Self::Untrusted { address: address.to_owned(), message: error.to_string() };
            }
            return Self::Transport { address: address.to_owned(), message: causes(status) };
        }
        let metadata = info.map(|info| info.metadata.clone()).unwrap_or_default();
        let violations = details.bad_request().map_or_else(Vec::new, |bad| {
            bad.field_violations
                .iter()
                .map(|violation| Violation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect()
        });
        Self::Rejected(Box::new(Rejection {
            code: status.code(),
            reason: info.map(|info| info.reason.clone()).unwrap_or_default(),
            message: one_line(status.message(), status.code()),
            violations,
            retry_after: details.retry_info().and_then(|retry| retry.retry_delay),
            execution_id: metadata.get("execution_id").cloned(),
            metadata,
        }))
    }

    /// Returns the server's error response, if there is one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::ViewLost { last, .. } | Self::StartUnknown { last, .. } => last.rejection(),
            Self::Settings(_)
            | Self::Transport { .. }
            | Self::Untrusted { .. }
            | Self::Denied(_)
            | Self::Deadline { .. }
            | Self::Local(_)
            | Self::Archive { .. }
            | Self::Contract { .. } => None,
        }
    }

    /// Returns the gRPC code, if the server sent one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.rejection().map(|rejection| rejection.code)
    }

    /// Reports whether the same call may succeed soon and is safe to repeat.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Transport { .. } => true,
            Self::Rejected(rejection) => rejection.code == Code::Unavailable,
            _ => false,
        }
    }

    /// Returns the time after which to retry, if the server sent one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.rejection().and_then(|rejection| rejection.retry_after)
    }
}

/// Returns an error for a failed operation on a local path, with a remedy if one is known.
pub(super) fn local(doing: &str, path: &Path, error: &io::Error) -> ClientError {
    let remedy = remedy(error.kind());
    ClientError::Local(format!("{doing} `{}`: {error}{remedy}", path.display()))
}

/// Returns the remedy for an error on a local path, or an empty string.
pub(super) fn remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free space there, or choose another directory"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another directory, or change the permissions of this one"
        }
        _ => "",
    }
}

/// Returns the TLS error that prevented a connection, if there is one. A retry without a change of the
/// settings cannot succeed.
fn tls_error(status: &Status) -> Option<&rustls::Error> {
    let mut source = status.source();
    while let Some(error) = source {
        // An I/O error does not return the error that it wraps as its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = wrapped.and_then(|error| error.downcast_ref()).or_else(|| error.downcast_ref());
        if let Some(tls @ (rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_))) = tls {
            return Some(tls);
        }
        source = error.source();
    }
    None
}

/// Returns a status's message and the messages of its causes on one line.
fn causes(status: &Status) -> String {
    let mut parts = vec![one_line(status.message(), status.code())];
    let mut source = status.source();
    while let Some(cause) = source {
        let text = one_line(&cause.to_string(), status.code());
        if !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
        source = cause.source();
    }
    parts.join(": ")
}

/// Returns the message without line feeds and other control characters, which must not reach a terminal.
fn one_line(message: &str, code: Code) -> String {
    let text = message.trim();
    if text.is_empty() {
        return code.description().to_lowercase();
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
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
}
