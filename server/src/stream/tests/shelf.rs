//! An output storage in memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use airlock_proto::domain::{ExecutionId, OutputStream};

use crate::stream::{OutputShelf, Piece, ShelfError, ShelfWriter, Shelved};

type Stored = HashMap<(ExecutionId, OutputStream), Vec<Piece>>;

/// Finished outputs.
#[derive(Default)]
pub(super) struct MemoryShelf {
    stored: Arc<Mutex<Stored>>,
}

struct Writer {
    id: ExecutionId,
    pieces: Stored,
    stored: Arc<Mutex<Stored>>,
}

#[async_trait::async_trait]
impl OutputShelf for MemoryShelf {
    async fn read(&self, id: ExecutionId, stream: OutputStream, offset: u64) -> Result<Shelved, ShelfError> {
        let stored = self.stored.lock().unwrap();
        let pieces = stored.get(&(id, stream)).map(Vec::as_slice).unwrap_or_default();
        let end = pieces.last().map_or(0, Piece::end);
        if offset >= end {
            return Ok(if offset == end { Shelved::End } else { Shelved::PastEnd(end) });
        }
        let piece = pieces.iter().find(|piece| piece.end() > offset).unwrap();
        Ok(Shelved::Piece(piece.cut(offset)))
    }

    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError> {
        let writer = Writer { id, pieces: Stored::new(), stored: Arc::clone(&self.stored) };
        Ok(Box::new(writer))
    }
}

#[async_trait::async_trait]
impl ShelfWriter for Writer {
    async fn write(&mut self, stream: OutputStream, piece: Piece) -> Result<(), ShelfError> {
        let pieces = self.pieces.entry((self.id, stream)).or_default();
        assert_eq!(pieces.last().map_or(0, Piece::end), piece.start(), "in order and without holes");
        pieces.push(piece);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), ShelfError> {
        self.stored.lock().unwrap().extend(self.pieces);
        Ok(())
    }
}
