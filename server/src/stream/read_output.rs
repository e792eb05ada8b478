//! Reading output on demand: a range, the head, the tail, or the lines that match a pattern, of what is
//! written by now.
//!
//! Every read goes through one primitive ([`source`]): what is at this offset now, whether that is on the
//! runner, in the storage or nowhere any more. A read waits for no byte that is not written, keeps a few
//! chunks in memory whatever it was asked for, and moves only when it is polled.

mod grep;
mod line;
mod pattern;
mod search;
mod source;
mod span;
mod tail;

#[cfg(test)]
mod tests;

use airlock_proto::domain::OutputStream;
use bytes::Bytes;
use futures::{StreamExt as _, stream, stream::BoxStream};

pub use pattern::{Pattern, PatternError};

use self::{search::Searching, source::Source, span::Span};
use super::Streams;
use crate::{
    api::{ApiError, FieldViolation},
    model::ExecutionRecord,
};

/// What is to be read.
#[derive(Debug)]
pub struct ReadOutput {
    /// Of which stream.
    pub stream: OutputStream,
    /// Which part of it.
    pub selection: Selection,
}

/// A part of a stream. Offsets and amounts are in bytes of the stream, gaps included.
#[derive(Debug)]
pub enum Selection {
    /// From an offset on.
    Range {
        /// Of the first byte.
        offset: u64,
        /// None: to the end.
        length: Option<u64>,
    },
    /// The beginning.
    Head(Amount),
    /// The end.
    Tail(Amount),
    /// The lines that match.
    Search(Search),
}

/// How much of a head or tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(u64),
    /// So many lines.
    Lines(u64),
}

/// Which lines.
#[derive(Debug)]
pub struct Search {
    /// What they match.
    pub pattern: Pattern,
    /// The others are meant.
    pub invert: bool,
    /// Lines shown before each.
    pub before: u32,
    /// Lines shown after each.
    pub after: u32,
    /// The search ends after so many; at least 1.
    pub max_matches: u32,
    /// Where it begins.
    pub offset: u64,
}

/// A part of what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadPart {
    /// Bytes.
    Output {
        /// Of which stream.
        stream: OutputStream,
        /// Of the first.
        offset: u64,
        /// At most [`airlock_proto::limits::CHUNK_BYTES`].
        data: Bytes,
    },
    /// Bytes that are not held.
    Gap {
        /// Of which stream.
        stream: OutputStream,
        /// The first.
        from: u64,
        /// The first after them.
        to: u64,
    },
    /// A line that matched, or stands beside one.
    Line(OutputLine),
    /// The end of the read.
    Done(ReadDone),
}

/// A line, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// Of which stream.
    pub stream: OutputStream,
    /// Of its first byte.
    pub offset: u64,
    /// Its beginning, without its newline.
    pub data: Bytes,
    /// There is more of it than `data`.
    pub truncated: bool,
    /// From 1; 0 if it is not known.
    pub number: u64,
    /// It stands beside one that matched.
    pub context: bool,
    /// Where in `data` the pattern matched, in bytes, ends not included.
    pub matches: Vec<(u32, u32)>,
}

/// How a read ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadDone {
    /// Where the next one would go on.
    pub next_offset: u64,
    /// Length of the stream, as it was when the read began.
    pub total: u64,
    /// The stream will not grow.
    pub complete: bool,
    /// Lines that matched.
    pub matches: u64,
    /// The search stopped at its largest number of matches, and did not see the end.
    pub more: bool,
}

/// The parts of one read, the last of them [`ReadPart::Done`], or an error. Dropped, all of it ends.
pub type ReadStream = BoxStream<'static, Result<ReadPart, ApiError>>;

impl Streams {
    /// Reads a part of an output as it is now. The read counts as a reader.
    ///
    /// # Errors
    /// `OutOfRange` for what begins past the end, `Invalid` for a stderr that was not asked for apart,
    /// `Exhausted` with too many readers, `Unavailable` if the runner or the storage that has it cannot
    /// be reached. The parts can fail with `Unavailable` too; then read on from where they ended.
    pub async fn read_output(
        &self,
        execution: ExecutionRecord,
        request: ReadOutput,
    ) -> Result<ReadStream, ApiError> {
        let ReadOutput { stream, selection } = request;
        if stream == OutputStream::Stderr && !execution.spec.separate_stderr {
            return Err(ApiError::Invalid(vec![FieldViolation {
                field: "stream".to_owned(),
                description: "this command's standard error is in its STDOUT, in true order; read that, \
                              or run it with `separate_stderr`"
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

/// A read under way.
trait Reading: Send {
    /// The next part; none after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<ReadPart>, ApiError>> + Send;
}

/// The parts of a read, up to the first error.
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
