//! One output stream of a live execution as the server knows it, and a reader's place in it.
//!
//! Plain data, used under the lock of the [`super::hub`].

use std::{collections::VecDeque, time::Duration};

use airlock_proto::domain::OutputStream;
use tokio::time::Instant;

use super::{
    reads::Violation,
    ring::{Piece, Ring},
};

/// How long a reader that is further on than what is written waits before it asks again.
const REST: Duration = Duration::from_secs(1);

/// A reader's place in one stream.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) stream: OutputStream,
    /// Of the next byte it wants.
    pub(super) offset: u64,
    /// Its own read, while it has one.
    pub(super) claim: Option<u64>,
    rests_until: Option<Instant>,
}

impl Place {
    pub(super) fn new(stream: OutputStream, offset: u64) -> Self {
        Self { stream, offset, claim: None, rests_until: None }
    }

    /// Whether it is too early to ask again.
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

/// Where a reader's own read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Queued,
    UnderWay,
    Over {
        /// The runner answered, had nothing there, and the stream is not at its end.
        empty: bool,
        /// Length of the stream, if the runner answered to the end.
        total: Option<u64>,
    },
}

impl Phase {
    /// Over without an answer; whoever still wants it asks again.
    pub(super) const UNANSWERED: Self = Self::Over { empty: false, total: None };
}

/// A reader's own read: what it has been given and has not taken yet.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) stream: OutputStream,
    pub(super) offset: u64,
    /// Of a reader ahead of the ring, to see whether there is anything.
    pub(super) probe: bool,
    /// It asks for at most so many bytes.
    pub(super) want: u64,
    pub(super) pieces: VecDeque<Piece>,
    pub(super) phase: Phase,
}

impl Claim {
    pub(super) fn new(place: &Place, probe: bool, want: u64) -> Self {
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
    /// Whether the first reader has said where the ring is to begin.
    placed: bool,
    /// The furthest place of a reader of the ring; none while it has none.
    pub(super) wanted: Option<u64>,
    /// The read that feeds the ring.
    pub(super) follow: Option<u32>,
    /// As much as is known to be written.
    pub(super) known_end: u64,
    /// Known once the stream is complete.
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

    /// Begins the ring where its first reader is.
    pub(super) fn place_ring(&mut self, offset: u64) {
        if !self.placed {
            self.placed = true;
            self.ring.reset(offset);
        }
    }

    /// Notes that a reader of the ring has got as far as `offset`.
    pub(super) fn want(&mut self, offset: u64) {
        self.wanted = Some(self.wanted.map_or(offset, |wanted| wanted.max(offset)));
    }

    /// Whether the ring should be fed: it has a reader, and is less than half of `ahead` further on.
    pub(super) fn lacks(&self, ahead: u64) -> bool {
        let near = |wanted: u64| self.ring.head() < wanted.saturating_add(ahead / 2);
        self.follow.is_none()
            && self.length.is_none_or(|end| self.ring.head() < end)
            && self.wanted.is_some_and(near)
    }

    /// Notes that the stream goes on at least to `end`.
    pub(super) fn reach(&mut self, end: u64) -> Result<(), Violation> {
        if self.length.is_some_and(|length| end > length) {
            return Err(Violation::WrongEnd);
        }
        self.known_end = self.known_end.max(end);
        Ok(())
    }

    /// Notes that the stream is complete.
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
