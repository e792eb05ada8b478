//! Reads of a range of bytes, or of a number of lines.

use std::ops::Range;

use super::{
    source::{At, Extent, OutputLocation},
    types::{ReadDone, ReadPart, Reading},
};
use crate::stream::{error::StreamError, ring::Piece};

/// A forward read.
pub(super) struct Span {
    source: OutputLocation,
    extent: Extent,
    /// The range that is not delivered yet.
    rest: Range<u64>,
    /// The number of newlines after which the read ends.
    lines: Option<u64>,
    over: bool,
}

impl Span {
    /// Creates a read of `range`, which must be within `extent`.
    pub(super) fn new(source: OutputLocation, extent: Extent, range: Range<u64>) -> Self {
        Self { source, extent, rest: range, lines: None, over: false }
    }

    /// Ends the read after this number of lines.
    pub(super) fn with_lines(mut self, lines: u64) -> Self {
        self.lines = Some(lines);
        self
    }

    fn give(&mut self, piece: Piece) -> ReadPart {
        let mut piece = piece.until(self.rest.end);
        if let (Some(left), Piece::Data { offset, data }) = (&mut self.lines, &piece) {
            let last = usize::try_from(*left - 1).unwrap_or(usize::MAX);
            match memchr::memchr_iter(b'\n', data).nth(last) {
                Some(at) => {
                    let end = offset + at as u64 + 1;
                    piece = piece.until(end);
                    *left = 0;
                }
                None => *left -= memchr::memchr_iter(b'\n', data).count() as u64,
            }
        }
        self.rest.start = piece.end();
        self.source.part(piece)
    }
}

impl Reading for Span {
    async fn next(&mut self) -> Result<Option<ReadPart>, StreamError> {
        if self.over {
            return Ok(None);
        }
        if !self.rest.is_empty() && self.lines != Some(0) {
            match self.source.at(self.rest.start, self.rest.end - self.rest.start).await? {
                At::Piece(piece) => return Ok(Some(self.give(piece))),
                // The stream is shorter than before, because a host crashed and lost the latest
                // bytes.
                At::End(extent) => self.extent = extent,
            }
        }
        self.over = true;
        Ok(Some(ReadPart::Done(ReadDone {
            next_offset: self.rest.start.min(self.extent.total),
            total: self.extent.total,
            complete: self.extent.complete,
            ..ReadDone::default()
        })))
    }
}
