//! Where the last lines of a stream begin. Looks at it backwards, block by block, and keeps none of it.
//!
//! How many lines a gap had nobody knows, so that a tail goes back to a gap at most, and shows it.

use super::source::{At, Source};
use crate::{api::ApiError, stream::ring::Piece};

/// Looked at in one go.
const BLOCK_BYTES: u64 = 256 * 1024;

/// What a block holds after its last gap.
#[derive(Debug, Default)]
struct Block {
    /// Where that begins.
    start: u64,
    newlines: u64,
    /// It ends with a newline.
    ends_line: bool,
    gap: Option<Gap>,
    /// The stream ends here, before the block does.
    ends: Option<u64>,
}

/// A gap, as it was met.
#[derive(Debug, Clone, Copy)]
struct Gap {
    from: u64,
    to: u64,
}

/// Where the last `lines` lines of the first `end` bytes begin; at a gap if one comes before that.
///
/// # Errors
/// Those of [`Source::at`].
pub(super) async fn start(source: &mut Source, end: u64, lines: u64) -> Result<u64, ApiError> {
    let mut below = end;
    let mut wanted = None;
    while below > 0 && lines > 0 {
        let from = below.saturating_sub(BLOCK_BYTES);
        let block = survey(source, from, below).await?;
        if let Some(end) = block.ends.filter(|end| *end <= from) {
            // Shorter than it was: a host went down and took the latest bytes along.
            below = end;
            continue;
        }
        // The newline at the very end begins no line of its own.
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

async fn survey(source: &mut Source, from: u64, to: u64) -> Result<Block, ApiError> {
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

/// Where the line after the newline with this index begins, counted from `from`.
async fn after_newline(source: &mut Source, from: u64, to: u64, mut index: u64) -> Result<u64, ApiError> {
    let mut offset = from;
    while offset < to {
        let At::Piece(piece) = source.at(offset, to - offset).await? else { break };
        let Piece::Data { data, .. } = &piece else {
            // Cut since it was looked at.
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

/// Where a gap begins that was met in its middle.
async fn gap_start(source: &mut Source, gap: Gap) -> Result<u64, ApiError> {
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
