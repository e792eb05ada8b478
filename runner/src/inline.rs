//! The inline output of a job's result: clean text, hints and images, computed from the spool after the job has ended.
//!
//! Reads all stored output in pieces, and holds only one piece and the result in memory. Memory use does not depend on
//! the length of the output. Must not change the spool.

mod images;
mod text;

use airlock_domain::{InlineOutput, InlineText, OutputStream, limits::INLINE_MAX};
use memchr::memchr_iter;

use crate::spool::{JobSpool, Piece, SpoolError, StreamSpool};

use images::Images;
use text::Hints;

/// The number of bytes read at once.
const PIECE: usize = 256 << 10;
/// The maximum size of a stream that is cleaned as a whole, to find out whether the clean text fits the limit.
const CLEANED_MAX: u64 = 1 << 20;

/// Computes the inline output. Blocks while it reads the disk.
///
/// # Errors
/// If the disk cannot be read.
pub(crate) fn of(spool: &JobSpool) -> Result<InlineOutput, SpoolError> {
    let limit = limit(spool.inline_limit);
    let mut output = InlineOutput::default();
    output.stdout = one(&spool.stdout, OutputStream::Stdout, limit, &mut output)?;
    if let Some(stderr) = &spool.stderr {
        output.stderr = Some(one(stderr, OutputStream::Stderr, limit, &mut output)?);
    }
    Ok(output)
}

/// Returns the limit of a grant, which the contract limits too.
pub(crate) fn limit(asked: u32) -> usize {
    usize::try_from(asked).unwrap_or(usize::MAX).min(INLINE_MAX)
}

/// The state of one pass over a stream.
struct Walk<'a> {
    hints: Hints<'a>,
    images: Images<'a>,
    utf8: Utf8,
    line_ends: u64,
    last: u8,
    cut: bool,
    /// All bytes so far, unless there are too many.
    whole: Option<Vec<u8>>,
}

impl Walk<'_> {
    fn take(&mut self, offset: u64, data: &[u8]) {
        self.line_ends += memchr_iter(b'\n', data).count() as u64;
        self.last = data.last().copied().unwrap_or(self.last);
        self.utf8.take(data);
        self.hints.take(data);
        self.images.take(offset, data);
        if let Some(whole) = &mut self.whole {
            whole.extend_from_slice(data);
        }
    }

    fn gap(&mut self) {
        self.cut = true;
        self.whole = None;
        self.utf8.gap();
        self.hints.gap();
        self.images.gap();
    }
}

/// Returns the text of one stream. Adds hints and images to `output`.
fn one(
    stream: &StreamSpool,
    name: OutputStream,
    limit: usize,
    output: &mut InlineOutput,
) -> Result<InlineText, SpoolError> {
    let total = stream.state().total;
    let mut walk = Walk {
        hints: Hints::new(&mut output.hints),
        images: Images::new(name, total, &mut output.images),
        utf8: Utf8::default(),
        line_ends: 0,
        last: b'\n',
        cut: false,
        whole: (total <= CLEANED_MAX).then(Vec::new),
    };
    let mut at = 0;
    loop {
        match stream.read(at, PIECE)? {
            Piece::Data(data) => {
                walk.take(at, &data);
                at += data.len() as u64;
            }
            Piece::Gap { to } => {
                walk.gap();
                at = to;
            }
            Piece::End(_) => break,
        }
    }
    walk.hints.end();
    walk.images.end();
    let is_image = walk.images.is_image();
    let line_ends = if walk.cut { stream.line_ends() } else { Some(walk.line_ends) };
    let open_line = u64::from(walk.last != b'\n');
    let (whole, invalid_utf8) = (walk.whole, walk.utf8.is_invalid());
    let facts = InlineText {
        total_bytes: total,
        total_lines: line_ends.map(|ends| ends + open_line),
        invalid_utf8,
        ..InlineText::default()
    };
    if is_image {
        return Ok(InlineText { truncated_bytes: total, ..facts });
    }
    if let Some(text) = whole.and_then(|raw| text::whole(&raw, &output.hints, limit)) {
        return Ok(InlineText { text, whole: true, ..facts });
    }
    let preview = text::preview(stream, total, &output.hints)?;
    Ok(InlineText { text: preview.text, truncated_bytes: preview.left_out, ..facts })
}

/// The state of the check.
#[derive(Default)]
struct Utf8 {
    /// The beginning of an incomplete character.
    open: Vec<u8>,
    /// Whether the previous bytes are unknown: a character may have begun there.
    after_gap: bool,
    invalid: bool,
}

impl Utf8 {
    fn take(&mut self, mut data: &[u8]) {
        if std::mem::take(&mut self.after_gap) {
            let rest_of_one = data.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
            data = data.get(rest_of_one..).unwrap_or_default();
        }
        while !self.open.is_empty() {
            let Some((byte, rest)) = data.split_first() else { return };
            self.open.push(*byte);
            data = rest;
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.invalid = true;
                    self.open.clear();
                }
            }
        }
        if let Err(error) = std::str::from_utf8(data) {
            self.invalid |= error.error_len().is_some();
            self.open =
                data.get(error.valid_up_to()..).filter(|rest| rest.len() < 4).unwrap_or_default().to_vec();
        }
    }

    /// Handles a gap: the next bytes do not follow the previous ones.
    fn gap(&mut self) {
        self.open.clear();
        self.after_gap = true;
    }

    /// Reports, at the end of the stream, whether any byte was invalid.
    fn is_invalid(&self) -> bool {
        self.invalid || !self.open.is_empty()
    }
}

#[cfg(test)]
mod tests;
