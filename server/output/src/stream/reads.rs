//! The reads in progress on one output stream, and the validation of everything that the runner sends.
//!
//! The runner is not trusted: data must be in order, within the granted credit, and belong to a requested read. Plain
//! data without I/O.

use std::collections::{HashMap, VecDeque};

use airlock_domain::{OutputStream, PushFromRunner, PushToRunner, limits::CHUNK_BYTES};
use tokio::time::Instant;

use super::ring::Piece;

/// The number of gaps per read that are permitted in addition to one per chunk. A spool can have lost its beginning,
/// and has one range cut from its middle. That range grows while the command writes faster than it is read, at worst
/// after each chunk.
const GAPS_PER_READ: u64 = 16;

/// The minimum average chunk size of existing data. The overhead of much smaller chunks would exceed their data.
const SMALL_CHUNK_BYTES: u64 = 1024;

/// The number of cancelled reads that are remembered, because their answers can already be on the way.
const CANCELLED_REMEMBERED: usize = 64;

/// A protocol violation by a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    #[error("a second hello")]
    SecondHello,
    #[error("an answer to a read that was not requested")]
    UnknownRead,
    #[error("bytes out of order")]
    OutOfOrder,
    #[error("a chunk that is empty or too long")]
    ChunkSize,
    #[error("more bytes than its credit permits")]
    OverCredit,
    #[error("too many pieces for their number of bytes")]
    TooManyPieces,
    #[error("an end at an invalid position")]
    WrongEnd,
    #[error("no bytes at a position that had bytes before")]
    WentBack,
    #[error("a read was not answered in time")]
    Silent,
}

/// The recipient of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// All readers of a stream, through the ring.
    Ring,
    /// The reader with this claim.
    Claim(u64),
}

/// A valid message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    Piece {
        target: Target,
        stream: OutputStream,
        piece: Piece,
    },
    /// The read from `start` is complete up to `reached`.
    Done {
        target: Target,
        stream: OutputStream,
        start: u64,
        reached: u64,
        end: bool,
        /// The length of the stream, as reported by the runner.
        total: u64,
    },
    /// An answer to a read that was cancelled meanwhile.
    Late,
}

#[derive(Debug)]
struct Read {
    target: Target,
    stream: OutputStream,
    start: u64,
    next: u64,
    credit: u64,
    /// The number of chunks left. `None` means no limit, because a command can write single bytes.
    chunks_left: Option<u64>,
    gaps_left: u64,
    /// The time of the request or of the latest answer.
    heard: Instant,
}

/// The reads of one output stream.
#[derive(Debug, Default)]
pub(super) struct Reads {
    under_way: HashMap<u32, Read>,
    cancelled: VecDeque<u32>,
    latest_id: u32,
}

