//! Finds hint lines: `<airlock-hint .../>` and `<claude-code-hint .../>`. A hint is a whole line, apart from
//! surrounding blanks.

use airlock_domain::limits::{HINT_BYTES, HINTS};
use memchr::{memchr, memmem, memrchr};

/// A byte sequence that every hint contains.
const MARK: &[u8] = b"-hint";
const NAMES: [&[u8]; 2] = [b"<airlock-hint", b"<claude-code-hint"];
/// The maximum number of blanks around a hint of maximum length.
const BLANKS: usize = 64;

/// Returns the hint if the line is one.
pub(super) fn hint(line: &[u8]) -> Option<String> {
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
