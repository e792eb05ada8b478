//! Writes of an output: both streams concurrently, in parts of bounded size, and the manifest last.

use std::time::Duration;

use airlock_domain::{ExecutionId, OutputStream};
use bytes::{Bytes, BytesMut};
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt as _, PutPayload};
use tokio::time::timeout;
use uuid::Uuid;

use super::{
    error::{OutputError, unavailable},
    manifest::{self, Stored, StoredStream, directory, stream_name},
    outputs::Outputs,
};
use crate::stream::GAPS_MOST;

/// The time limit for aborting an upload.
const ABORT_WAIT: Duration = Duration::from_secs(30);

/// A writer of one output. If it is dropped before [`OutputWriter::finish`] returns, the output is not
/// stored, unless the manifest was just written. Another writer can then start over.
#[derive(Debug)]
pub struct OutputWriter {
    outputs: Outputs,
    id: ExecutionId,
    stdout: Track,
    stderr: Track,
    /// A call is in progress, or an earlier call did not complete.
    broken: bool,
}

#[derive(Debug)]
struct Track {
    stored: StoredStream,
    /// The data object of this stream. The name is random, so writers do not conflict.
    name: String,
    buffer: BytesMut,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl Outputs {
    /// Starts to store the output of `id`, and replaces an unfinished attempt. At most one writer per execution may be
    /// in use at a time.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if the files of an earlier writer cannot be removed.
    pub async fn writer(&self, id: ExecutionId) -> Result<OutputWriter, OutputError> {
        self.sweep(id).await?;
        Ok(OutputWriter::new(self.clone(), id))
    }
}

impl OutputWriter {
    fn new(outputs: Outputs, id: ExecutionId) -> Self {
        let [stdout, stderr] = [OutputStream::Stdout, OutputStream::Stderr].map(Track::new);
        Self { outputs, id, stdout, stderr, broken: false }
    }

    /// Appends bytes of `stream` at `offset`. After a call that failed or was dropped, the writer can
    /// only be aborted.
    ///
    /// # Errors
    /// [`OutputError::Misplaced`] if `offset` is not the current end of the stream,
    /// [`OutputError::Unavailable`], [`OutputError::Broken`].
    pub async fn append(
        &mut self,
        stream: OutputStream,
        offset: u64,
        data: Bytes,
    ) -> Result<(), OutputError> {
        self.begin()?;
        let Self { outputs, id, stdout, stderr, .. } = self;
        let track = match stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        };
        track.append(outputs, *id, offset, data).await?;
        self.broken = false;
        Ok(())
    }

    /// Records that the bytes of `stream` from `from` to `to` (exclusive) are not kept.
    ///
    /// # Errors
    /// [`OutputError::Misplaced`] if `from` is not the current end of the stream,
    /// [`OutputError::TooManyGaps`], [`OutputError::Broken`]. An error leaves the writer unchanged.
    pub fn gap(&mut self, stream: OutputStream, from: u64, to: u64) -> Result<(), OutputError> {
        if self.broken {
            return Err(OutputError::Broken);
        }
        match stream {
            OutputStream::Stdout => self.stdout.gap(from, to),
            OutputStream::Stderr => self.stderr.gap(from, to),
        }
    }

    /// Commits the output in one atomic step and returns the stored manifest. If another writer was first, its output
    /// remains, and its manifest is returned.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`], [`OutputError::Broken`], and [`OutputError::Missing`] if the
    /// other writer's output was deleted meanwhile.
    pub async fn finish(mut self) -> Result<Stored, OutputError> {
        self.begin()?;
        let Self { outputs, id, stdout, stderr, .. } = self;
        let stored = Stored::new(
            stdout.finish(&*outputs.objects, id).await?,
            stderr.finish(&*outputs.objects, id).await?,
        );
        let stored = if manifest::put(&*outputs.objects, id, &stored).await? {
            stored
        } else {
            outputs.stored(id).await?.ok_or(OutputError::Missing(id))?
        };
        // Remove objects of unfinished writers. If this fails, the deletion of the output removes
        // them.
        for object in outputs.data_objects(id).await.unwrap_or_default() {
            let named = [&stored.stdout, &stored.stderr].into_iter().any(|stream| {
                stream.data.as_ref().is_some_and(|data| directory(id).join(data.as_str()) == object)
            });
            if !named {
                let _ = outputs.remove(&object).await;
            }
        }
        Ok(stored)
    }

