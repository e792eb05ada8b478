//! The reasons why work on files or input was refused.

use airlock_domain::ExchangeFailure;

/// A refusal of work on files or input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExchangeRefusal {
    /// The kind of refusal.
    pub failure: ExchangeFailure,
    /// A stable reason code in upper case.
    pub reason: String,
    /// A message for the client, on one line.
    pub message: String,
    /// The number of input bytes that are known to have reached the command.
    pub accepted: Option<u64>,
}

impl ExchangeRefusal {
    /// The client must continue from offset `end`.
    pub(crate) fn out_of_range(message: String, end: u64) -> Self {
        let failure = ExchangeFailure::OutOfRange { end };
        Self { failure, reason: "OFFSET_PAST_END".to_owned(), message, accepted: None }
    }

    /// The upload ended too early. The client can continue from offset `end`.
    pub(crate) fn incomplete(message: String, end: u64) -> Self {
        Self { reason: "UPLOAD_INCOMPLETE".to_owned(), ..Self::out_of_range(message, end) }
    }

    /// The command has not started, or has ended.
    pub(crate) fn not_running(accepted: Option<u64>) -> Self {
        Self {
            failure: ExchangeFailure::FailedPrecondition,
            reason: "NOT_RUNNING".to_owned(),
            message: "the command has ended and accepts no more input".to_owned(),
            accepted,
        }
    }
}

/// The reason why the stream of a client cannot be processed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientFault {
    /// A message cannot be decoded.
    #[error("the message cannot be decoded: {0}")]
    Unreadable(String),
    /// A message exceeds the size limit.
    #[error("the message is too large: {0}")]
    TooLarge(String),
    /// The client disconnected or cancelled the call, so no answer reaches it.
    #[error("the client disconnected")]
    Gone,
}
