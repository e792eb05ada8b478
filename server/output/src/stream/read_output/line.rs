//! Assembles lines from chunks. It holds a limited prefix of each line and counts the rest.

use airlock_domain::limits::LINE_BYTES;
use bytes::Bytes;

/// A line that is complete, or that ends at a gap or at the end of the available data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The offset of the first byte.
    pub(super) offset: u64,
    /// The beginning of the line, without its newline.
    pub(super) text: &'a [u8],
    /// Whether the line is longer than `text`.
    pub(super) longer: bool,
    /// The offset of the next line.
    pub(super) next: u64,
}

/// The current line, which has no end yet.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// The offset of the line, or `None` if there is no current line.
    offset: Option<u64>,
    text: Vec<u8>,
    longer: bool,
}

impl Unfinished {
    /// Returns the offset of the current line, if there is one.
    pub(super) fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Adds bytes without a newline.
    fn push(&mut self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.offset.get_or_insert(offset);
        let room = data.len().min(LINE_BYTES - self.text.len());
        self.text.extend_from_slice(data.get(..room).unwrap_or_default());
        self.longer |= room < data.len();
    }

    /// Removes the bytes up to the first newline from `data`, which begins at `offset`, and calls `see`
    /// with the completed line. Returns false if `data` had no newline and was consumed completely.
    pub(super) fn take_line(
        &mut self,
        offset: &mut u64,
        data: &mut Bytes,
        see: impl FnOnce(Line<'_>),
    ) -> bool {
        let begin = *offset;
        let Some(at) = memchr::memchr(b'\n', data) else {
            self.push(begin, data);
            *offset += data.len() as u64;
            data.clear();
            return false;
        };
        let mut rest = data.split_to(at + 1);
        rest.truncate(at);
        *offset += at as u64 + 1;
        if self.offset.is_none() && rest.len() <= LINE_BYTES {
            see(Line { offset: begin, text: &rest, longer: false, next: *offset });
        } else {
            self.push(begin, &rest);
            self.end(*offset, false, see);
        }
        true
    }

    /// Calls `see` with the current line, if there is one. `cut` states that the line continues in a gap.
    pub(super) fn end(&mut self, next: u64, cut: bool, see: impl FnOnce(Line<'_>)) {
        if let Some(offset) = self.offset.take() {
            see(Line { offset, text: &self.text, longer: self.longer || cut, next });
        }
        self.text.clear();
        self.longer = false;
    }
}