    /// Aborts the uploads, which discards the written data.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`]. The next writer removes the rest.
    pub async fn abort(self) -> Result<(), OutputError> {
        for mut track in [self.stdout, self.stderr] {
            if let Some(mut upload) = track.upload.take() {
                upload.abort().await.map_err(|error| unavailable("abort an upload", &error))?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), OutputError> {
        if std::mem::replace(&mut self.broken, true) { Err(OutputError::Broken) } else { Ok(()) }
    }
}

impl Track {
    fn new(stream: OutputStream) -> Self {
        Self {
            stored: StoredStream::default(),
            name: format!("{}-{}.data", stream_name(stream), Uuid::new_v4()),
            buffer: BytesMut::new(),
            upload: None,
        }
    }

    async fn append(
        &mut self,
        outputs: &Outputs,
        id: ExecutionId,
        offset: u64,
        mut data: Bytes,
    ) -> Result<(), OutputError> {
        let position = self.stored.length;
        let to = offset.saturating_add(data.len() as u64);
        if offset != position {
            return Err(OutputError::Misplaced { from: offset, to, position });
        }
        self.stored.length = to;
        while !data.is_empty() {
            let room = outputs.part_bytes.saturating_sub(self.buffer.len());
            let piece = data.split_to(room.min(data.len()));
            self.buffer.extend_from_slice(&piece);
            if self.buffer.len() >= outputs.part_bytes {
                self.put_part(&*outputs.objects, id).await?;
            }
        }
        Ok(())
    }

    async fn put_part(&mut self, objects: &dyn ObjectStore, id: ExecutionId) -> Result<(), OutputError> {
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let begun = objects.put_multipart(&directory(id).join(self.name.as_str())).await;
                none.insert(begun.map_err(|error| unavailable("begin an upload", &error))?)
            }
        };
        let part = PutPayload::from(std::mem::take(&mut self.buffer).freeze());
        upload.put_part(part).await.map_err(|error| unavailable("write", &error))
    }

    fn gap(&mut self, from: u64, to: u64) -> Result<(), OutputError> {
        let position = self.stored.length;
        if from != position || to <= from {
            return Err(OutputError::Misplaced { from, to, position });
        }
        let gaps = &mut self.stored.gaps;
        let count = gaps.len();
        match gaps.last_mut() {
            Some(last) if last.end == from => last.end = to,
            _ if count >= GAPS_MOST => return Err(OutputError::TooManyGaps),
            _ => gaps.push(from..to),
        }
        self.stored.length = to;
        Ok(())
    }

    async fn finish(
        mut self,
        objects: &dyn ObjectStore,
        id: ExecutionId,
    ) -> Result<StoredStream, OutputError> {
        let stored = std::mem::take(&mut self.stored);
        if stored.kept() == 0 {
            return Ok(stored);
        }
        if self.upload.is_none() {
            let whole = PutPayload::from(std::mem::take(&mut self.buffer).freeze());
            let put = objects.put(&directory(id).join(self.name.as_str()), whole).await;
            put.map_err(|error| unavailable("write", &error))?;
        } else {
            if !self.buffer.is_empty() {
                self.put_part(objects, id).await?;
            }
            if let Some(upload) = &mut self.upload {
                upload.complete().await.map_err(|error| unavailable("finish an upload", &error))?;
            }
            self.upload = None;
        }
        Ok(StoredStream { data: Some(std::mem::take(&mut self.name)), ..stored })
    }
}

impl Drop for Track {
    /// Aborts an open upload in the background. A remote storage would otherwise keep its parts
    /// forever.
    fn drop(&mut self) {
        if let Some(mut upload) = self.upload.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { timeout(ABORT_WAIT, upload.abort()).await });
        }
    }
}
