//! The reads of one server on one job's output. Each read grants credit for a number of bytes. Reads take turns, one
//! chunk each.
//!
//! The type of a point in time is a parameter: the runner uses its clock's, and a simulation can use a number.

use std::{collections::VecDeque, mem, ops::Add, time::Duration};

use airlock_domain::{
    OutputStream, PushFromRunner, PushToRunner,
    limits::{CHUNK_BYTES, READS_AT_ONCE},
};

use super::layout::{Piece, StreamState};

/// After a first chunk, the last bytes of a growing stream are held back for this time, to be sent with later ones.
const COALESCE: Duration = Duration::from_millis(5);

/// A point in time.
pub trait Time: Copy + Ord + Add<Duration, Output = Self> {}

impl<T: Copy + Ord + Add<Duration, Output = Self>> Time for T {}

/// A violation of the protocol by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The server exceeds [`READS_AT_ONCE`].
    #[error("too many reads at once")]
    TooMany,
    /// A read with this ID is in progress.
    #[error("the read id is already in use")]
    Duplicate,
}

/// One read of the server.
#[derive(Debug)]
struct Read<T> {
    id: u32,
    stream: OutputStream,
    offset: u64,
    credit: u64,
    follow: bool,
    last_sent: Option<T>,
    /// The bytes at `offset`, if they were already read together with the gap before them.
    held: Vec<u8>,
}

/// The time at which a read can be served.
#[derive(Debug, PartialEq, Eq)]
enum Ready<T> {
    Now,
    /// At this time, or earlier if more output arrives.
    At(T),
    WhenItGrows,
}

/// The next thing to do for the reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<T> {
    /// Answer the read at the front.
    Serve,
    /// No read can be served until this time or a change of a stream.
    Wait(Option<T>),
}

/// The input for an answer to the read at the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The state of the stream.
    State,
    /// A piece at this offset.
    Piece {
        /// The offset.
        offset: u64,
        /// The maximum number of bytes, at least one.
        max: usize,
    },
    /// No bytes: they were read before.
    Nothing,
}

/// The input that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The stream is not kept separately.
    NoStream,
    /// The state of the stream.
    State(StreamState),
    /// A piece. After a gap, also the bytes that follow it, at most the maximum.
    Piece(Piece, Vec<u8>),
    /// The bytes that were read before.
    Before,
}

/// The reads of one server, the next one first.
#[derive(Debug)]
pub struct Reads<T> {
    queue: VecDeque<Read<T>>,
}

impl<T> Default for Reads<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new() }
    }
}

impl<T: Time> Reads<T> {
    /// Takes a message of the server.
    ///
    /// # Errors
    /// If the server violates the protocol.
    pub fn take(&mut self, message: &PushToRunner) -> Result<(), ReadError> {
        match *message {
            PushToRunner::Cancel { read_id } => self.queue.retain(|read| read.id != read_id),
            PushToRunner::Read { read_id, stream, offset, max_bytes, follow } => {
                if self.queue.len() >= READS_AT_ONCE {
                    return Err(ReadError::TooMany);
                }
                if self.queue.iter().any(|read| read.id == read_id) {
                    return Err(ReadError::Duplicate);
                }
                let (id, credit) = (read_id, max_bytes);
                let (last_sent, held) = (None, Vec::new());
                self.queue.push_back(Read { id, stream, offset, credit, follow, last_sent, held });
            }
        }
        Ok(())
    }

    /// Moves the next read that can be served to the front.
    pub fn next(&mut self, now: T, stdout: StreamState, stderr: StreamState) -> Next<T> {
        let mut wake: Option<T> = None;
        for index in 0..self.queue.len() {
            let Some(read) = self.queue.get(index) else { break };
            let state = match read.stream {
                OutputStream::Stdout => stdout,
                OutputStream::Stderr => stderr,
            };
            match read.ready(state) {
                Ready::WhenItGrows => {}
                Ready::At(then) if then > now => {
                    wake = Some(wake.map_or(then, |wake| wake.min(then)));
                }
                Ready::Now | Ready::At(_) => {
                    self.queue.rotate_left(index);
                    return Next::Serve;
                }
            }
        }
        Next::Wait(wake)
    }

    /// Returns the stream of the read at the front, and the input that its answer needs. `None` without reads.
    #[must_use]
    pub fn front(&self) -> Option<(OutputStream, Need)> {
        let read = self.queue.front()?;
        let need = match read.held.is_empty() {
            _ if read.credit == 0 => Need::State,
            false => Need::Nothing,
            true => {
                let max = usize::try_from(read.credit).unwrap_or(usize::MAX).min(CHUNK_BYTES);
                Need::Piece { offset: read.offset, max }
            }
        };
        Some((read.stream, need))
    }

    /// Returns the answer to the read at the front. The read then moves to the back, or is done. `None` if there is
    /// nothing to send now.
    pub fn answer(&mut self, found: Found, now: T) -> Option<PushFromRunner> {
        let mut read = self.queue.pop_front()?;
        let piece = match found {
            Found::NoStream => {
                return Some(PushFromRunner::Done { read_id: read.id, offset: 0, end: true, total: 0 });
            }
            Found::State(state) => return Some(read.done(state)),
            Found::Before => Piece::Data(mem::take(&mut read.held)),
            Found::Piece(piece, behind) => {
                read.held = behind;
                piece
            }
        };
        let (read_id, offset) = (read.id, read.offset);
        let answer = match piece {
            Piece::Data(data) => {
                let len = data.len() as u64;
                read.offset += len;
                read.credit = read.credit.saturating_sub(len);
                read.last_sent = Some(now);
                Some(PushFromRunner::Chunk { read_id, offset, data: data.into() })
            }
            Piece::Gap { to } => {
                read.offset = to;
                Some(PushFromRunner::Gap { read_id, from: offset, to })
            }
            Piece::End(state) if state.complete || !read.follow => return Some(read.done(state)),
            Piece::End(_) => None,
        };
        self.queue.push_back(read);
        answer
    }
}

impl<T: Time> Read<T> {
    fn ready(&self, state: StreamState) -> Ready<T> {
        let there = state.total.saturating_sub(self.offset);
        if self.credit == 0 || state.complete || !self.follow {
            return Ready::Now;
        }
        if there == 0 {
            return Ready::WhenItGrows;
        }
        let whole = there.min(self.credit) >= (CHUNK_BYTES as u64).min(self.credit);
        match self.last_sent {
            Some(sent) if !whole => Ready::At(sent + COALESCE),
            _ => Ready::Now,
        }
    }

    /// Returns the answer that ends the read, with the stream's current position.
    fn done(&self, StreamState { total, complete }: StreamState) -> PushFromRunner {
        let end = complete && self.offset >= total;
        let offset = if end { total } else { self.offset };
        PushFromRunner::Done { read_id: self.id, offset, end, total }
    }
}

#[cfg(test)]
mod tests;
