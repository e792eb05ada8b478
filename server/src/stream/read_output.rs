//! On-demand reads of output that is already written: a range, the head, the tail, or the lines that
//! match a pattern.
//!
//! Every read uses one primitive ([`source`]): what is at this offset now, on the runner, in the storage
//! or lost. A read never waits for bytes that are not written, holds a few chunks in memory whatever its
//! size, and makes progress only when it is polled.

mod grep;
mod line;
mod pattern;
mod search;
mod source;
mod span;
mod tail;

#[cfg(test)]
mod tests;

use airlock_domain::OutputStream;
use bytes::Bytes;
use futures::{StreamExt as _, stream, stream::BoxStream};

pub use pattern::{Pattern, PatternError};

use self::{search::Searching, source::Source, span::Span};
use super::Streams;
use crate::{
    api::{ApiError, FieldViolation},
    model::ExecutionRecord,
};

/// A request to read output.
#[derive(Debug)]
pub struct ReadOutput {
    /// The stream to read.
    pub stream: OutputStream,
    /// The part of the stream to read.
    pub selection: Selection,
}

/// A part of a stream. Offsets and amounts are in bytes of the stream, gaps included.
#[derive(Debug)]
pub enum Selection {
    /// The bytes from an offset.
    Range {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes. `None` reads to the end.
        length: Option<u64>,
    },
    /// The beginning of the stream.
    Head(Amount),
    /// The end of the stream.
    Tail(Amount),
    /// The lines that match a search.
    Search(Search),
}

/// The size of a head or tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A number of lines.
    Lines(u64),
}

/// A search for lines.
#[derive(Debug)]
pub struct Search {
    /// The pattern to match.
    pub pattern: Pattern,
    /// Whether to return the lines that do not match.
    pub invert: bool,
    /// The number of context lines before each match.
    pub before: u32,
    /// The number of context lines after each match.
    pub after: u32,
    /// The number of matches after which the search ends; at least 1.
    pub max_matches: u32,
    /// The offset at which the search begins.
    pub offset: u64,
}

/// A part of the result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPart {
    /// Bytes of the output.
    Output {
        /// The stream of the bytes.
        stream: OutputStream,
        /// The offset of the first byte.
        offset: u64,
        /// At most [`airlock_domain::limits::CHUNK_BYTES`] bytes.
        data: Bytes,
    },
    /// A range that is no longer held.
    Gap {
        /// The stream of the range.
        stream: OutputStream,
        /// The first offset of the range.
        from: u64,
        /// The end of the range, exclusive.
        to: u64,
    },
    /// A matching line or a context line.
    Line(OutputLine),
    /// The end of the read.
    Done(ReadDone),
}

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// The stream of the line.
    pub stream: OutputStream,
    /// The offset of the first byte of the line.
    pub offset: u64,
    /// The beginning of the line, without its newline.
    pub data: Bytes,
    /// Whether the line is longer than `data`.
    pub truncated: bool,
    /// The line number, counted from 1, or 0 if it is unknown.
    pub number: u64,
    /// Whether this is a context line.
    pub context: bool,
    /// The byte ranges in `data` that match the pattern, with exclusive ends.
    pub matches: Vec<(u32, u32)>,
}

/// The final state of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadDone {
    /// The offset at which the next read can continue.
    pub next_offset: u64,
    /// The length of the stream when the read began, in bytes.
    pub total: u64,
    /// Whether the stream is complete.
    pub complete: bool,
    /// The number of matching lines.
    pub matches: u64,
    /// Whether the search stopped at its maximum number of matches, before the end of the stream.
    pub more: bool,
}

/// The parts of one read. The last is [`ReadPart::Done`] or an error. Dropping the stream cancels the
/// read.
pub type ReadStream = BoxStream<'static, Result<ReadPart, ApiError>>;

impl Streams {
    /// Reads a part of an output as it is now. The read counts as a reader.
    ///
    /// # Errors
    /// * `OutOfRange` if the read begins past the end.
    /// * `Invalid` for stderr that was not captured separately.
    /// * `Exhausted` if there are too many readers.
    /// * `Unavailable` if the runner or the storage cannot be reached. The parts can fail with it too;
    ///   the client can then continue from the last offset.
    pub async fn read_output(
        &self,
        execution: ExecutionRecord,
        request: ReadOutput,
    ) -> Result<ReadStream, ApiError> {
        let ReadOutput { stream, selection } = request;
        if stream == OutputStream::Stderr && !execution.spec.separate_stderr {
            return Err(ApiError::Invalid(vec![FieldViolation {
                field: "stream".to_owned(),
                description: "this command's standard error is in its STDOUT, in order; read STDOUT, or start the command with `separate_stderr`"
                    .to_owned(),
            }]));
        }
        let mut source = Source::open(&self.inner, &execution, stream)?;
        let ExecutionRecord { tenant, .. } = execution;
        let extent = source.extent().await?;
        let end = extent.total;
        let begins_inside = |asked| {
            if asked > end { Err(ApiError::OutOfRange { stream, asked, end }) } else { Ok(()) }
        };
        let span = match selection {
            Selection::Range { offset, length } => {
                begins_inside(offset)?;
                let until = length.map_or(end, |length| offset.saturating_add(length).min(end));
                Span::new(source, extent, offset..until)
            }
            Selection::Head(Amount::Bytes(bytes)) => Span::new(source, extent, 0..bytes.min(end)),
            Selection::Head(Amount::Lines(lines)) => Span::new(source, extent, 0..end).with_lines(lines),
            Selection::Tail(Amount::Bytes(bytes)) => {
                Span::new(source, extent, end.saturating_sub(bytes)..end)
            }
            Selection::Tail(Amount::Lines(lines)) => {
                let start = tail::start(&mut source, end, lines).await?;
                Span::new(source, extent, start..end)
            }
            Selection::Search(search) => {
                begins_inside(search.offset)?;
                let searching = Searching::new(source, extent, search, tenant);
                return Ok(parts(searching));
            }
        };
        Ok(parts(span))
    }
}

/// A read in progress.
trait Reading: Send {
    /// Returns the next part, or `None` after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<ReadPart>, ApiError>> + Send;
}

/// Converts a read to a stream of its parts, up to the first error.
fn parts(reading: impl Reading + 'static) -> ReadStream {
    let parts = stream::unfold(Some(reading), |reading| async move {
        let mut reading = reading?;
        match reading.next().await {
            Ok(part) => Some((Ok(part?), Some(reading))),
            Err(error) => Some((Err(error), None)),
        }
    });
    parts.boxed()
}
