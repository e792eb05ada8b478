//! The transfer of a client's data to a runner: in order, at the runner's pace, with at most one piece buffered here.
//! The runner's messages are read all the time, so a refusal ends the call while the client still sends.

use std::time::Duration;

use airlock_domain::{ExchangeFromRunner, ExchangeToRunner, limits::TRANSFER_CHUNK_BYTES};
use bytes::Bytes;
use futures::{StreamExt as _, stream::BoxStream};
use tokio::time::{Instant, sleep_until};

use super::{fault::ExchangeRefusal, link::Violation, running::Exchange};
use crate::api::{ApiError, FieldViolation};

/// A piece of an upload or an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The offset of the first byte.
    pub offset: u64,
    /// At most [`TRANSFER_CHUNK_BYTES`] bytes.
    pub data: Bytes,
    /// Whether the command's input ends after this piece.
    pub closes: bool,
}

/// The pieces of a client, in order. The stream ends when the client has declared its end; a cut stream
/// ends with an error.
pub type Pieces = BoxStream<'static, Result<Piece, ApiError>>;

/// The state at the start of a transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// The number of bytes that the runner already has.
    pub(crate) ready: u64,
    /// The kind of transfer.
    pub(crate) what: What,
}

/// The kind of transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A file or an archive. Both client and runner must make progress within the time limits.
    Upload {
        /// The total number of bytes, if known.
        size: Option<u64>,
    },
    /// The input of a command. The client has no time limit.
    Input,
}

impl What {
    fn size(self) -> Option<u64> {
        if let Self::Upload { size } = self { size } else { None }
    }

    /// Returns the contract's names of the offset field and the data field.
    fn fields(self) -> [&'static str; 2] {
        if self == Self::Input { ["offset", "data"] } else { ["chunk.offset", "chunk.data"] }
    }
}

/// The end of a transfer: the runner sent a message other than a refusal.
pub(crate) struct Poured {
    /// The message of the runner.
    pub(crate) answer: ExchangeFromRunner,
    /// Whether the runner was already informed that no more data follows.
    pub(crate) complete: bool,
    /// The offset after the last byte of the client or of the runner's initial bytes, whichever is
    /// larger.
    pub(crate) reached: u64,
    /// Whether the client closed the input.
    pub(crate) closed: bool,
}

impl Exchange {
    /// Forwards the client's data until the runner answers.
    ///
    /// # Errors
    /// The runner's refusal; `Invalid` or `OutOfRange` for pieces that are out of order; the error of
    /// the client's stream; `Unavailable` if client or runner is idle for too long.
    pub(crate) async fn pour(&mut self, pieces: &mut Pieces, start: Start) -> Result<Poured, ApiError> {
        let timed = start.what != What::Input;
        let to = self.to.clone();
        let mut position = ClientPosition { start, next: None, closed: false };
        let mut waiting: Option<ExchangeToRunner> = None;
        let (mut open, mut ended) = (true, false);
        loop {
            // It is the client's turn only after everything that it sent has been forwarded.
            let clients_turn = open && waiting.is_none() && !ended;
            let deadline = Instant::now() + self.patience(clients_turn);
            tokio::select! {
                biased;
                () = self.inner.cancel.cancelled() => return Err(self.stopping()),
                heard = self.from.next() => {
                    let answer = self.read(heard)?;
                    let (reached, closed) = (position.reached(), position.closed);
                    return Ok(Poured { answer, complete: ended, reached, closed });
                }
                permit = to.reserve(), if waiting.is_some() => {
                    let Ok(permit) = permit else { return Err(self.broken_off().await) };
                    if let Some(message) = waiting.take() {
                        ended = matches!(message, ExchangeToRunner::End { .. });
                        let bytes = length(&message);
                        permit.send(message);
                        self.passed(bytes);
                    }
                }
                piece = pieces.next(), if open && waiting.is_none() => match piece {
                    Some(piece) => waiting = position.take(piece?)?.map(chunk),
                    None => {
                        open = false;
                        waiting = (!ended).then(|| position.end()).transpose()?;
                    }
                },
                () = sleep_until(deadline), if timed => {
                    return Err(if clients_turn { self.idle() } else { self.silent() });
                }
            }
            if waiting.is_none() && position.closed && !ended {
                waiting = Some(position.end()?);
            }
        }
    }

