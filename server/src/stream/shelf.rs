//! What the streams need of the output storage.

use airlock_proto::domain::{ExecutionId, OutputStream};

use super::ring::Piece;
use crate::api::ApiError;

/// Gaps of one stored stream, at most. An honest spool has one, and one more if its beginning was lost.
pub const GAPS_MOST: usize = 64;

/// The storage could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// It cannot be reached, or is full.
    #[error("the output storage cannot be reached: {0}")]
    Unavailable(String),
    /// It holds something else than what was written.
    #[error("the output storage holds something unreadable: {0}")]
    Corrupt(String),
}

/// What is at an offset of a stored stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shelved {
    /// A stretch that begins there.
    Piece(Piece),
    /// The end of the stream.
    End,
    /// The stream ends before it, here.
    PastEnd(u64),
}

/// Finished outputs, by execution.
#[async_trait::async_trait]
pub trait OutputShelf: Send + Sync {
    /// Opens `stream` of a stored output.
    async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<Box<dyn ShelfReader>, ShelfError>;

    /// Begins to store an output, in the place of one that was begun and not finished.
    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError>;
}

/// A stored stream that is open. It never changes.
#[async_trait::async_trait]
pub trait ShelfReader: Send {
    /// Of the stream in bytes, gaps included.
    fn length(&self) -> u64;

    /// What is at `offset`, at most a chunk of it.
    async fn read(&mut self, offset: u64) -> Result<Shelved, ShelfError>;
}

/// A reader's way to a stored stream, opened when it is first wanted.
#[derive(Default)]
pub(super) struct Shelf {
    open: Option<Box<dyn ShelfReader>>,
}

impl Shelf {
    /// The reader, opened if it was not yet.
    ///
    /// # Errors
    /// If it cannot be opened.
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

/// An output that is being stored. Dropped before it is finished, it was never there.
#[async_trait::async_trait]
pub trait ShelfWriter: Send {
    /// Adds the next stretch of `stream`; those of one stream come one after the other.
    async fn write(&mut self, stream: OutputStream, piece: Piece) -> Result<(), ShelfError>;

    /// Makes it readable, as one step.
    async fn finish(self: Box<Self>) -> Result<(), ShelfError>;
}

impl From<ShelfError> for ApiError {
    fn from(error: ShelfError) -> Self {
        match error {
            ShelfError::Unavailable(_) => Self::Unavailable {
                reason: "OUTPUTS_UNAVAILABLE",
                message: "the output storage cannot be reached just now".to_owned(),
                retry_after: std::time::Duration::from_secs(1),
            },
            ShelfError::Corrupt(detail) => Self::Internal(detail),
        }
    }
}
