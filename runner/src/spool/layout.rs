//! The layout of a stream: the stored bytes, and the segment of each. Pure arithmetic.

use std::ops::Range;

/// The largest segment, in bytes.
const SEGMENT_MAX: u64 = 1 << 20;
/// The smallest segment, in bytes.
const SEGMENT_MIN: u64 = 4 << 10;
/// The approximate minimum number of segments in a cap, so that storage exceeds the cap only slightly.
const SEGMENTS: u64 = 64;

/// The layout of one stream, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The bytes kept from the start.
    pub(super) head: u64,
    /// The bytes kept from the end.
    pub(super) tail: u64,
    /// The size of one segment file.
    pub(super) segment: u64,
}

impl Layout {
    /// Assigns half of the cap to each end.
    pub(super) fn for_cap(cap: u64) -> Self {
        let head = cap / 2;
        let segment = (cap / SEGMENTS).clamp(SEGMENT_MIN, SEGMENT_MAX);
        Self { head, tail: cap - head, segment }
    }

    /// Returns the range of a stream of this length that is not kept.
    pub(super) fn cut(self, total: u64) -> Option<Range<u64>> {
        let tail_start = total.saturating_sub(self.tail);
        (tail_start > self.head).then_some(self.head..tail_start)
    }

    pub(super) fn segment_of(self, offset: u64) -> u64 {
        offset / self.segment
    }

    pub(super) fn segment_end(self, index: u64) -> u64 {
        index.saturating_add(1).saturating_mul(self.segment)
    }

    /// Returns the range of segments that contain only cut bytes.
    pub(super) fn dead_segments(self, total: u64) -> Range<u64> {
        let Some(cut) = self.cut(total) else { return 0..0 };
        let first = cut.start.div_ceil(self.segment);
        first..(cut.end / self.segment).max(first)
    }
}
