//! What a client streams, on its way to a runner: in order, no faster than the runner takes it, and at
//! most one piece of it held here. The runner is listened to all the time, so that its no ends the call
//! while the client still sends.

use std::time::Duration;

use airlock_proto::{
    domain::{ExchangeFromRunner, ExchangeToRunner},
    limits::TRANSFER_CHUNK_BYTES,
};
use bytes::Bytes;
use futures::{StreamExt as _, stream::BoxStream};
use tokio::time::{Instant, sleep_until};

use super::{Exchange, ExchangeRefusal, Violation};
use crate::api::{ApiError, FieldViolation};

/// Bytes of an upload or an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Of the first byte.
    pub offset: u64,
    /// At most [`TRANSFER_CHUNK_BYTES`].
    pub data: Bytes,
    /// The command gets the end of its input after it.
    pub closes: bool,
}

/// What a client sends, as it comes. It ends where the client said that this is all; a stream that was
/// cut is an error.
pub type Pieces = BoxStream<'static, Result<Piece, ApiError>>;

/// How a pouring begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// What the runner has, in bytes.
    pub(crate) ready: u64,
    /// What is poured.
    pub(crate) what: What,
}

/// What is poured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A file or an archive. Client and runner have to do something within the limits.
    Upload {
        /// How many bytes will come, if that is known.
        size: Option<u64>,
    },
    /// The input of a command, for as long as that and its writer like.
    Input,
}

impl What {
    fn size(self) -> Option<u64> {
        if let Self::Upload { size } = self { size } else { None }
    }

    /// How the contract calls the offset and the data of a piece.
    fn fields(self) -> [&'static str; 2] {
        if self == Self::Input { ["offset", "data"] } else { ["chunk.offset", "chunk.data"] }
    }
}

/// How a pouring ended: the runner has said something other than no.
pub(crate) struct Poured {
    /// What.
    pub(crate) answer: ExchangeFromRunner,
    /// After it was told that nothing more comes.
    pub(crate) complete: bool,
    /// Bytes from the start to where the client has come, or to what the runner had before.
    pub(crate) reached: u64,
    /// The end of the input was asked for.
    pub(crate) closed: bool,
}

impl Exchange {
    /// Passes on what a client sends, until the runner answers.
    ///
    /// # Errors
    /// What the runner refused; `Invalid` and `OutOfRange` for pieces that are not in order; what the
    /// client's stream broke with; `Unavailable` if one of them does nothing for too long.
    pub(crate) async fn pour(&mut self, pieces: &mut Pieces, start: Start) -> Result<Poured, ApiError> {
        let timed = start.what != What::Input;
        let to = self.to.clone();
        let mut source = Source { start, next: None, closed: false };
        let mut waiting: Option<ExchangeToRunner> = None;
        let (mut open, mut ended) = (true, false);
        loop {
            // The client's turn is only when all that it sent has been passed on.
            let clients_turn = open && waiting.is_none() && !ended;
            let deadline = Instant::now() + self.patience(clients_turn);
            tokio::select! {
                biased;
                () = self.inner.cancel.cancelled() => return Err(self.stopping()),
                heard = self.from.next() => {
                    let answer = self.read(heard)?;
                    let (reached, closed) = (source.reached(), source.closed);
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
                    Some(piece) => waiting = source.take(piece?)?.map(chunk),
                    None => {
                        open = false;
                        waiting = (!ended).then(|| source.end()).transpose()?;
                    }
                },
                () = sleep_until(deadline), if timed => {
                    return Err(if clients_turn { self.idle() } else { self.silent() });
                }
            }
            if waiting.is_none() && source.closed && !ended {
                waiting = Some(source.end()?);
            }
        }
    }

    fn patience(&self, clients_turn: bool) -> Duration {
        let limits = &self.inner.limits;
        if clients_turn { limits.transfer_idle } else { limits.exchange_answer_wait }
    }

    /// The runner takes nothing any more: it has said why, or it is gone.
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

/// Where the client is.
struct Source {
    start: Start,
    /// Where its next piece must begin; none before the first.
    next: Option<u64>,
    /// It has closed the input.
    closed: bool,
}

impl Source {
    /// What of a piece the runner does not have yet.
    fn take(&mut self, piece: Piece) -> Result<Option<(u64, Bytes)>, ApiError> {
        let [offset_field, data_field] = self.start.what.fields();
        let Piece { offset, mut data, closes } = piece;
        if self.closed {
            return Err(invalid(data_field, "came after the end of the input".to_owned()));
        }
        let length = data.len();
        if length > TRANSFER_CHUNK_BYTES {
            return Err(invalid(data_field, format!("has {length} bytes, at most {TRANSFER_CHUNK_BYTES}")));
        }
        let Some(end) = offset.checked_add(length as u64) else {
            return Err(invalid(offset_field, "is too large".to_owned()));
        };
        self.check_place(offset, end)?;
        self.next = Some(end);
        self.closed = closes;
        let known = self.start.ready.saturating_sub(offset).min(length as u64);
        drop(data.split_to(usize::try_from(known).unwrap_or(length)));
        Ok((!data.is_empty()).then_some((offset.saturating_add(known), data)))
    }

    fn check_place(&self, offset: u64, end: u64) -> Result<(), ApiError> {
        let Start { ready, what } = self.start;
        let [offset_field, data_field] = what.fields();
        match self.next {
            Some(next) if offset != next => {
                let problem = format!("is {offset}, but the one before it ended at {next}");
                return Err(invalid(offset_field, problem));
            }
            None if offset > ready => {
                let message = format!("offset {offset} is past the {ready} bytes that are there");
                return Err(ApiError::Exchange(ExchangeRefusal::out_of_range(message, ready)));
            }
            _ => {}
        }
        match what.size() {
            Some(size) if end > size => {
                let problem = format!("goes on to {end}, but the header says {size} bytes");
                Err(invalid(data_field, problem))
            }
            _ => Ok(()),
        }
    }

    fn reached(&self) -> u64 {
        self.start.ready.max(self.next.unwrap_or_default())
    }

    /// The client has sent all.
    fn end(&self) -> Result<ExchangeToRunner, ApiError> {
        let (Start { ready, what }, reached) = (self.start, self.reached());
        if let (What::Upload { .. }, Some(next)) = (what, self.next)
            && next < ready
        {
            let problem = format!(
                "is that of a transfer with {ready} bytes, and {next} have come; an upload goes on with the same bytes, and another needs another transfer_id"
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
