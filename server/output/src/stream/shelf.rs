//! The interface of the output storage that the streams use.

use airlock_domain::{ExecutionId, OutputStream};

use super::ring::Piece;

/// The maximum number of gaps per stored stream. A correct spool has one, plus one if its beginning was
/// lost.
pub const GAPS_MOST: usize = 64;

/// An error of the output storage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// The storage cannot be reached, or is full.
    #[error("the output storage is unavailable: {0}")]
    Unavailable(String),
    /// The stored data is invalid.
    #[error("the output storage contains invalid data: {0}")]
    Corrupt(String),
}

/// The data or the end at an offset of a stored stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shelved {
    /// A piece that begins there.
    Piece(Piece),
    /// The end of the stream.
    End,
    /// The offset is past the end of the stream, which is at this offset.
    PastEnd(u64),
}

/// The storage of finished outputs, by execution.
#[async_trait::async_trait]
pub trait OutputShelf: Send + Sync {
    /// Opens `stream` of a stored output.
    async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<Box<dyn ShelfReader>, ShelfError>;

    /// Starts to store an output, and replaces an unfinished attempt.
    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError>;
}

/// An open stored stream. Its content never changes.
#[async_trait::async_trait]
pub trait ShelfReader: Send {
    /// Returns the length of the stream in bytes, gaps included.
    fn length(&self) -> u64;

    /// Returns the data at `offset`, at most one chunk.
    async fn read(&mut self, offset: u64) -> Result<Shelved, ShelfError>;
}

/// A reader's access to a stored stream, opened on first use.
#[derive(Default)]
pub(super) struct Shelf {
    open: Option<Box<dyn ShelfReader>>,
}

impl Shelf {
    /// Returns the reader, and opens it if necessary.
    ///
    /// # Errors
    /// If the stream cannot be opened.
    pub(super) async fn reader(
        &mut self,
        shelf: &dyn OutputShelf,
        id: ExecutionId,
        stream: OutputStream,
    ) -> Result<&mut dyn ShelfReader, ShelfError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => shelf.open(id, stream).await?,
        };
        Ok(self.open.insert(open).as_mut())
    }
}

/// A writer of one output. If it is dropped before it is finished, no output is stored.
#[async_trait::async_trait]
pub trait ShelfWriter: Send {
    /// Appends the next piece of `stream`. The pieces of a stream must be in order.
    async fn write(&mut self, stream: OutputStream, piece: Piece) -> Result<(), ShelfError>;

    /// Makes the output readable in one atomic step.
    async fn finish(self: Box<Self>) -> Result<(), ShelfError>;
}
