//! The messages of an exchange, and the errors for failed orders. The messages of a server after its order are
//! contiguous chunks if the order accepts any, then the end.

use airlock_domain::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner};
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

/// The messages received so far.
#[derive(Debug)]
pub(super) struct Check {
    takes_chunks: bool,
    /// The offset of the next chunk, after the first one.
    next: Option<u64>,
}

impl Check {
    pub(super) fn new(order: &ExchangeOrder) -> Self {
        let takes_chunks = matches!(
            order,
            ExchangeOrder::Upload(_) | ExchangeOrder::Stdin { .. } | ExchangeOrder::Forward { .. }
        );
        Self { takes_chunks, next: None }
    }

    /// Returns the message if it is valid at this point.
    pub(super) fn take(&mut self, message: ExchangeToRunner) -> Result<ExchangeToRunner, ExchangeFailed> {
        match &message {
            ExchangeToRunner::Order(_) => return Err(invalid("the exchange already has an order")),
            ExchangeToRunner::Chunk { .. } if !self.takes_chunks => {
                return Err(invalid("the order takes no chunks"));
            }
            ExchangeToRunner::Chunk { offset, data } => {
                if let Some(next) = self.next.filter(|next| next != offset) {
                    let problem =
                        format!("a chunk begins at {offset}, but the previous chunk ended at {next}");
                    return Err(invalid(problem));
                }
                self.next = Some(offset.saturating_add(data.len() as u64));
            }
            ExchangeToRunner::End { .. } => {}
        }
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use airlock_domain::{ExecutionId, SessionId};

    use super::*;

    fn chunk(offset: u64) -> ExchangeToRunner {
        ExchangeToRunner::Chunk { offset, data: vec![0; 4].into() }
    }

    fn stdin() -> ExchangeOrder {
        ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: false }
    }

    #[test]
    fn chunks_come_in_a_row_from_anywhere() {
        let mut check = Check::new(&stdin());
        for message in [chunk(10), chunk(14), chunk(18), ExchangeToRunner::End { close: true }] {
            assert_eq!(check.take(message.clone()), Ok(message));
        }
        assert!(check.take(chunk(10)).is_err());
        assert!(check.take(chunk(23)).is_err());
        let problem = check.take(chunk(23)).unwrap_err().message;
        assert_eq!(problem, "a chunk begins at 23, but the previous chunk ended at 22");
    }

    #[test]
    fn an_order_comes_once_and_chunks_only_where_they_are_taken() {
        let stat = ExchangeOrder::Stat { session_id: SessionId::new(), path: Vec::new() };
        let mut check = Check::new(&stat);
        assert!(check.take(chunk(0)).is_err());
        assert!(check.take(ExchangeToRunner::Order(stat)).is_err());
        assert!(Check::new(&stdin()).take(ExchangeToRunner::Order(stdin())).is_err());
    }
}
