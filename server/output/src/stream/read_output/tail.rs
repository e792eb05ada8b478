//! Finds the start of the last lines of a stream. It scans backwards, block by block, and retains no
//! data.
//!
//! The number of lines in a gap is unknown. A tail therefore goes back to the last gap at most, and
//! includes it.

use super::source::{At, OutputLocation};
use crate::stream::{error::StreamError, ring::Piece};

/// The size of a block in bytes.
const BLOCK_BYTES: u64 = 256 * 1024;

/// The part of a block after its last gap.
#[derive(Debug, Default)]
struct Block {
    /// The offset of this part.
    start: u64,
    newlines: u64,
    /// Whether the part ends with a newline.
    ends_line: bool,
    gap: Option<Gap>,
    /// The end of the stream, if it is within the block.
    ends: Option<u64>,
}

/// A gap, from the offset at which it was met.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: u64,
    to: u64,
}

/// Returns the offset of the last `lines` lines of the first `end` bytes, or of a gap within them.
///
/// # Errors
/// See [`OutputLocation::at`].
pub(super) async fn start(source: &mut OutputLocation, end: u64, lines: u64) -> Result<u64, StreamError> {
    let mut below = end;
    let mut wanted = None;
    while below > 0 && lines > 0 {
        let from = below.saturating_sub(BLOCK_BYTES);
        let block = survey(source, from, below).await?;
        if let Some(end) = block.ends.filter(|end| *end <= from) {
            // The stream is shorter than before, because a host crashed and lost the latest bytes.
            below = end;
            continue;
        }
        // A final newline does not start another line.
        let left = wanted.unwrap_or(lines + u64::from(block.ends_line));
        if block.newlines >= left {
            return after_newline(source, block.start, below, block.newlines - left).await;
        }
        if let Some(gap) = block.gap {
            return if gap.from > from { Ok(gap.from) } else { gap_start(source, gap).await };
        }
        wanted = Some(left - block.newlines);
        below = from;
    }
    Ok(below)
}

async fn survey(source: &mut OutputLocation, from: u64, to: u64) -> Result<Block, StreamError> {
    let mut block = Block { start: from, ..Block::default() };
    let mut offset = from;
    while offset < to {
        let piece = match source.at(offset, to - offset).await? {
            At::Piece(piece) => piece,
            At::End(extent) => {
                block.ends = Some(extent.total);
                break;
            }
        };
        offset = piece.end();
        match piece.until(to) {
            Piece::Data { data, .. } => {
                block.newlines += memchr::memchr_iter(b'\n', &data).count() as u64;
                block.ends_line = data.last() == Some(&b'\n');
            }
            Piece::Gap { from, to } => {
                block = Block { start: to, gap: Some(Gap { from, to }), ..Block::default() };
            }
        }
    }
    Ok(block)
}

/// Returns the offset after the newline with this index, counted from `from`.
async fn after_newline(
    source: &mut OutputLocation,
    from: u64,
    to: u64,
    mut index: u64,
) -> Result<u64, StreamError> {
    let mut offset = from;
    while offset < to {
        let At::Piece(piece) = source.at(offset, to - offset).await? else { break };
        let Piece::Data { data, .. } = &piece else {
            // The range became a gap after `survey` read it.
            return Ok(offset);
        };
        for at in memchr::memchr_iter(b'\n', data) {
            if index == 0 {
                return Ok(offset + at as u64 + 1);
            }
            index -= 1;
        }
        offset = piece.end();
    }
    Ok(offset.min(to))
}

/// Finds the start of a gap from an offset inside it.
async fn gap_start(source: &mut OutputLocation, gap: Gap) -> Result<u64, StreamError> {
    let (mut low, mut high) = (0, gap.from);
    while low < high {
        let middle = low + (high - low) / 2;
        match source.at(middle, 1).await? {
            At::Piece(Piece::Gap { to, .. }) if to >= gap.to => high = middle,
            _ => low = middle + 1,
        }
    }
    Ok(high)
}
