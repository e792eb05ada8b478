//! The implementation of the streams' storage interface.

use airlock_domain::{ExecutionId, OutputStream};

use super::{error::OutputError, outputs::Outputs, reader::OutputReader, writer::OutputWriter};
use crate::stream::{OutputShelf, Piece, ShelfError, ShelfReader, ShelfWriter, Shelved};

#[async_trait::async_trait]
impl OutputShelf for Outputs {
    async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<Box<dyn ShelfReader>, ShelfError> {
        Ok(Box::new(Self::open(self, id, stream).await?))
    }

    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError> {
        Ok(Box::new(self.writer(id).await?))
    }
}

#[async_trait::async_trait]
impl ShelfReader for OutputReader {
    fn length(&self) -> u64 {
        Self::length(self)
    }

    async fn read(&mut self, offset: u64) -> Result<Shelved, ShelfError> {
        match Self::read(self, offset).await {
            Ok(piece) => Ok(piece.map_or(Shelved::End, Shelved::Piece)),
            Err(OutputError::PastEnd { end, .. }) => Ok(Shelved::PastEnd(end)),
            Err(error) => Err(error.into()),
        }
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
            OutputError::Unavailable { .. } | OutputError::Unusable(_) | OutputError::Broken => {
                Self::Unavailable(error.to_string())
            }
            OutputError::Missing(_)
            | OutputError::PastEnd { .. }
            | OutputError::Misplaced { .. }
            | OutputError::TooManyGaps
            | OutputError::Corrupt { .. } => Self::Corrupt(error.to_string()),
        }
    }
}
