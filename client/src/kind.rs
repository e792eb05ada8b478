//! The class of an error and its remedy, the same in every Airlock client. This module does not retry.

use tonic::Code;

use super::{ClientError, Rejection};

/// The reasons of a command that did not run because it was not allowed.
pub(super) const DENIED: &str = "DENIED";
pub(super) const APPROVAL_REQUIRED: &str = "APPROVAL_REQUIRED";

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The connection settings are missing or invalid. No request was sent.
    Settings,
    /// No response arrived: there was no connection, or it broke.
    Unreachable,
    /// TLS failed: one of the two sides does not trust the other.
    Untrusted,
    /// The server does not accept the credentials.
    Unauthenticated,
    /// The caller's roles do not permit the call.
    Forbidden,
    /// Policy or a person denied the command.
    Denied,
    /// Policy asks for a person, and the request did not wait for one.
    ApprovalRequired,
    /// The request has invalid fields.
    InvalidRequest,
    /// The profile, session, execution, approval or file does not exist, or belongs to another tenant.
    NotFound,
    /// The session is closed or lost, or not open yet.
    SessionClosed,
    /// A limit is reached.
    LimitReached,
    /// The server is older than this client and lacks a method or field.
    Unsupported,
    /// Any other error of the server.
    Rejected,
    /// A start was sent and no response arrived.
    StartUnknown,
    /// The view of an execution broke repeatedly.
    ViewLost,
    /// The caller's deadline expired.
    Deadline,
    /// A local file or connection failed.
    Local,
    /// A received archive was refused, or a local directory cannot be packed.
    Archive,
    /// The server's response violates the contract.
    Contract,
}

impl ErrorKind {
    /// Returns the name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Unreachable => "unreachable",
            Self::Untrusted => "untrusted",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Denied => "denied",
            Self::ApprovalRequired => "approval_required",
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::SessionClosed => "session_closed",
            Self::LimitReached => "limit_reached",
            Self::Unsupported => "unsupported",
            Self::Rejected => "rejected",
            Self::StartUnknown => "start_unknown",
            Self::ViewLost => "view_lost",
            Self::Deadline => "deadline",
            Self::Local => "local",
            Self::Archive => "archive",
            Self::Contract => "contract",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Unreachable => "check that the server is running and can be reached from this host",
            Self::Untrusted => {
                "check that the CA is that of the server's certificate, and that the certificate names this address"
            }
            Self::Unauthenticated => "check that the token or certificate is a current one of this server",
            Self::Forbidden => "ask the operator for the role that the message names",
            Self::Denied => "use another command, or ask the operator for a rule that allows it",
            Self::ApprovalRequired => "run it with ON_ASK_WAIT, and let an approver answer",
            Self::InvalidRequest => "correct the fields that the violations name",
            Self::NotFound => "check the name or the ID",
            Self::SessionClosed => "create another session",
            Self::Unsupported => "upgrade the server, or do not use this feature",
            Self::StartUnknown => {
                "repeat the start with the same request ID; it returns the execution, if there is one"
            }
            Self::ViewLost => "attach to the execution with the cursor",
            Self::Contract => {
                "report it: this is a bug in the server, or something else answers at this address"
            }
            Self::Settings
            | Self::LimitReached
            | Self::Rejected
            | Self::Deadline
            | Self::Local
            | Self::Archive => "",
        }
    }

    fn of(rejection: &Rejection) -> Self {
        match (rejection.reason.as_str(), rejection.code) {
            (DENIED, _) => Self::Denied,
            (APPROVAL_REQUIRED, _) => Self::ApprovalRequired,
            ("SESSION_CLOSED" | "SESSION_LOST" | "SESSION_NOT_OPEN", _) => Self::SessionClosed,
            (_, Code::Unauthenticated) => Self::Unauthenticated,
            (_, Code::PermissionDenied) => Self::Forbidden,
            (_, Code::InvalidArgument) => Self::InvalidRequest,
            (_, Code::NotFound) => Self::NotFound,
            (_, Code::ResourceExhausted) => Self::LimitReached,
            (_, Code::Unimplemented) => Self::Unsupported,
            _ => Self::Rejected,
        }
    }
}

impl ClientError {
    /// Returns the class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Settings(_) => ErrorKind::Settings,
            Self::Transport { .. } => ErrorKind::Unreachable,
            Self::Untrusted { .. } => ErrorKind::Untrusted,
            Self::Rejected(rejection) => ErrorKind::of(rejection),
            Self::Denied(denial) if denial.needs_approval() => ErrorKind::ApprovalRequired,
            Self::Denied(_) => ErrorKind::Denied,
            Self::ViewLost { .. } => ErrorKind::ViewLost,
            Self::StartUnknown { .. } => ErrorKind::StartUnknown,
            Self::Deadline { .. } => ErrorKind::Deadline,
            Self::Local(_) => ErrorKind::Local,
            Self::Archive { .. } => ErrorKind::Archive,
            Self::Contract { .. } => ErrorKind::Contract,
        }
    }

    /// Returns what to do, or an empty text. The messages of settings, local files and archives contain it themselves.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match self {
            Self::Settings(message) | Self::Local(message) | Self::Archive { message, .. } => message,
            _ => self.kind().remedy(),
        }
    }

    /// Returns the stable name of the server's error, such as `APPROVAL_REQUIRED`, or an empty text.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Denied(denial) if denial.needs_approval() => APPROVAL_REQUIRED,
            Self::Denied(_) => DENIED,
            _ => self.rejection().map_or("", |rejection| &rejection.reason),
        }
    }

    /// Returns the execution that the error refers to, if there is one.
    #[must_use]
    pub fn execution_id(&self) -> Option<&str> {
        match self {
            Self::Denied(denial) => Some(&denial.execution.execution_id),
            Self::ViewLost { execution_id, .. } => Some(execution_id),
            Self::Deadline { execution_id, .. } => execution_id.as_deref(),
            _ => self.rejection().and_then(|rejection| rejection.execution_id.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_reason_is_more_specific_than_a_code() {
        for (code, reason, kind) in [
            (Code::PermissionDenied, "APPROVAL_REQUIRED", ErrorKind::ApprovalRequired),
            (Code::PermissionDenied, "DENIED", ErrorKind::Denied),
            (Code::PermissionDenied, "FORBIDDEN", ErrorKind::Forbidden),
            (Code::FailedPrecondition, "SESSION_LOST", ErrorKind::SessionClosed),
            (Code::FailedPrecondition, "NOT_RUNNING", ErrorKind::Rejected),
            (Code::Unimplemented, "", ErrorKind::Unsupported),
        ] {
            let error = ClientError::Rejected(Box::new(Rejection {
                code,
                reason: reason.to_owned(),
                message: String::new(),
                violations: Vec::new(),
                retry_after: None,
                execution_id: Some("e".to_owned()),
                metadata: HashMap::new(),
            }));
            assert_eq!((error.kind(), error.reason(), error.execution_id()), (kind, reason, Some("e")));
        }
        let settings = ClientError::Settings("no address; write one".to_owned());
        assert_eq!((settings.kind().name(), settings.remedy()), ("settings", "no address; write one"));
    }
}
