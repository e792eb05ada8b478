//! The text of a stream: the whole text, or its head and its tail. Also the hint lines in it, `<airlock-hint .../>` and
//! `<claude-code-hint .../>`. A hint is a whole line, apart from surrounding blanks.

use airlock_domain::{
    limits::{HINT_BYTES, HINTS, PREVIEW_END_BYTES},
    text::{Cleaner, clean},
};
use memchr::{memchr, memmem, memrchr};

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

/// A byte sequence that every hint contains.
const MARK: &[u8] = b"-hint";
const NAMES: [&[u8]; 2] = [b"<airlock-hint", b"<claude-code-hint"];
/// The maximum number of blanks around a hint of maximum length.
const BLANKS: usize = 64;

/// Returns the hint if the line is one.
fn hint(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    let rest = NAMES.iter().find_map(|name| line.strip_prefix(*name))?;
    let is_hint = line.len() <= HINT_BYTES
        && rest.ends_with(b"/>")
        && rest.first().is_some_and(|next| next.is_ascii_whitespace() || *next == b'/');
    is_hint.then(|| String::from_utf8_lossy(line).into_owned()).filter(|hint| hint.len() <= HINT_BYTES)
}

/// Collects hints from a stream that arrives in pieces.
pub(super) struct Hints<'a> {
    found: &'a mut Vec<String>,
    /// The beginning of the incomplete line.
    open: Vec<u8>,
    /// Whether the incomplete line is already known not to be a hint.
    skip: bool,
}

impl<'a> Hints<'a> {
    pub(super) fn new(found: &'a mut Vec<String>) -> Self {
        Self { found, open: Vec::new(), skip: false }
    }

    pub(super) fn take(&mut self, mut data: &[u8]) {
        if self.found.len() >= HINTS {
            return;
        }
        // Complete the line from the previous piece.
        if self.skip || !self.open.is_empty() {
            let end = memchr(b'\n', data);
            let (line, rest) = match end {
                Some(end) => (data.get(..end), data.get(end + 1..).unwrap_or_default()),
                None => (Some(data), &[][..]),
            };
            self.add(line.unwrap_or_default());
            if end.is_none() {
                return;
            }
            self.end();
            data = rest;
        }
        let lines = memrchr(b'\n', data).map_or(0, |end| end + 1);
        let (lines, open) = data.split_at_checked(lines).unwrap_or((data, &[]));
        self.look(lines);
        self.add(open);
    }

    fn add(&mut self, part: &[u8]) {
        if self.skip || self.open.len() + part.len() > HINT_BYTES + BLANKS {
            self.open.clear();
            self.skip = true;
        } else {
            self.open.extend_from_slice(part);
        }
    }

    /// Searches complete lines.
    fn look(&mut self, lines: &[u8]) {
        let mut rest = lines;
        while let Some(mark) = memmem::find(rest, MARK) {
            let start = memrchr(b'\n', rest.get(..mark).unwrap_or_default()).map_or(0, |end| end + 1);
            let end =
                memchr(b'\n', rest.get(mark..).unwrap_or_default()).map_or(rest.len(), |end| mark + end);
            self.note(rest.get(start..end).unwrap_or_default());
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    fn note(&mut self, line: &[u8]) {
        if self.found.len() < HINTS {
            self.found.extend(hint(line));
        }
    }

    /// Handles a gap: the next bytes do not follow the previous ones.
    pub(super) fn gap(&mut self) {
        self.open.clear();
        self.skip = true;
    }

    /// Handles the end of the stream, which ends the incomplete line.
    pub(super) fn end(&mut self) {
        let line = std::mem::take(&mut self.open);
        if !std::mem::take(&mut self.skip) {
            self.note(&line);
        }
    }
}
