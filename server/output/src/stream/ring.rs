//! The ring: the newest part of one live output stream, shared by all readers.
//!
//! Plain data without clock or lock. It never waits for a reader: when it is full, it drops its
//! oldest data.

use std::collections::VecDeque;

use bytes::Bytes;

/// The overhead of a piece in bytes. It bounds the number of pieces in the ring if a command writes
/// single bytes.
const PIECE_COST: usize = 512;

/// The size below which chunks are copied, so that they do not keep the transport's buffer in memory.
const COPIED_BELOW: usize = 4 * 1024;

/// A contiguous part of an output stream. Clones share the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the output.
    Data {
        /// The offset of the first byte.
        offset: u64,
        /// At least one byte.
        data: Bytes,
    },
    /// A range that is no longer held.
    Gap {
        /// The first offset of the range.
        from: u64,
        /// The end of the range, exclusive.
        to: u64,
    },
}

impl Piece {
    /// Creates a piece. Copies few bytes out of a larger buffer.
    pub(super) fn data(offset: u64, data: Bytes) -> Self {
        let data = if data.len() < COPIED_BELOW { Bytes::copy_from_slice(&data) } else { data };
        Self::Data { offset, data }
    }

    /// Returns the offset of its first byte.
    pub(super) fn start(&self) -> u64 {
        match self {
            Self::Data { offset, .. } => *offset,
            Self::Gap { from, .. } => *from,
        }
    }

    /// Returns the offset after its last byte.
    pub(super) fn end(&self) -> u64 {
        match self {
            Self::Data { offset, data } => offset.saturating_add(data.len() as u64),
            Self::Gap { to, .. } => *to,
        }
    }

    /// Returns the cost of the piece in a ring or in a reader's buffer, in bytes.
    pub(super) fn cost(&self) -> usize {
        match self {
            Self::Data { data, .. } => PIECE_COST.saturating_add(data.len()),
            Self::Gap { .. } => PIECE_COST,
        }
    }

    /// Returns the part before `offset`, which must be after the start. Shares the bytes.
    pub(super) fn until(self, offset: u64) -> Self {
        match self {
            Self::Data { offset: start, mut data } => {
                data.truncate(usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX));
                Self::Data { offset: start, data }
            }
            Self::Gap { from, to } => Self::Gap { from, to: to.min(offset) },
        }
    }

    /// Returns the part from `offset`, which must be within this part. Shares the bytes.
    pub(super) fn cut(&self, offset: u64) -> Self {
        match self {
            Self::Data { offset: start, data } => {
                let skip = usize::try_from(offset.saturating_sub(*start)).unwrap_or(usize::MAX);
                Self::Data { offset, data: data.slice(skip.min(data.len())..) }
            }
            Self::Gap { to, .. } => Self::Gap { from: offset, to: *to },
        }
    }
}

/// The position of an offset relative to the ring.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Find {
    /// Inside the ring.
    Held(Piece),
    /// The next byte to arrive.
    Head,
    /// Already dropped, or before the start of the ring.
    Behind,
    /// Past the next byte to arrive.
    Ahead,
}

/// The newest part of one stream: contiguous from `tail` to `head`.
#[derive(Debug)]
pub(super) struct Ring {
    pieces: VecDeque<Piece>,
    tail: u64,
    head: u64,
    cost: usize,
    capacity: usize,
}

impl Ring {
    pub(super) fn new(capacity: usize) -> Self {
        Self { pieces: VecDeque::new(), tail: 0, head: 0, cost: 0, capacity }
    }

    /// Drops all data and restarts at `offset`.
    pub(super) fn reset(&mut self, offset: u64) {
        self.pieces = VecDeque::new();
        self.cost = 0;
        self.tail = offset;
        self.head = offset;
    }

    /// Returns the offset of the oldest byte.
    pub(super) fn tail(&self) -> u64 {
        self.tail
    }

    /// Returns the offset of the next byte to arrive.
    pub(super) fn head(&self) -> u64 {
        self.head
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the cost of the held data, at most the capacity.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// Appends a piece and drops the oldest data if the ring is full.
    pub(super) fn push(&mut self, piece: Piece) {
        debug_assert_eq!(piece.start(), self.head, "the reads check what they let through");
        self.head = piece.end();
        self.cost = self.cost.saturating_add(piece.cost());
        self.pieces.push_back(piece);
        while self.cost > self.capacity {
            let Some(oldest) = self.pieces.pop_front() else { break };
            self.cost = self.cost.saturating_sub(oldest.cost());
            self.tail = oldest.end();
        }
    }

    pub(super) fn find(&self, offset: u64) -> Find {
        if offset < self.tail {
            return Find::Behind;
        }
        if offset >= self.head {
            return if offset == self.head { Find::Head } else { Find::Ahead };
        }
        let index = self.pieces.partition_point(|piece| piece.end() <= offset);
        self.pieces.get(index).map_or(Find::Behind, |piece| Find::Held(piece.cut(offset)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(offset: u64, length: usize) -> Piece {
        Piece::data(offset, Bytes::from(vec![7; length]))
    }

    #[test]
    fn readers_share_the_bytes_of_a_large_chunk() {
        let mut ring = Ring::new(1 << 20);
        let chunk = Bytes::from(vec![1; 32 * 1024]);
        ring.push(Piece::data(0, chunk.clone()));
        let (Find::Held(Piece::Data { data: one, .. }), Find::Held(Piece::Data { data: other, .. })) =
            (ring.find(0), ring.find(100))
        else {
            panic!("both bytes are held");
        };
        assert_eq!(one.as_ptr(), chunk.as_ptr());
        assert_eq!(other.as_ptr(), chunk.slice(100..).as_ptr());
    }

    #[test]
    fn what_does_not_fit_is_let_go_at_the_old_end() {
        let mut ring = Ring::new(100 * 1024);
        for index in 0..10 {
            ring.push(bytes(index * 32_768, 32_768));
        }
        assert_eq!((ring.tail(), ring.head()), (7 * 32_768, 10 * 32_768));
        assert!(ring.cost() <= 100 * 1024);
        assert_eq!(ring.find(0), Find::Behind);
        assert_eq!(ring.find(10 * 32_768), Find::Head);
        assert_eq!(ring.find(10 * 32_768 + 1), Find::Ahead);
    }

    #[test]
    fn single_bytes_cost_more_than_a_byte() {
        let mut ring = Ring::new(64 * 1024);
        for offset in 0..100_000 {
            ring.push(bytes(offset, 1));
        }
        assert!(ring.pieces.len() <= 64 * 1024 / PIECE_COST);
    }

    #[test]
    fn a_gap_is_told_from_where_the_reader_is() {
        let mut ring = Ring::new(1 << 20);
        ring.reset(5);
        ring.push(bytes(5, 5));
        ring.push(Piece::Gap { from: 10, to: 1000 });
        ring.push(bytes(1000, 5));
        assert_eq!(ring.find(10), Find::Held(Piece::Gap { from: 10, to: 1000 }));
        assert_eq!(ring.find(500), Find::Held(Piece::Gap { from: 500, to: 1000 }));
        assert_eq!(ring.find(1002), Find::Held(bytes(1002, 3)));
    }
}
