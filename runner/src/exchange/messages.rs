//! The messages of an exchange, and the errors for failed orders.

use airlock_domain::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner};
use futures::stream::BoxStream;
use tokio::sync::mpsc;

/// The messages of the server after its order. If the stream ends without `End`, the server disconnected.
pub(crate) type Incoming = BoxStream<'static, ExchangeToRunner>;
/// The channel to the server. A failed send means that the server disconnected.
pub(crate) type Outgoing = mpsc::Sender<ExchangeFromRunner>;

/// The maximum number of messages queued for the server. Each holds at most one chunk.
pub(crate) const OUTGOING: usize = 4;

/// Builds the error for a failed order.
pub(crate) fn failed(failure: ExchangeFailure, reason: &str, message: impl Into<String>) -> ExchangeFailed {
    ExchangeFailed { failure, reason: reason.to_owned(), message: message.into() }
}

/// Builds the error for a message that the protocol does not allow.
pub(super) fn invalid(message: impl Into<String>) -> ExchangeFailed {
    failed(ExchangeFailure::Invalid, "BAD_EXCHANGE", message)
}
