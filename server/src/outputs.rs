//! The storage of finished output: one folder per execution in an object store.
//!
//! A folder holds the kept bytes of each stream and a manifest, which is written last: without it
//! nothing is there, so that what a dying process leaves is never taken for a whole. Offsets are those
//! of the stream for ever; what was cut from its middle is a gap. Nothing here knows runners, readers
//! or states.

mod manifest;
mod reader;
pub(crate) mod retention;
mod s3;
mod shelf;
mod writer;

use std::{os::unix::fs::DirBuilderExt as _, path::PathBuf, sync::Arc};

use airlock_proto::{
    domain::{ExecutionId, OutputStream},
    limits::CHUNK_BYTES,
};
use futures::TryStreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, local::LocalFileSystem, path::Path,
};
use uuid::Uuid;

pub use manifest::{Stored, StoredStream};
pub use reader::OutputReader;
pub use s3::{S3Credentials, S3Options};
pub use writer::OutputWriter;

/// Of one write to a local folder; a writer holds at most so much of each stream in memory.
const LOCAL_PART_BYTES: usize = 1 << 20;
/// Of what a storage says when it fails, in an error.
const CAUSE_CHARS: usize = 400;
/// Of a storage without conditional writes.
const REPLACES: &str = "it ignores `If-None-Match: *`, so that a second writer would replace what a first one stored; use a \
                        storage with conditional writes";
/// Outputs hold what commands wrote.
const OWNER_ONLY: u32 = 0o700;

