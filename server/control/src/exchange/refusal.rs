//! The refusals of runners as errors for clients. Text of a runner is
//! sanitized before it reaches a client's terminal.

use std::fmt::Write as _;

use airlock_domain::{ExchangeFailed, ExchangeFailure};

use super::fault::ExchangeRefusal;
use crate::api::ApiError;

/// The maximum length of a runner's message, in bytes.
const MESSAGE_BYTES: usize = 512;
/// The maximum length of a reason code or of the name of a limit, in bytes.
const NAME_BYTES: usize = 64;
/// The reason code if the runner gives no valid one.
const NO_REASON: &str = "RUNNER_REFUSED";
/// The name of the limit if the runner gives no valid one.
const NO_LIMIT: &str = "runner";

/// Returns the error that the client gets for a runner's refusal. For an internal failure of the runner,
/// the message is left out because it may contain paths.
pub(super) fn refused(failed: ExchangeFailed) -> ApiError {
    let reason = reason(&failed.reason);
    let failure = match failed.failure {
        ExchangeFailure::Internal => {
            return ApiError::Internal(format!(
                "a runner reported an internal error in an exchange: {reason}"
            ));
        }
        ExchangeFailure::Exhausted { limit, value } => {
            ExchangeFailure::Exhausted { limit: limit_name(&limit), value }
        }
        other => other,
    };
    let message = shown(&failed.message, MESSAGE_BYTES);
    let message = if message.is_empty() { "the runner refused the operation".to_owned() } else { message };
    ApiError::Exchange(ExchangeRefusal { failure, reason, message, accepted: None })
}

/// Returns a runner's text on one line, with unprintable characters escaped, cut to at most `most`
/// bytes.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for char in text.chars() {
        let before = out.len();
        match char {
            '\'' | '"' | '\\' => out.push(char),
            // Writing to a string cannot fail.
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
        assert_eq!(
            (refusal.reason.as_str(), refusal.message.as_str()),
            (NO_REASON, "the runner refused the operation")
        );
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
