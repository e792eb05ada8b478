//! The layout of a stream: the stored bytes, the segment of each, and the result of a read. Pure arithmetic.

use std::ops::Range;

/// The largest segment, in bytes.
const SEGMENT_MAX: u64 = 1 << 20;
/// The smallest segment, in bytes.
const SEGMENT_MIN: u64 = 4 << 10;
/// The approximate minimum number of segments in a cap, so that storage exceeds the cap only slightly.
const SEGMENTS: u64 = 64;

/// The layout of one stream, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The bytes kept from the start.
    pub head: u64,
    /// The bytes kept from the end.
    pub tail: u64,
    /// The size of one segment file.
    pub segment: u64,
}

/// The way to read a stream at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// The current end of the stream.
    End,
    /// A range that is not kept.
    Gap {
        /// The offset of the first byte after the range.
        to: u64,
    },
    /// At most this many bytes, at least one, of one segment.
    Bytes(usize),
}

impl Layout {
    /// Assigns half of the cap to each end.
    #[must_use]
    pub fn for_cap(cap: u64) -> Self {
        let head = cap / 2;
        let segment = (cap / SEGMENTS).clamp(SEGMENT_MIN, SEGMENT_MAX);
        Self { head, tail: cap - head, segment }
    }

    /// Returns how to read a stream at `offset`, at most `max` bytes.
    #[must_use]
    pub fn look(self, state: StreamState, offset: u64, max: usize) -> Look {
        if offset >= state.total {
            return Look::End;
        }
        let cut = self.cut(state.total);
        if let Some(gap) = cut.as_ref().filter(|cut| cut.contains(&offset)) {
            return Look::Gap { to: gap.end };
        }
        let mut end = state.total.min(self.segment_end(self.segment_of(offset)));
        if let Some(cut) = cut.filter(|cut| offset < cut.start) {
            end = end.min(cut.start);
        }
        Look::Bytes(usize::try_from(end - offset).unwrap_or(usize::MAX).min(max))
    }

    /// Returns the end of the gap at `offset`, in a stream that now has this length. The expected bytes are missing:
    /// the segment was cut in the meantime, or lost when the host crashed.
    #[must_use]
    pub fn end_of_missing(self, total: u64, offset: u64) -> u64 {
        match self.cut(total).filter(|cut| cut.contains(&offset)) {
            Some(cut) => cut.end,
            None => self.segment_end(self.segment_of(offset)).min(total),
        }
    }

    /// Returns the number of bytes at `offset` within its segment, cut or not, at most `max`.
    #[must_use]
    pub fn rest_of_segment(self, total: u64, offset: u64, max: usize) -> usize {
        let end = total.min(self.segment_end(self.segment_of(offset)));
        usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX).min(max)
    }

    /// Returns the range of a stream of this length that is not kept.
    #[must_use]
    pub fn cut(self, total: u64) -> Option<Range<u64>> {
        let tail_start = total.saturating_sub(self.tail);
        (tail_start > self.head).then_some(self.head..tail_start)
    }

    /// Returns the segment of an offset.
    #[must_use]
    pub fn segment_of(self, offset: u64) -> u64 {
        offset / self.segment
    }

    /// Returns the offset after the last byte of a segment.
    #[must_use]
    pub fn segment_end(self, index: u64) -> u64 {
        index.saturating_add(1).saturating_mul(self.segment)
    }

    /// Returns the range of segments that contain only cut bytes.
    #[must_use]
    pub fn dead_segments(self, total: u64) -> Range<u64> {
        let Some(cut) = self.cut(total) else { return 0..0 };
        let first = cut.start.div_ceil(self.segment);
        first..(cut.end / self.segment).max(first)
    }
}

/// The progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamState {
    /// The length in bytes, including bytes that are not kept.
    pub total: u64,
    /// Whether the stream has ended.
    pub complete: bool,
}

/// The result of a read at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes, at least one.
    Data(Vec<u8>),
    /// A range that is not kept.
    Gap {
        /// The offset of the first byte after the range.
        to: u64,
    },
    /// The current end of the stream.
    End(StreamState),
}
