//! Reads of a stored stream from any offset.

use std::ops::Range;

use airlock_domain::{ExecutionId, OutputStream, limits::CHUNK_BYTES};
use bytes::Bytes;
use object_store::{ObjectStoreExt as _, path::Path};

use super::{
    error::{OutputError, unavailable},
    manifest::{Part, StoredStream, directory},
    outputs::Outputs,
};
use crate::stream::Piece;

/// A reader of one stored stream. It reads the manifest once, when it is opened. It holds no file handle
/// and at most the bytes of one request. Stored data does not change until it is deleted.
#[derive(Debug)]
pub struct OutputReader {
    outputs: Outputs,
    id: ExecutionId,
    data: Option<Path>,
    stored: StoredStream,
    /// The result of the last request, and its start in the data object.
    fetched: (u64, Bytes),
}

impl Outputs {
    /// Opens a stored stream.
    ///
    /// # Errors
    /// [`OutputError::Missing`], and those of [`Outputs::stored`].
    pub async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<OutputReader, OutputError> {
        OutputReader::open(self, id, stream).await
    }
}

impl OutputReader {
    async fn open(outputs: &Outputs, id: ExecutionId, stream: OutputStream) -> Result<Self, OutputError> {
        let stored = outputs.stored(id).await?.ok_or(OutputError::Missing(id))?.into_stream(stream);
        let data = stored.data.as_ref().map(|data| directory(id).join(data.as_str()));
        Ok(Self { outputs: outputs.clone(), id, data, stored, fetched: (0, Bytes::new()) })
    }

    /// Returns the length of the stream in bytes, gaps included.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.stored.length
    }

    /// Returns the piece at `offset`: at most [`CHUNK_BYTES`] of data, or the rest of a gap. Returns
    /// `None` at the end of the stream. Dropping the future at any time is safe.
    ///
    /// # Errors
    /// [`OutputError::PastEnd`], [`OutputError::Unavailable`], [`OutputError::Corrupt`].
    pub async fn read(&mut self, offset: u64) -> Result<Option<Piece>, OutputError> {
        let end = self.stored.length;
        if offset > end {
            return Err(OutputError::PastEnd { asked: offset, end });
        }
        match self.stored.part_at(offset) {
            None => Ok(None),
            Some(Part::Gap(gap)) => Ok(Some(Piece::Gap { from: gap.start, to: gap.end })),
            Some(Part::Kept { offset, at }) => {
                let most = self.outputs.read_bytes.min(CHUNK_BYTES) as u64;
                let end = at.end.min(at.start + most);
                self.kept(offset, at.start..end, at.end).await.map(Some)
            }
        }
    }

    /// Returns the bytes `at` of the data object. Fetches ahead, but not past `end`.
    async fn kept(&mut self, offset: u64, at: Range<u64>, end: u64) -> Result<Piece, OutputError> {
        if let Some(data) = self.held(&at) {
            return Ok(Piece::Data { offset, data });
        }
        let damaged =
            OutputError::Corrupt { id: self.id, problem: "it has fewer bytes than its manifest states" };
        let Some(data) = &self.data else { return Err(damaged) };
        let fetch = at.start..end.min(at.start.saturating_add(self.outputs.fetch_bytes as u64)).max(at.end);
        let wanted = fetch.end - fetch.start;
        match self.outputs.objects.get_range(data, fetch).await {
            Ok(data) if data.len() as u64 == wanted => self.fetched = (at.start, data),
            Ok(_) | Err(object_store::Error::NotFound { .. }) => return Err(damaged),
            Err(error) => return Err(unavailable("read", &error)),
        }
        self.held(&at).map(|data| Piece::Data { offset, data }).ok_or(damaged)
    }

    /// Returns the bytes `at` of the data object if they are already fetched.
    fn held(&self, at: &Range<u64>) -> Option<Bytes> {
        let (start, data) = &self.fetched;
        let from = usize::try_from(at.start.checked_sub(*start)?).ok()?;
        let to = usize::try_from(at.end.checked_sub(*start)?).ok()?;
        (to <= data.len()).then(|| data.slice(from..to))
    }
}
