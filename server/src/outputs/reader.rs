//! Reading a stored stream piece by piece.

use std::collections::VecDeque;

use airlock_proto::domain::ExecutionId;
use futures::{StreamExt as _, stream, stream::BoxStream};
use object_store::{ObjectStoreExt as _, path::Path};

use super::{
    OutputError, Outputs, folder,
    manifest::{Part, StoredStream},
    unavailable,
};
use crate::stream::Piece;

struct Reading {
    outputs: Outputs,
    id: ExecutionId,
    data: Option<Path>,
    parts: VecDeque<Part>,
}

/// The pieces of `stored` from `from` on, with at most `max` bytes of data.
pub(super) fn pieces(
    outputs: Outputs,
    id: ExecutionId,
    stored: &StoredStream,
    from: u64,
    max: u64,
) -> BoxStream<'static, Result<Piece, OutputError>> {
    let reading = Reading {
        outputs,
        id,
        data: stored.data.as_ref().map(|data| folder(id).join(data.as_str())),
        parts: stored.plan(from, max).into(),
    };
    stream::try_unfold(reading, async |mut reading| {
        let piece = reading.next().await?;
        Ok(piece.map(|piece| (piece, reading)))
    })
    .boxed()
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Piece>, OutputError> {
        match self.parts.pop_front() {
            None => Ok(None),
            Some(Part::Gap(gap)) => Ok(Some(Piece::Gap { from: gap.start, to: gap.end })),
            Some(Part::Kept { offset, at }) => {
                let middle = at.end.min(at.start + self.outputs.read_bytes as u64);
                if middle < at.end {
                    let rest = offset + (middle - at.start);
                    self.parts.push_front(Part::Kept { offset: rest, at: middle..at.end });
                }
                self.kept(offset, at.start..middle).await.map(Some)
            }
        }
    }

    async fn kept(&self, offset: u64, at: std::ops::Range<u64>) -> Result<Piece, OutputError> {
        let damaged = OutputError::Corrupt { id: self.id, problem: "it holds less than its manifest says" };
        let Some(data) = &self.data else { return Err(damaged) };
        let wanted = at.end - at.start;
        match self.outputs.objects.get_range(data, at).await {
            Ok(data) if data.len() as u64 == wanted => Ok(Piece::Data { offset, data }),
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Err(damaged),
            Err(error) => Err(unavailable("read", &error)),
        }
    }
}
