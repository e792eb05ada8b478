//! One output stream of a live execution, and a reader's place in it.
//!
//! Plain data, used under the lock of the [`super::hub`].

use std::{collections::VecDeque, time::Duration};

use airlock_domain::OutputStream;
use tokio::time::Instant;

use super::{
    reads::Violation,
    ring::{Piece, Ring},
};

/// The time after which a reader that is past the written bytes asks again.
const REST: Duration = Duration::from_secs(1);

/// The position of a reader in one stream.
#[derive(Debug)]
pub(super) struct ReaderPosition {
    pub(super) stream: OutputStream,
    /// The offset of the next byte.
    pub(super) offset: u64,
    /// The reader's individual read, if there is one.
    pub(super) claim: Option<u64>,
    rests_until: Option<Instant>,
}

impl ReaderPosition {
    pub(super) fn new(stream: OutputStream, offset: u64) -> Self {
        Self { stream, offset, claim: None, rests_until: None }
    }

    /// Returns whether it is too early to ask again.
    pub(super) fn rests(&self, now: Instant) -> bool {
        self.rests_until.is_some_and(|until| now < until)
    }

    pub(super) fn rest(&mut self, now: Instant) {
        self.rests_until = Some(now + REST);
    }

    pub(super) fn rest_over(&mut self) {
        self.rests_until = None;
    }
}

/// The state of an individual read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Queued,
    UnderWay,
    Over {
        /// Whether the runner had no data there and the stream has not ended.
        empty: bool,
        /// The length of the stream, if the answer was complete.
        total: Option<u64>,
    },
}

impl Phase {
    /// Ended without an answer. The reader asks again if it still needs the data.
    pub(super) const UNANSWERED: Self = Self::Over { empty: false, total: None };
}

/// The individual read of one reader, with the pieces that the reader has not taken yet.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) stream: OutputStream,
    pub(super) offset: u64,
    /// Whether a reader past the ring only checks for data.
    pub(super) probe: bool,
    /// The maximum number of bytes to request.
    pub(super) want: u64,
    pub(super) pieces: VecDeque<Piece>,
    pub(super) phase: Phase,
}

impl Claim {
    pub(super) fn new(place: &ReaderPosition, probe: bool, want: u64) -> Self {
        let (stream, offset) = (place.stream, place.offset);
        Self { stream, offset, probe, want, pieces: VecDeque::new(), phase: Phase::Queued }
    }

    pub(super) fn cost(&self) -> usize {
        self.pieces.iter().map(Piece::cost).sum()
    }
}

/// One output stream of a live execution.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) ring: Ring,
    /// Whether the first reader has set the start of the ring.
    placed: bool,
    /// The furthest position of a reader of the ring, or `None` without readers.
    pub(super) wanted: Option<u64>,
    /// The ID of the read that fills the ring.
    pub(super) follow: Option<u32>,
    /// The number of bytes that are known to be written.
    pub(super) known_end: u64,
    /// The length of the stream, known once it is complete.
    pub(super) length: Option<u64>,
}

impl Track {
    pub(super) fn new(ring_bytes: usize) -> Self {
        Self {
            ring: Ring::new(ring_bytes),
            placed: false,
            wanted: None,
            follow: None,
            known_end: 0,
            length: None,
        }
    }

    /// Starts the ring at the position of its first reader.
    pub(super) fn place_ring(&mut self, offset: u64) {
        if !self.placed {
            self.placed = true;
            self.ring.reset(offset);
        }
    }

    /// Records that a reader of the ring has reached `offset`.
    pub(super) fn want(&mut self, offset: u64) {
        self.wanted = Some(self.wanted.map_or(offset, |wanted| wanted.max(offset)));
    }

    /// Returns whether the ring needs data: it has a reader, and its head is less than half of
    /// `ahead` past that reader.
    pub(super) fn lacks(&self, ahead: u64) -> bool {
        let near = |wanted: u64| self.ring.head() < wanted.saturating_add(ahead / 2);
        self.follow.is_none()
            && self.length.is_none_or(|end| self.ring.head() < end)
            && self.wanted.is_some_and(near)
    }

    /// Records that the stream has at least `end` bytes.
    pub(super) fn reach(&mut self, end: u64) -> Result<(), Violation> {
        if self.length.is_some_and(|length| end > length) {
            return Err(Violation::WrongEnd);
        }
        self.known_end = self.known_end.max(end);
        Ok(())
    }

    /// Records that the stream is complete.
    pub(super) fn end_at(&mut self, length: u64) -> Result<(), Violation> {
        if self.length.is_some_and(|known| known != length) || self.known_end > length {
            return Err(Violation::WrongEnd);
        }
        self.length = Some(length);
        Ok(())
    }

    pub(super) fn let_go(&mut self) {
        let head = self.ring.head();
        self.ring.reset(head);
        self.wanted = None;
    }
}
