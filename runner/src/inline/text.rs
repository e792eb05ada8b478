//! The text of a stream: the whole text, or its head and its tail.

use airlock_domain::{
    limits::PREVIEW_END_BYTES,
    text::{Cleaner, clean},
};
use memchr::{memchr, memrchr};

use super::hints::hint;
use crate::spool::{Piece, SpoolError, StreamSpool};

/// The maximum length of one end as text. Cursor movements can make the text longer than its bytes. A longer text is
/// not shown.
const END_TEXT_MAX: usize = 4 * PREVIEW_END_BYTES;

/// A text of both ends.
pub(super) struct Preview {
    pub(super) text: String,
    /// The bytes of the stream between the two ends.
    pub(super) left_out: u64,
}

/// Returns the clean text of the whole stream without its hints, or `None` if the text is longer than `limit`.
pub(super) fn whole(raw: &[u8], hints: &[String], limit: usize) -> Option<String> {
    if hints.is_empty() {
        return clean(raw, limit);
    }
    let mut cleaner = Cleaner::new(limit);
    for line in raw.split_inclusive(|byte| *byte == b'\n') {
        if !hint(line).is_some_and(|hint| hints.contains(&hint)) {
            cleaner.push(line);
        }
    }
    cleaner.finish()
}

pub(super) fn preview(stream: &StreamSpool, total: u64, hints: &[String]) -> Result<Preview, SpoolError> {
    let end = PREVIEW_END_BYTES as u64;
    let mut head = read(stream, 0, total.min(end), false)?.1;
    head.truncate(head_end(&head));
    let (start, tail) = read(stream, total.saturating_sub(end).max(head.len() as u64), total, true)?;
    let skip = tail_start(&tail);
    let tail = tail.get(skip..).unwrap_or_default();
    let left_out = (start + skip as u64).saturating_sub(head.len() as u64);
    let text = |raw: &[u8]| whole(raw, hints, END_TEXT_MAX).unwrap_or_default();
    let mut shown = text(&head);
    if left_out > 0 {
        if !shown.is_empty() && !shown.ends_with('\n') {
            shown.push('\n');
        }
        shown.push_str(&format!("[... {left_out} bytes truncated ...]\n"));
    }
    shown.push_str(&text(tail));
    Ok(Preview { text: shown, left_out })
}

/// Returns the stored bytes from `from` to `to`, and their offset. If a gap divides them, `last` selects the part after
/// it instead of the part before it.
fn read(stream: &StreamSpool, from: u64, to: u64, last: bool) -> Result<(u64, Vec<u8>), SpoolError> {
    let (mut start, mut at, mut all) = (from, from, Vec::new());
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX);
        match stream.read(at, want)? {
            Piece::Data(data) => {
                at += data.len() as u64;
                all.extend_from_slice(&data);
            }
            Piece::Gap { .. } if !last && !all.is_empty() => break,
            Piece::Gap { to } => {
                all.clear();
                (start, at) = (to, to);
            }
            Piece::End(_) => break,
        }
    }
    Ok((start, all))
}

/// Returns the end of a head: after a line, if one ends in the second half, otherwise between two characters.
fn head_end(head: &[u8]) -> usize {
    let half = head.len() / 2;
    if let Some(end) = memrchr(b'\n', head).filter(|end| *end >= half) {
        return end + 1;
    }
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => head.len(),
    }
}

/// Returns the start of a tail: at a line, if one begins in the first half, otherwise at a character.
fn tail_start(tail: &[u8]) -> usize {
    let half = tail.len() / 2;
    match memchr(b'\n', tail).filter(|end| *end < half) {
        Some(end) => end + 1,
        None => tail.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count(),
    }
}
