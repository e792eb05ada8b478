//! The requests and the results of on-demand reads.

use airlock_domain::OutputStream;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::pattern::Pattern;
use crate::stream::error::StreamError;

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
pub type ReadStream = BoxStream<'static, Result<ReadPart, StreamError>>;

/// A read in progress.
pub(super) trait Reading: Send {
    /// Returns the next part, or `None` after the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<ReadPart>, StreamError>> + Send;
}
