//! Puts lines together out of chunks. A line of any length is held up to a limit; the rest is counted.

use airlock_proto::limits::LINE_BYTES;
use bytes::Bytes;

/// A line that has come to its end, or to the end of what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Of its first byte.
    pub(super) offset: u64,
    /// Its beginning, without its newline.
    pub(super) text: &'a [u8],
    /// There is more of it than `text`.
    pub(super) longer: bool,
    /// Where the next line begins.
    pub(super) next: u64,
}

/// The line whose end has not come yet.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// None while there is no such line.
    offset: Option<u64>,
    text: Vec<u8>,
    longer: bool,
}

impl Unfinished {
    /// Where it begins, if there is one.
    pub(super) fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// Takes bytes at `offset` without a newline.
    fn push(&mut self, offset: u64, data: &[u8]) {
        if data.is_empty() {
            return;
        }
        self.offset.get_or_insert(offset);
        let room = data.len().min(LINE_BYTES - self.text.len());
        self.text.extend_from_slice(data.get(..room).unwrap_or_default());
        self.longer |= room < data.len();
    }

    /// Takes bytes up to the first newline away from `data`, which begins at `offset`; gives `see` the
    /// line if that ends it. False if all was taken and no line has ended.
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

    /// Gives `see` the line as far as it has come, if there is one. `cut`: it goes on beyond what is held.
    pub(super) fn end(&mut self, next: u64, cut: bool, see: impl FnOnce(Line<'_>)) {
        if let Some(offset) = self.offset.take() {
            see(Line { offset, text: &self.text, longer: self.longer || cut, next });
        }
        self.text.clear();
        self.longer = false;
    }
}
