//! The transfer of a forwarded connection: bytes in both directions, at the pace of the slower side, with at most one
//! piece buffered here for each direction.

use airlock_domain::{ExchangeFromRunner, ExchangeToRunner, limits::TRANSFER_CHUNK_BYTES};
use bytes::Bytes;
use futures::{StreamExt as _, stream::BoxStream};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{fault::ClientFault, link::Violation, running::Exchange};
use crate::api::{ApiError, FieldViolation};

/// The parts of a client. A stream that ends without [`ForwardPart::End`] belongs to a client that has disconnected.
pub type ForwardInput = BoxStream<'static, Result<ForwardPart, ApiError>>;

/// A part of one direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForwardPart {
    /// At most [`TRANSFER_CHUNK_BYTES`] bytes.
    Data(Bytes),
    /// The direction has ended.
    End,
}

/// The transferred bytes of a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Bytes that the runner received.
    pub(crate) sent: u64,
    /// Bytes that the client received.
    pub(crate) received: u64,
}

/// The state of the transfer.
#[derive(Default)]
struct Transfer {
    /// The message that waits for the runner.
    up: Option<ExchangeToRunner>,
    /// The part that waits for the client.
    down: Option<ForwardPart>,
    /// Whether the client, or the program, has ended its direction.
    client_ended: bool,
    program_ended: bool,
    /// The offsets of the next bytes in each direction.
    next_up: u64,
    next_down: u64,
}

impl Exchange {
    /// Transfers a forwarded connection until both directions have ended and the runner confirms it by the end of its
    /// stream. `traffic` counts the bytes, whatever the result.
    ///
    /// # Errors
    /// The runner's refusal; `Invalid` for data that is too long; the error of the client's stream; `Unavailable` if no
    /// byte was transferred for `forward_idle`, or if the runner disconnects or the server stops.
    pub(crate) async fn forward(
        &mut self,
        input: &mut ForwardInput,
        to_client: &mpsc::Sender<ForwardPart>,
        traffic: &mut Traffic,
    ) -> Result<(), ApiError> {
        let to = self.to.clone();
        let mut state = Transfer::default();
        let mut last = Instant::now();
        loop {
            let limits = &self.inner.limits;
            let patience = if state.is_over() { limits.exchange_answer_wait } else { limits.forward_idle };
            let deadline = last + patience;
            tokio::select! {
                () = self.inner.cancel.cancelled() => return Err(self.stopping()),
                () = to_client.closed() => return Err(ApiError::ClientStream(ClientFault::Gone)),
                heard = self.from.next(), if state.down.is_none() => {
                    if heard.is_none() && state.is_over() {
                        return Ok(());
                    }
                    let heard = self.read(heard)?;
                    state.hear(heard).map_err(|violation| self.misbehaved(violation))?;
                }
                permit = to_client.reserve(), if state.down.is_some() => {
                    if let (Ok(permit), Some(part)) = (permit, state.down.take()) {
                        traffic.received += self.counted(match &part {
                            ForwardPart::Data(data) => data.len(),
                            ForwardPart::End => 0,
                        });
                        permit.send(part);
                        last = Instant::now();
                    }
                }
                // The runner accepts no more messages if it sent its last one, which is read above.
                Ok(permit) = to.reserve(), if state.up.is_some() => {
                    if let Some(message) = state.up.take() {
                        traffic.sent += self.counted(match &message {
                            ExchangeToRunner::Chunk { data, .. } => data.len(),
                            _ => 0,
                        });
                        permit.send(message);
                        last = Instant::now();
                    }
                }
                part = input.next(), if state.up.is_none() && !state.client_ended => {
                    state.take(part.unwrap_or(Err(ApiError::ClientStream(ClientFault::Gone)))?)?;
                }
                () = sleep_until(deadline) => return Err(self.forward_idle()),
            }
        }
    }

    fn counted(&mut self, bytes: usize) -> u64 {
        self.passed(bytes);
        bytes as u64
    }
}

impl Transfer {
    fn is_over(&self) -> bool {
        self.client_ended && self.program_ended && self.up.is_none()
    }

    /// Takes a message of the runner.
    fn hear(&mut self, message: ExchangeFromRunner) -> Result<(), Violation> {
        let part = match message {
            _ if self.program_ended => return Err(Violation::WrongKind),
            ExchangeFromRunner::Chunk { offset, .. } if offset != self.next_down => {
                return Err(Violation::OutOfOrder);
            }
            ExchangeFromRunner::Chunk { data, .. }
                if data.is_empty() || data.len() > TRANSFER_CHUNK_BYTES =>
            {
                return Err(Violation::ChunkSize);
            }
            ExchangeFromRunner::Chunk { data, .. } => {
                self.next_down = self.next_down.saturating_add(data.len() as u64);
                ForwardPart::Data(data)
            }
            ExchangeFromRunner::End => {
                self.program_ended = true;
                ForwardPart::End
            }
            _ => return Err(Violation::WrongKind),
        };
        self.down = Some(part);
        Ok(())
    }

    /// Takes bytes of the client, or the end of its direction.
    fn take(&mut self, part: ForwardPart) -> Result<(), ApiError> {
        let ForwardPart::Data(data) = part else {
            self.client_ended = true;
            self.up = Some(ExchangeToRunner::End { close: true });
            return Ok(());
        };
        let length = data.len();
        if length > TRANSFER_CHUNK_BYTES {
            let description = format!("has {length} bytes, at most {TRANSFER_CHUNK_BYTES}");
            return Err(ApiError::Invalid(vec![FieldViolation { field: "data".to_owned(), description }]));
        }
        if !data.is_empty() {
            self.up = Some(ExchangeToRunner::Chunk { offset: self.next_up, data });
            self.next_up = self.next_up.saturating_add(length as u64);
        }
        Ok(())
    }
}
