//! Why work on files or input was not done: what a runner says of it, made fit to be shown, and what the
//! server says itself. A runner is not trusted with what reaches a client's terminal.

use std::fmt::Write as _;

use airlock_proto::domain::{ExchangeFailed, ExchangeFailure};

use crate::api::ApiError;

/// Of a message of a runner's, in bytes.
const MESSAGE_BYTES: usize = 512;
/// Of a reason or the name of a limit, in bytes.
const NAME_BYTES: usize = 64;
/// The reason where the runner gives none that is one.
const NO_REASON: &str = "RUNNER_REFUSED";
/// The limit where the runner gives none that is one.
const NO_LIMIT: &str = "runner";

/// Work on files or input was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeRefusal {
    /// Which kind of no.
    pub failure: ExchangeFailure,
    /// A stable name, upper case.
    pub reason: String,
    /// For the client; one line.
    pub message: String,
    /// Bytes of an input that are known to have reached the command.
    pub accepted: Option<u64>,
}

impl ExchangeRefusal {
    /// It must go on from another place, in bytes.
    pub(crate) fn out_of_range(message: String, end: u64) -> Self {
        let failure = ExchangeFailure::OutOfRange { end };
        Self { failure, reason: "OFFSET_PAST_END".to_owned(), message, accepted: None }
    }

    /// It ended too early, and goes on from here, in bytes.
    pub(crate) fn incomplete(message: String, end: u64) -> Self {
        Self { reason: "UPLOAD_INCOMPLETE".to_owned(), ..Self::out_of_range(message, end) }
    }

    /// The command does not run (any more).
    pub(crate) fn not_running(accepted: Option<u64>) -> Self {
        Self {
            failure: ExchangeFailure::FailedPrecondition,
            reason: "NOT_RUNNING".to_owned(),
            message: "the command has ended, and takes no more input".to_owned(),
            accepted,
        }
    }
}

/// What a client streams cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientFault {
    /// It is no message.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// It is longer than any message may be.
    #[error("the message is too large: {0}")]
    TooLarge(String),
    /// It was cut, or taken back: nobody hears the answer.
    #[error("the client has gone away")]
    Gone,
}

/// What a runner refused, as a client may see it. A fault of the runner's own is told to the operator,
/// without the words, which may hold paths.
pub(super) fn refused(failed: ExchangeFailed) -> ApiError {
    let reason = reason(&failed.reason);
    let failure = match failed.failure {
        ExchangeFailure::Internal => {
            return ApiError::Internal(format!("a runner failed in an exchange: {reason}"));
        }
        ExchangeFailure::Exhausted { limit, value } => {
            ExchangeFailure::Exhausted { limit: limit_name(&limit), value }
        }
        other => other,
    };
    let message = shown(&failed.message, MESSAGE_BYTES);
    let message = if message.is_empty() { "the runner refused it".to_owned() } else { message };
    ApiError::Exchange(ExchangeRefusal { failure, reason, message, accepted: None })
}

/// Text of a runner's on one line, with everything escaped that is not printable, and at most so long.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for char in text.chars() {
        let before = out.len();
        match char {
            '\'' | '"' | '\\' => out.push(char),
            // Nothing can go wrong in writing to a string.
            other => drop(write!(out, "{}", other.escape_debug())),
        }
        if out.len() > most {
            out.truncate(before);
            break;
        }
    }
    out
}

fn reason(text: &str) -> String {
    let is_reason = (1..=NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if is_reason { text.to_owned() } else { NO_REASON.to_owned() }
}

fn limit_name(text: &str) -> String {
    let is_name = (1..=NAME_BYTES).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.'));
    if is_name { text.to_owned() } else { NO_LIMIT.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(failure: ExchangeFailure, reason: &str, message: &str) -> ExchangeFailed {
        ExchangeFailed { failure, reason: reason.to_owned(), message: message.to_owned() }
    }

    fn refusal(failed: ExchangeFailed) -> ExchangeRefusal {
        match refused(failed) {
            ApiError::Exchange(refusal) => refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_an_honest_runner_says_passes_unchanged() {
        let message = "`a b/é'\"\\n`: a link that leaves the folder";
        let refusal = refusal(failed(ExchangeFailure::Invalid, "ARCHIVE_REFUSED", message));
        assert_eq!((refusal.reason.as_str(), refusal.message.as_str()), ("ARCHIVE_REFUSED", message));
    }

    #[test]
    fn a_hostile_runners_words_cannot_steer_a_terminal_or_flood_a_client() {
        let hostile = "\u{1b}[2Jgone\r\nok\u{202e}txt\u{200b}\0\u{9b}1m";
        let refusal = refusal(failed(ExchangeFailure::NotFound, "lower case\n", hostile));
        assert_eq!(refusal.reason, NO_REASON);
        assert_eq!(refusal.message, "\\u{1b}[2Jgone\\r\\nok\\u{202e}txt\\u{200b}\\0\\u{9b}1m");

        for text in ["x".repeat(1 << 20), "\u{1b}".repeat(1 << 16), "€".repeat(1 << 16)] {
            let shown = shown(&text, MESSAGE_BYTES);
            assert!(shown.len() <= MESSAGE_BYTES && shown.len() > MESSAGE_BYTES - 8, "{}", shown.len());
        }
        let long = failed(ExchangeFailure::Unavailable, &"A".repeat(65), "");
        let refusal = self::refusal(long);
        assert_eq!((refusal.reason.as_str(), refusal.message.as_str()), (NO_REASON, "the runner refused it"));
        let exhausted = ExchangeFailure::Exhausted { limit: "a\u{1b}b".to_owned(), value: 7 };
        let refusal = self::refusal(failed(exhausted, "LIMIT_REACHED", "too much"));
        let limit = NO_LIMIT.to_owned();
        assert_eq!(refusal.failure, ExchangeFailure::Exhausted { limit, value: 7 });
    }

    #[test]
    fn a_runners_own_fault_is_shown_without_its_words() {
        let error = refused(failed(ExchangeFailure::Internal, "DISK", "/secret/path: no space"));
        assert!(matches!(&error, ApiError::Internal(detail) if !detail.contains("secret")), "{error:?}");
    }
}
