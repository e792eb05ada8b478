//! An output storage in memory.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use airlock_domain::{ExecutionId, OutputStream};

use crate::stream::{OutputShelf, Piece, ShelfError, ShelfReader, ShelfWriter, Shelved};

type Stored = HashMap<(ExecutionId, OutputStream), Vec<Piece>>;

/// The stored outputs.
#[derive(Default)]
pub(super) struct MemoryShelf {
    opened: AtomicUsize,
    stored: Arc<Mutex<Stored>>,
}

impl MemoryShelf {
    /// Returns how often a stream was opened.
    pub(super) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }
}

struct Reader {
    pieces: Vec<Piece>,
}

struct Writer {
    id: ExecutionId,
    pieces: Stored,
    stored: Arc<Mutex<Stored>>,
}

#[async_trait::async_trait]
impl OutputShelf for MemoryShelf {
    async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<Box<dyn ShelfReader>, ShelfError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let pieces = self.stored.lock().unwrap().get(&(id, stream)).cloned().unwrap_or_default();
        Ok(Box::new(Reader { pieces }))
    }

    async fn begin(&self, id: ExecutionId) -> Result<Box<dyn ShelfWriter>, ShelfError> {
        let writer = Writer { id, pieces: Stored::new(), stored: Arc::clone(&self.stored) };
        Ok(Box::new(writer))
    }
}

#[async_trait::async_trait]
impl ShelfReader for Reader {
    fn length(&self) -> u64 {
        self.pieces.last().map_or(0, Piece::end)
    }

    async fn read(&mut self, offset: u64) -> Result<Shelved, ShelfError> {
        let end = self.length();
        if offset >= end {
            return Ok(if offset == end { Shelved::End } else { Shelved::PastEnd(end) });
        }
        let index = self.pieces.partition_point(|piece| piece.end() <= offset);
        Ok(Shelved::Piece(self.pieces[index].cut(offset)))
    }
}

#[async_trait::async_trait]
impl ShelfWriter for Writer {
    async fn write(&mut self, stream: OutputStream, piece: Piece) -> Result<(), ShelfError> {
        let pieces = self.pieces.entry((self.id, stream)).or_default();
        assert_eq!(pieces.last().map_or(0, Piece::end), piece.start(), "in order and without gaps");
        pieces.push(piece);
        Ok(())
    }

    async fn finish(self: Box<Self>) -> Result<(), ShelfError> {
        self.stored.lock().unwrap().extend(self.pieces);
        Ok(())
    }
}