    fn patience(&self, clients_turn: bool) -> Duration {
        let limits = &self.inner.limits;
        if clients_turn { limits.transfer_idle } else { limits.exchange_answer_wait }
    }

    /// Returns the error for a runner that accepts no more data: its refusal, or its disconnection.
    async fn broken_off(&mut self) -> ApiError {
        match self.hear().await {
            Ok(_) => self.misbehaved(Violation::WrongKind),
            Err(error) => error,
        }
    }
}

fn chunk((offset, data): (u64, Bytes)) -> ExchangeToRunner {
    ExchangeToRunner::Chunk { offset, data }
}

fn length(message: &ExchangeToRunner) -> usize {
    if let ExchangeToRunner::Chunk { data, .. } = message { data.len() } else { 0 }
}

/// The position of the client.
struct ClientPosition {
    start: Start,
    /// The offset at which the next piece must begin. `None` before the first piece.
    next: Option<u64>,
    /// Whether the client has closed the input.
    closed: bool,
}

impl ClientPosition {
    /// Returns the part of a piece that the runner does not have yet.
    fn take(&mut self, piece: Piece) -> Result<Option<(u64, Bytes)>, ApiError> {
        let [offset_field, data_field] = self.start.what.fields();
        let Piece { offset, mut data, closes } = piece;
        if self.closed {
            return Err(invalid(data_field, "was sent after the end of the input".to_owned()));
        }
        let length = data.len();
        if length > TRANSFER_CHUNK_BYTES {
            return Err(invalid(data_field, format!("has {length} bytes, at most {TRANSFER_CHUNK_BYTES}")));
        }
        let Some(end) = offset.checked_add(length as u64) else {
            return Err(invalid(offset_field, "is too large".to_owned()));
        };
        self.check_offset(offset, end)?;
        self.next = Some(end);
        self.closed = closes;
        let known = self.start.ready.saturating_sub(offset).min(length as u64);
        drop(data.split_to(usize::try_from(known).unwrap_or(length)));
        Ok((!data.is_empty()).then_some((offset.saturating_add(known), data)))
    }

    fn check_offset(&self, offset: u64, end: u64) -> Result<(), ApiError> {
        let Start { ready, what } = self.start;
        let [offset_field, data_field] = what.fields();
        match self.next {
            Some(next) if offset != next => {
                let problem = format!("is {offset}, but the previous message ended at {next}");
                return Err(invalid(offset_field, problem));
            }
            None if offset > ready => {
                let message =
                    format!("offset {offset} is past the end of the {ready} bytes that were received");
                return Err(ApiError::Exchange(ExchangeRefusal::out_of_range(message, ready)));
            }
            _ => {}
        }
        match what.size() {
            Some(size) if end > size => {
                let problem = format!("ends at {end}, but the header states {size} bytes");
                Err(invalid(data_field, problem))
            }
            _ => Ok(()),
        }
    }

    fn reached(&self) -> u64 {
        self.start.ready.max(self.next.unwrap_or_default())
    }

    /// Returns the message for the end of the client's data.
    fn end(&self) -> Result<ExchangeToRunner, ApiError> {
        let (Start { ready, what }, reached) = (self.start, self.reached());
        if let (What::Upload { .. }, Some(next)) = (what, self.next)
            && next < ready
        {
            let problem = format!(
                "belongs to a transfer with {ready} bytes, but only {next} were sent; send the same bytes \
                 again, or use another transfer_id"
            );
            return Err(invalid("header.transfer_id", problem));
        }
        match what.size() {
            Some(size) if reached < size => {
                let message = format!("the upload ended after {reached} of {size} bytes");
                Err(ApiError::Exchange(ExchangeRefusal::incomplete(message, reached)))
            }
            _ => Ok(ExchangeToRunner::End { close: self.closed }),
        }
    }
}

fn invalid(field: &str, description: String) -> ApiError {
    ApiError::Invalid(vec![FieldViolation { field: field.to_owned(), description }])
}
