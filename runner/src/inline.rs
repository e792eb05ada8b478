//! What is told of a job's output with its result: clean text, hints and images, made from its spool when it has
//! ended.
//!
//! Reads all that is kept, in pieces, and holds no more of it than one of them and what is told: an output of any
//! length costs the same memory. Must not change the spool.

mod hints;
mod images;
mod text;
mod utf8;

use airlock_proto::domain::{InlineOutput, InlineText, OutputStream};
use memchr::memchr_iter;

use crate::spool::{JobSpool, Piece, SpoolError, StreamSpool};

use hints::Hints;
use images::Images;
use utf8::Utf8;

/// Read at once, in bytes.
const PIECE: usize = 256 << 10;
/// A stream of no more bytes is cleaned as a whole, to see whether it fits then.
const CLEANED_MAX: u64 = 1 << 20;

/// Makes it. Blocks, for as long as reading the disk takes.
///
/// # Errors
/// If the disk cannot be read.
pub(crate) fn of(spool: &JobSpool) -> Result<InlineOutput, SpoolError> {
    let limit = usize::try_from(spool.inline_limit).unwrap_or(usize::MAX);
    let mut output = InlineOutput::default();
    output.stdout = one(&spool.stdout, OutputStream::Stdout, limit, &mut output)?;
    if let Some(stderr) = &spool.stderr {
        output.stderr = Some(one(stderr, OutputStream::Stderr, limit, &mut output)?);
    }
    Ok(output)
}

/// What one walk through a stream finds.
struct Walk<'a> {
    hints: Hints<'a>,
    images: Images<'a>,
    utf8: Utf8,
    line_ends: u64,
    last: u8,
    cut: bool,
    /// All of it, if it is not too much.
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

/// The text of one stream; what else is found goes into `output`.
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

#[cfg(test)]
mod tests;
