//! The failure of a subcommand: a readable message that states the problem, its place and the remedy,
//! and an exit code.

use std::fmt::Write as _;

use crate::render::{cause, escape};
use airlock_client::ClientError;
use airlock_embedded::state::StateError;

/// The exit code for wrong arguments.
pub(super) const USAGE: u8 = 2;
/// The exit code of a program that wrote to a pipe without a reader, as shells report it.
pub(super) const BROKEN_PIPE: u8 = 141;

/// A message for standard error, and the exit code.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    message: String,
    passing: bool,
}

impl Failure {
    /// Creates a failure with exit code 1.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { code: cause::FAILED, message: message.into(), passing: false }
    }

    /// Creates a failure that may pass soon.
    pub(super) fn not_yet(message: impl Into<String>) -> Self {
        Self { passing: true, ..Self::new(message) }
    }

    /// Creates a failure for wrong arguments.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, ..Self::new(message) }
    }

    /// Creates a failure without a message, for a standard output that no longer has a reader.
    pub(super) fn broken_pipe() -> Self {
        Self { code: BROKEN_PIPE, ..Self::new("") }
    }

    pub(super) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Returns the failure with its subject before the message, unless the message already contains
    /// it.
    pub(super) fn about(mut self, what: &str) -> Self {
        if !self.message.contains(what) {
            self.message = format!("{}: {}", escape::line(what.as_bytes()), self.message);
        }
        self
    }

    pub(super) fn code(&self) -> u8 {
        self.code
    }

    /// Reports whether the same call may succeed soon.
    pub(super) fn is_passing(&self) -> bool {
        self.passing
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn is_broken_pipe(&self) -> bool {
        self.code == BROKEN_PIPE
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self { passing: error.is_passing(), ..Self::new(describe(&error)) }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let passing = matches!(error, StateError::NotRunning(_) | StateError::NotReady(_));
        Self { passing, ..Self::new(error.to_string()) }
    }
}

/// Returns the error as text, with each field violation on its own line and a remedy.
pub(super) fn describe(error: &ClientError) -> String {
    let mut text = escape::line(error.to_string().as_bytes());
    let Some(rejection) = error.rejection() else {
        text.push_str(match error {
            ClientError::Transport { .. } => "; check that the server is running and can be reached from this host",
            ClientError::Untrusted { .. } => {
                "; check that --ca names the CA of the server's certificate, and that the certificate names this address"
            }
            _ => "",
        });
        return text;
    };
    if !rejection.reason.is_empty() {
        let _ = write!(text, " ({})", escape::line(rejection.reason.as_bytes()));
    }
    // The message already contains a single violation.
    let listed = if rejection.violations.len() > 1 { rejection.violations.as_slice() } else { &[] };
    for violation in listed {
        let (field, what) = (&violation.field, &violation.description);
        let _ = write!(text, "\n  {}: {}", escape::line(field.as_bytes()), escape::line(what.as_bytes()));
    }
    text.push_str(match rejection.reason.as_str() {
        "CREDENTIALS_MISSING" => "; use --token-file, or --cert and --key",
        "TOKEN_UNKNOWN" => "; check that --token-file contains a token of this server",
        _ => "",
    });
    if let Some(after) = rejection.retry_after {
        let _ = write!(text, "; try again in {:.1} s", after.as_secs_f64());
    }
    text
}
