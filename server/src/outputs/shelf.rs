//! The storage as the streams see it.

use airlock_proto::{
    domain::{ExecutionId, OutputStream},
    limits::CHUNK_BYTES,
};
use futures::TryStreamExt as _;

use super::{OutputError, OutputWriter, Outputs};
use crate::stream::{OutputShelf, Piece, ShelfError, ShelfWriter, Shelved};

#[async_trait::async_trait]
impl OutputShelf for Outputs {
    async fn read(&self, id: ExecutionId, stream: OutputStream, offset: u64) -> Result<Shelved, ShelfError> {
        let mut pieces = match Self::read(self, id, stream, offset, CHUNK_BYTES as u64).await {
            Ok(pieces) => pieces,
            Err(OutputError::PastEnd { end, .. }) => return Ok(Shelved::PastEnd(end)),
            Err(error) => return Err(error.into()),
        };
        Ok(pieces.try_next().await?.map_or(Shelved::End, Shelved::Piece))
    }

    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError> {
        Ok(Box::new(self.writer(id).await?))
    }
}

#[async_trait::async_trait]
impl ShelfWriter for OutputWriter {
    async fn write(&mut self, stream: OutputStream, piece: Piece) -> Result<(), ShelfError> {
        match piece {
            Piece::Data { offset, data } => self.append(stream, offset, data).await?,
            Piece::Gap { from, to } => self.gap(stream, from, to)?,
        }
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), ShelfError> {
        Self::finish(*self).await?;
        Ok(())
    }
}

impl From<OutputError> for ShelfError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Unavailable { .. } | OutputError::Broken => Self::Unavailable(error.to_string()),
            OutputError::Missing(_)
            | OutputError::PastEnd { .. }
            | OutputError::Misplaced { .. }
            | OutputError::TooManyGaps
            | OutputError::Corrupt { .. } => Self::Corrupt(error.to_string()),
        }
    }
}