impl Reads {
    /// Returns the number of individual reads in progress.
    pub(super) fn of_claims(&self) -> usize {
        self.under_way.values().filter(|read| read.target != Target::Ring).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Starts a read and returns its ID and message. A read for the ring waits for bytes that are not written yet.
    pub(super) fn begin(
        &mut self,
        target: Target,
        stream: OutputStream,
        offset: u64,
        credit: u64,
        now: Instant,
    ) -> (u32, PushToRunner) {
        self.latest_id = self.latest_id.wrapping_add(1);
        let follow = target == Target::Ring;
        let read = Read {
            target,
            stream,
            start: offset,
            next: offset,
            credit,
            chunks_left: (!follow).then(|| credit / SMALL_CHUNK_BYTES + GAPS_PER_READ),
            gaps_left: GAPS_PER_READ,
            heard: now,
        };
        self.under_way.insert(self.latest_id, read);
        let message =
            PushToRunner::Read { read_id: self.latest_id, stream, offset, max_bytes: credit, follow };
        (self.latest_id, message)
    }

    /// Cancels a read and returns the message for the runner.
    pub(super) fn cancel(&mut self, read_id: u32) -> Option<PushToRunner> {
        self.under_way.remove(&read_id)?;
        if self.cancelled.len() == CANCELLED_REMEMBERED {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(read_id);
        Some(PushToRunner::Cancel { read_id })
    }

    /// Validates a message.
    pub(super) fn accept(&mut self, message: PushFromRunner, now: Instant) -> Result<Accepted, Violation> {
        let read_id = match &message {
            PushFromRunner::Hello { .. } => return Err(Violation::SecondHello),
            PushFromRunner::Chunk { read_id, .. }
            | PushFromRunner::Gap { read_id, .. }
            | PushFromRunner::Done { read_id, .. } => *read_id,
        };
        let Some(read) = self.under_way.get_mut(&read_id) else {
            let late = self.cancelled.contains(&read_id);
            return if late { Ok(Accepted::Late) } else { Err(Violation::UnknownRead) };
        };
        read.heard = now;
        let (target, stream) = (read.target, read.stream);
        match message {
            PushFromRunner::Hello { .. } => Err(Violation::SecondHello),
            PushFromRunner::Chunk { offset, data, .. } => {
                read.take_chunk(offset, data.len())?;
                Ok(Accepted::Piece { target, stream, piece: Piece::data(offset, data) })
            }
            PushFromRunner::Gap { from, to, .. } => {
                read.take_gap(from, to)?;
                Ok(Accepted::Piece { target, stream, piece: Piece::Gap { from, to } })
            }
            PushFromRunner::Done { offset, end, total, .. } => {
                let start = read.start;
                read.check_done(offset, end, total)?;
                self.under_way.remove(&read_id);
                Ok(Accepted::Done { target, stream, start, reached: offset, end, total })
            }
        }
    }

    /// Returns the start of the longest silence of the reads that the runner must answer: individual reads, and all
    /// reads after the execution has ended.
    pub(super) fn silent_since(&self, ended: Option<Instant>) -> Option<Instant> {
        let waited = |read: &Read| match read.target {
            Target::Claim(_) => Some(read.heard),
            Target::Ring => ended.map(|ended| ended.max(read.heard)),
        };
        self.under_way.values().filter_map(waited).min()
    }
}

impl Read {
    fn take_chunk(&mut self, offset: u64, length: usize) -> Result<(), Violation> {
        if length == 0 || length > CHUNK_BYTES {
            return Err(Violation::ChunkSize);
        }
        if offset != self.next {
            return Err(Violation::OutOfOrder);
        }
        let length = length as u64;
        self.credit = self.credit.checked_sub(length).ok_or(Violation::OverCredit)?;
        if let Some(left) = self.chunks_left {
            self.chunks_left = Some(left.checked_sub(1).ok_or(Violation::TooManyPieces)?);
        }
        self.next = self.next.checked_add(length).ok_or(Violation::OutOfOrder)?;
        self.gaps_left = self.gaps_left.saturating_add(1);
        Ok(())
    }

    fn take_gap(&mut self, from: u64, to: u64) -> Result<(), Violation> {
        if from != self.next || to <= from {
            return Err(Violation::OutOfOrder);
        }
        self.gaps_left = self.gaps_left.checked_sub(1).ok_or(Violation::TooManyPieces)?;
        self.next = to;
        Ok(())
    }

    fn check_done(&self, offset: u64, end: bool, total: u64) -> Result<(), Violation> {
        // If the stream ended before the start of the read, the answer contains its end.
        let ended_before = end && self.next == self.start && offset < self.start;
        if offset != self.next && !ended_before {
            return Err(Violation::OutOfOrder);
        }
        let contradicts = match end {
            true => total != offset,
            // If no data was sent, no data may be available, unless there was no credit.
            false if self.next == self.start => self.credit > 0 && total > offset,
            false => total < offset,
        };
        if contradicts {
            return Err(Violation::WrongEnd);
        }
        // The same read would be answered again at once without progress.
        if self.target == Target::Ring && !end && self.credit > 0 {
            return Err(Violation::WrongEnd);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const CREDIT: u64 = 64 * 1024;

    fn chunk(offset: u64, length: usize) -> PushFromRunner {
        PushFromRunner::Chunk { read_id: 1, offset, data: Bytes::from(vec![0; length]) }
    }

    fn answers(target: Target, messages: Vec<PushFromRunner>) -> Result<Accepted, Violation> {
        let (mut reads, now) = (Reads::default(), Instant::now());
        reads.begin(target, OutputStream::Stdout, 100, CREDIT, now);
        messages.into_iter().try_fold(Accepted::Late, |_, message| reads.accept(message, now))
    }

    #[test]
    fn what_a_runner_must_not_do_is_told_apart() {
        let claim = Target::Claim(1);
        let done = |offset, end| PushFromRunner::Done { read_id: 1, offset, end, total: offset };
        let total = |offset, end, total| PushFromRunner::Done { read_id: 1, offset, end, total };
        let gap = |from, to| PushFromRunner::Gap { read_id: 1, from, to };
        let unknown = PushFromRunner::Done { read_id: 2, offset: 100, end: true, total: 100 };
        let cases = [
            (claim, vec![chunk(99, 5)], Violation::OutOfOrder),
            (claim, vec![chunk(100, 5), chunk(104, 5)], Violation::OutOfOrder),
            (claim, vec![chunk(100, 0)], Violation::ChunkSize),
            (claim, vec![chunk(100, CHUNK_BYTES + 1)], Violation::ChunkSize),
            (claim, vec![chunk(100, 32768), chunk(32868, 32768), chunk(65636, 1)], Violation::OverCredit),
            (claim, (100..200).map(|offset| chunk(offset, 1)).collect(), Violation::TooManyPieces),
            (claim, (100..200).map(|offset| gap(offset, offset + 1)).collect(), Violation::TooManyPieces),
            (claim, vec![gap(100, 100)], Violation::OutOfOrder),
            (claim, vec![gap(101, 105)], Violation::OutOfOrder),
            (claim, vec![gap(100, u64::MAX), chunk(u64::MAX, 5)], Violation::OutOfOrder),
            (claim, vec![done(105, false)], Violation::OutOfOrder),
            (claim, vec![done(99, false)], Violation::OutOfOrder),
            (claim, vec![done(100, false), done(100, false)], Violation::UnknownRead),
            (claim, vec![unknown], Violation::UnknownRead),
            (Target::Ring, vec![done(100, false)], Violation::WrongEnd),
            (claim, vec![total(100, true, 101)], Violation::WrongEnd),
            (claim, vec![chunk(100, 5), total(105, false, 104)], Violation::WrongEnd),
        ];
        for (target, messages, violation) in cases {
            assert_eq!(answers(target, messages.clone()), Err(violation), "{messages:?}");
        }
    }

    #[test]
    fn a_gap_behind_each_chunk_is_what_a_fast_command_makes() {
        let (mut reads, now) = (Reads::default(), Instant::now());
        reads.begin(Target::Ring, OutputStream::Stdout, 0, 512 * 1024, now);
        for step in 0..128 {
            let at = step * 8192;
            assert!(reads.accept(chunk(at, 4096), now).is_ok(), "{step}");
            let gap = PushFromRunner::Gap { read_id: 1, from: at + 4096, to: at + 8192 };
            assert!(reads.accept(gap, now).is_ok(), "{step}");
        }
    }

    #[test]
    fn a_stream_that_ended_before_the_read_says_where() {
        let done = PushFromRunner::Done { read_id: 1, offset: 40, end: true, total: 40 };
        let accepted = answers(Target::Claim(1), vec![done]);
        assert!(matches!(accepted, Ok(Accepted::Done { start: 100, reached: 40, end: true, .. })));
    }

    #[test]
    fn answers_that_cross_a_cancellation_are_dropped() {
        let (mut reads, now) = (Reads::default(), Instant::now());
        let (id, _) = reads.begin(Target::Ring, OutputStream::Stdout, 100, CREDIT, now);
        assert_eq!(reads.cancel(id), Some(PushToRunner::Cancel { read_id: id }));
        assert_eq!(reads.accept(chunk(100, 5), now), Ok(Accepted::Late));
        assert_eq!(reads.cancel(id), None);
    }
}
