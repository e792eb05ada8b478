//! The state of a stream, and the result of a read of it.

/// The progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StreamState {
    /// The length in bytes, including bytes that are not kept.
    pub total: u64,
    /// Whether the stream has ended.
    pub complete: bool,
}

/// The result of a read at an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// These bytes, at least one.
    Data(Vec<u8>),
    /// A range that is not kept.
    Gap {
        /// The offset of the first byte after the range.
        to: u64,
    },
    /// The current end of the stream.
    End(StreamState),
}