/// Why an output could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Nothing is stored for this execution.
    #[error("no output of execution `{0}` is stored")]
    Missing(ExecutionId),
    /// A read that begins past the end.
    #[error("offset {asked} is past the end, which is {end}")]
    PastEnd {
        /// As given.
        asked: u64,
        /// The stream's length in bytes.
        end: u64,
    },
    /// A stretch that does not begin where the stream has come to, or an empty gap.
    #[error("what goes from {from} to {to} does not follow {position} bytes")]
    Misplaced {
        /// As given.
        from: u64,
        /// As given.
        to: u64,
        /// Where the stream has come to.
        position: u64,
    },
    /// More gaps in one stream than a manifest may name.
    #[error("a stored stream has at most {} gaps", manifest::GAPS)]
    TooManyGaps,
    /// An earlier call failed or was dropped midway, so that it is not known what was written.
    #[error("an earlier write of this output failed")]
    Broken,
    /// The storage cannot be reached, or is full.
    #[error("the output storage failed to {step}: {cause}")]
    Unavailable {
        /// What was tried.
        step: &'static str,
        /// What it said.
        cause: String,
    },
    /// The storage is not one that outputs can be kept in.
    #[error("outputs cannot be kept there: {0}")]
    Unusable(String),
    /// What is stored is not what was written.
    #[error("the output of execution `{id}` is damaged: {problem}")]
    Corrupt {
        /// Whose.
        id: ExecutionId,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The storage of finished output. Clones share it.
#[derive(Debug, Clone)]
pub struct Outputs {
    objects: Arc<dyn ObjectStore>,
    /// Where the objects are, if they are files: a dying process leaves some that no listing shows.
    files: Option<PathBuf>,
    part_bytes: usize,
    /// Of one piece that a reader is given.
    read_bytes: usize,
    /// Of one request of a reader, which is given it in pieces.
    fetch_bytes: usize,
}

impl Outputs {
    /// Outputs in the local folder `folder`, which is made (for its owner alone) if it is missing. What
    /// is stored there survives the host: everything is flushed to the disk before it counts.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if the folder cannot be made or used.
    pub fn local(folder: &std::path::Path) -> Result<Self, OutputError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(OWNER_ONLY)
            .create(folder)
            .map_err(|error| unavailable("make its folder", &error))?;
        let files = LocalFileSystem::new_with_prefix(folder)
            .map_err(|error| unavailable("open its folder", &error))?
            .with_automatic_cleanup(true)
            .with_fsync(true);
        Ok(Self {
            objects: Arc::new(files),
            files: Some(folder.to_owned()),
            part_bytes: LOCAL_PART_BYTES,
            read_bytes: CHUNK_BYTES,
            fetch_bytes: CHUNK_BYTES,
        })
    }

    /// Outputs in a bucket. Says nothing yet of whether that can be reached; see [`Outputs::probe`].
    ///
    /// # Errors
    /// [`OutputError::Unusable`] if the options cannot be used.
    pub fn s3(options: &S3Options) -> Result<Self, OutputError> {
        Ok(Self {
            objects: s3::objects(options)?,
            files: None,
            part_bytes: s3::PART_BYTES,
            read_bytes: CHUNK_BYTES,
            fetch_bytes: s3::FETCH_BYTES,
        })
    }

    /// Writes an object twice and removes it, to see whether the storage takes any, and whether it lets a second writer
    /// replace what a first one wrote: two servers that store one output would leave parts of both.
    ///
    /// # Errors
    /// [`OutputError::Unusable`] if it refuses the first or takes the second, [`OutputError::Unavailable`] if it does not
    /// answer.
    pub async fn probe(&self) -> Result<(), OutputError> {
        // In no other server's way.
        let probe = Path::from(format!("probe-{}", Uuid::new_v4()));
        let put = async || self.objects.put_opts(&probe, PutPayload::new(), PutMode::Create.into()).await;
        let told = |error: object_store::Error| match s3::is_refusal(&error) {
            true => OutputError::Unusable(said(&error)),
            false => unavailable("answer", &error),
        };
        // A write that was answered too late and repeated finds itself there.
        match put().await {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(told(error)),
        }
        let second = put().await;
        let removed = self.remove(&probe).await;
        match second {
            Err(object_store::Error::AlreadyExists { .. }) => removed,
            Ok(_) => Err(OutputError::Unusable(REPLACES.to_owned())),
            Err(error) => Err(told(error)),
        }
    }

    /// Begins to store the output of `id`, in the place of what was begun and not finished. At most one
    /// writer of an execution is used at a time.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if leftovers of an earlier writer cannot be removed.
    pub async fn writer(&self, id: ExecutionId) -> Result<OutputWriter, OutputError> {
        self.sweep(id).await?;
        Ok(OutputWriter::new(self.clone(), id))
    }

    /// What is stored of `id`; none if nothing is, or not yet all.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`], and [`OutputError::Corrupt`] for a manifest that cannot be read.
    pub async fn stored(&self, id: ExecutionId) -> Result<Option<Stored>, OutputError> {
        manifest::get(&*self.objects, id).await
    }

    /// Opens a stored stream.
    ///
    /// # Errors
    /// [`OutputError::Missing`], and those of [`Outputs::stored`].
    pub async fn open(&self, id: ExecutionId, stream: OutputStream) -> Result<OutputReader, OutputError> {
        OutputReader::open(self, id, stream).await
    }

    /// Removes all output of `id`, finished or not. Succeeds if there is none.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`]; what is left then is removed by another try.
    pub async fn delete(&self, id: ExecutionId) -> Result<(), OutputError> {
        self.sweep(id).await?;
        // The manifest first, so that what goes midway is gone as a whole.
        self.remove(&manifest::path(id)).await?;
        for object in self.data_objects(id).await? {
            self.remove(&object).await?;
        }
        Ok(())
    }

    /// Every data object of `id`, whether a manifest names it or not.
    async fn data_objects(&self, id: ExecutionId) -> Result<Vec<Path>, OutputError> {
        let listed = self.objects.list(Some(&folder(id)));
        let mut found: Vec<Path> = listed
            .map_ok(|object| object.location)
            .try_collect()
            .await
            .map_err(|error| unavailable("list a folder", &error))?;
        found.retain(|object| *object != manifest::path(id));
        Ok(found)
    }

    async fn remove(&self, object: &Path) -> Result<(), OutputError> {
        match self.objects.delete(object).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unavailable("remove an object", &error)),
        }
    }

    /// Removes files that were being written when an earlier process died; listings leave them out.
    async fn sweep(&self, id: ExecutionId) -> Result<(), OutputError> {
        let Some(files) = &self.files else { return Ok(()) };
        let failed = |error: std::io::Error| unavailable("sweep a folder", &error);
        let mut entries = match tokio::fs::read_dir(files.join(id.to_string())).await {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        while let Some(entry) = entries.next_entry().await.map_err(failed)? {
            if entry.file_name().to_string_lossy().contains('#') {
                tokio::fs::remove_file(entry.path()).await.map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn folder(id: ExecutionId) -> Path {
    Path::from(id.to_string())
}

/// The stable name of a stream, with which its data objects begin.
fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}

fn unavailable(step: &'static str, cause: &dyn std::error::Error) -> OutputError {
    OutputError::Unavailable { step, cause: said(cause) }
}

/// What a storage said, which may be a page of it.
fn said(cause: &dyn std::error::Error) -> String {
    let mut text: String = cause.to_string().chars().take(CAUSE_CHARS).collect();
    text.retain(|character| !character.is_control());
    text
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;
