//! The parts of an output that a reader can select, and the pieces that it gets.

use bytes::Bytes;

use super::v1::{self, OutputDone};

/// A part of a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// The whole stream as it is now.
    All,
    /// The bytes from an offset on.
    Range {
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes; 0 means up to the end.
        length: u64,
    },
    /// A number of bytes at the start.
    HeadBytes(u64),
    /// A number of lines at the start.
    HeadLines(u64),
    /// A number of bytes at the end.
    TailBytes(u64),
    /// A number of lines at the end.
    TailLines(u64),
    /// The lines that match a pattern.
    Search(v1::OutputSearch),
}

/// A piece of the selected output.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputPiece {
    /// Bytes, with the offset of the first one.
    Bytes {
        /// The offset from the start of the stream.
        offset: u64,
        /// The bytes; never empty.
        data: Bytes,
    },
    /// Bytes that are no longer held.
    Gap {
        /// The offset of the first missing byte.
        from: u64,
        /// The offset after the last missing byte.
        to: u64,
    },
    /// A matching line or a context line. After a broken connection its number may be unknown.
    Line(v1::OutputLine),
    /// The last piece.
    Done(OutputDone),
}
