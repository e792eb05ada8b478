//! What can go wrong between a client and a server, read out of a status and its `google.rpc`
//! details. Nothing here retries; it only says what may be retried.

use std::{collections::HashMap, error::Error as _, io, path::Path, time::Duration};

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// Why a call did not give what was asked for.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// The connection's settings cannot be used; nothing was sent.
    #[error("{0}")]
    Settings(String),
    /// No answer came: no connection, a broken one, or nobody home. What was sent may have been done.
    #[error("no answer from {address}: {message}")]
    Transport {
        /// The server's address.
        address: String,
        /// What broke.
        message: String,
    },
    /// What answered is not the server that was meant, or does not take this client's certificate.
    #[error("no secure connection to {address}: {message}")]
    Untrusted {
        /// The server's address.
        address: String,
        /// What is wrong with which certificate.
        message: String,
    },
    /// The server answered with an error.
    #[error("{}", .0.message)]
    Rejected(Box<Rejection>),
    /// The view of an execution broke again and again without a new event; its outcome is unknown.
    #[error("the view of execution {execution_id} broke and could not be taken up again: {last}")]
    ViewLost {
        /// Which execution.
        execution_id: String,
        /// Attach with it to go on.
        cursor: Vec<u8>,
        /// The last failure.
        last: Box<ClientError>,
    },
    /// A start was sent, and no answer came: the command runs, or ran, or never will.
    #[error("no answer to the start, so it is not known whether the command runs: {last}")]
    StartUnknown {
        /// A repeated start with the same key finds it, if it is there.
        request_id: String,
        /// The last failure.
        last: Box<ClientError>,
    },
    /// A file of this side could not be read or written.
    #[error("{0}")]
    Local(String),
    /// What came as an archive is not put into the folder, or the folder cannot be packed.
    #[error("{message}")]
    Archive {
        /// What is wrong, where, and what to do.
        message: String,
        /// How many files, folders and links were put there before that was noticed.
        put: u64,
    },
    /// The server answered with something that the contract does not permit.
    #[error("the server at {address} broke the contract: {message}")]
    Contract {
        /// The server's address.
        address: String,
        /// What it did.
        message: String,
    },
}

/// An error that the server gave, with its details.
#[derive(Debug, Clone)]
pub struct Rejection {
    /// The gRPC code.
    pub code: Code,
    /// The stable name of the error, such as `APPROVAL_REQUIRED`; empty where there is none.
    pub reason: String,
    /// For people; one line.
    pub message: String,
    /// Every bad field of the request.
    pub violations: Vec<Violation>,
    /// When to try again, where that may help.
    pub retry_after: Option<Duration>,
    /// The execution that the error is about, where there is one.
    pub execution_id: Option<String>,
    /// What else the error carries.
    pub metadata: HashMap<String, String>,
}

/// One bad field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its path in the request.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

impl ClientError {
    /// Reads a status that a call to `address` ended with.
    #[must_use]
    pub(super) fn from_status(address: &str, status: &Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        // What the server itself says always carries an ErrorInfo; without one, these codes are what
        // tonic makes of a connection that broke.
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

    /// The server's own error, if this is one.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::ViewLost { last, .. } | Self::StartUnknown { last, .. } => last.rejection(),
            Self::Settings(_)
            | Self::Transport { .. }
            | Self::Untrusted { .. }
            | Self::Local(_)
            | Self::Archive { .. }
            | Self::Contract { .. } => None,
        }
    }

    /// The gRPC code, if the server gave one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.rejection().map(|rejection| rejection.code)
    }

    /// Whether the same call may succeed soon, and is safe to repeat.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Transport { .. } => true,
            Self::Rejected(rejection) => rejection.code == Code::Unavailable,
            _ => false,
        }
    }

    /// When to try again, if the server said so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.rejection().and_then(|rejection| rejection.retry_after)
    }
}

/// What could not be done with a path of this side, and what to do where that can be told.
pub(super) fn local(doing: &str, path: &Path, error: &io::Error) -> ClientError {
    let cure = cure(error.kind());
    ClientError::Local(format!("{doing} `{}`: {error}{cure}", path.display()))
}

/// What to do about an error of a path of this side, where that can be told.
pub(super) fn cure(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room there, or choose another folder"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose another folder, or get the right to this one"
        }
        _ => "",
    }
}

/// What is wrong with a certificate, where that is why there is no connection. It does not pass by itself.
fn tls_error(status: &Status) -> Option<&rustls::Error> {
    let mut source = status.source();
    while let Some(error) = source {
        // An I/O error does not name what it wraps as its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = wrapped.and_then(|error| error.downcast_ref()).or_else(|| error.downcast_ref());
        if let Some(tls @ (rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_))) = tls {
            return Some(tls);
        }
        source = error.source();
    }
    None
}

/// A status's message and the messages of what caused it, in one line.
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

/// The message without line ends and other controls, which a terminal must not get from a server.
fn one_line(message: &str, code: Code) -> String {
    let text = message.trim();
    if text.is_empty() {
        return code.description().to_lowercase();
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
