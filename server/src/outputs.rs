//! The storage of finished output: one directory per execution in an object store.
//!
//! A directory holds the kept bytes of each stream and a manifest. The manifest is written last. An output without a
//! manifest does not exist, so a partial output of a dead process is never read as a complete one. Offsets are those of
//! the original stream and never change. A range that was cut is a gap. This module must not depend on runners, readers
//! or execution states.

mod manifest;
mod reader;
pub(crate) mod retention;
mod s3;
mod shelf;
mod writer;

use std::{os::unix::fs::DirBuilderExt as _, path::PathBuf, sync::Arc};

use airlock_domain::{ExecutionId, OutputStream, limits::CHUNK_BYTES};
use futures::TryStreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, local::LocalFileSystem, path::Path,
};
use uuid::Uuid;

pub use manifest::{Stored, StoredStream};
pub use reader::OutputReader;
pub use s3::{S3Credentials, S3Options};
pub use writer::OutputWriter;

/// The part size for a local directory, in bytes. A writer buffers at most one part per stream.
const LOCAL_PART_BYTES: usize = 1 << 20;
/// The maximum length of a storage's error text in an [`OutputError`], in characters.
const CAUSE_CHARS: usize = 400;
/// The problem of a storage that ignores the condition of a write.
const REPLACES: &str = "it ignores `If-None-Match: *`, so a second writer would replace the output of the first; use a \
                        storage with conditional writes";
/// The mode of the output directory. Only the owner has access, because outputs hold what commands wrote.
const OWNER_ONLY: u32 = 0o700;

/// Why an output could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// No output is stored for this execution.
    #[error("no output of execution `{0}` is stored")]
    Missing(ExecutionId),
    /// A read begins past the end of the stream.
    #[error("offset {asked} is past the end, which is {end}")]
    PastEnd {
        /// The requested offset.
        asked: u64,
        /// The length of the stream in bytes.
        end: u64,
    },
    /// A range does not begin at the current end of the stream, or a gap is empty.
    #[error("the range from {from} to {to} does not begin at the end of the stream, which is {position}")]
    Misplaced {
        /// The first offset of the range.
        from: u64,
        /// The end of the range, exclusive.
        to: u64,
        /// The current end of the stream.
        position: u64,
    },
    /// A stream has more gaps than a manifest may list.
    #[error("a stored stream has at most {} gaps", manifest::GAPS)]
    TooManyGaps,
    /// An earlier call failed or was dropped before it completed, so the written bytes are unknown.
    #[error("an earlier write of this output failed")]
    Broken,
    /// The storage cannot be reached, or is full.
    #[error("the output storage failed to {step}: {cause}")]
    Unavailable {
        /// The operation that failed.
        step: &'static str,
        /// The storage's error text.
        cause: String,
    },
    /// The storage cannot hold outputs, for example because it has no conditional writes.
    #[error("the storage is not suitable for outputs: {0}")]
    Unusable(String),
    /// The stored output differs from what was written.
    #[error("the output of execution `{id}` is damaged: {problem}")]
    Corrupt {
        /// The execution of the output.
        id: ExecutionId,
        /// The damage.
        problem: &'static str,
    },
}

/// The storage of finished output. Clones share the same storage.
#[derive(Debug, Clone)]
pub struct Outputs {
    objects: Arc<dyn ObjectStore>,
    /// The root directory of a local storage. Needed to find temporary files of a dead process, which listings omit.
    files: Option<PathBuf>,
    part_bytes: usize,
    /// The size limit of one piece that a reader returns, in bytes.
    read_bytes: usize,
    /// The size limit of one request of a reader, in bytes. A reader splits the result into pieces.
    fetch_bytes: usize,
}

impl Outputs {
    /// Opens a storage in the local directory `folder`. Creates the directory if it is missing, accessible to its owner
    /// only. Files are flushed to disk before they count as stored, so they survive a crash of the host.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if the directory cannot be created or used.
    pub fn local(folder: &std::path::Path) -> Result<Self, OutputError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(OWNER_ONLY)
            .create(folder)
            .map_err(|error| unavailable("create its directory", &error))?;
        let files = LocalFileSystem::new_with_prefix(folder)
            .map_err(|error| unavailable("open its directory", &error))?
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

    /// Opens a storage in a bucket. Does not connect; [`Outputs::probe`] checks that the bucket is reachable.
    ///
    /// # Errors
    /// [`OutputError::Unusable`] if the options are invalid.
    pub fn s3(options: &S3Options) -> Result<Self, OutputError> {
        Ok(Self {
            objects: s3::objects(options)?,
            files: None,
            part_bytes: s3::PART_BYTES,
            read_bytes: CHUNK_BYTES,
            fetch_bytes: s3::FETCH_BYTES,
        })
    }

    /// Checks that the storage accepts a write and rejects a second write of the same object, then removes the object.
    /// Without this rejection, two servers that store the same output would leave parts of both.
    ///
    /// # Errors
    /// [`OutputError::Unusable`] if the storage refuses the first write or accepts the second.
    /// [`OutputError::Unavailable`] if the storage does not answer.
    pub async fn probe(&self) -> Result<(), OutputError> {
        // The random name avoids conflicts with other servers.
        let probe = Path::from(format!("probe-{}", Uuid::new_v4()));
        let put = async || self.objects.put_opts(&probe, PutPayload::new(), PutMode::Create.into()).await;
        let told = |error: object_store::Error| match s3::is_refusal(&error) {
            true => OutputError::Unusable(said(&error)),
            false => unavailable("answer", &error),
        };
        // The client retries a write without a timely answer. The retry can then find its own object.
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

    /// Starts to store the output of `id`, and replaces an unfinished attempt. At most one writer per execution may be
    /// in use at a time.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if the files of an earlier writer cannot be removed.
    pub async fn writer(&self, id: ExecutionId) -> Result<OutputWriter, OutputError> {
        self.sweep(id).await?;
        Ok(OutputWriter::new(self.clone(), id))
    }

    /// Returns the manifest of the output of `id`, or `None` if no complete output is stored.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`], or [`OutputError::Corrupt`] if the manifest is invalid.
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

    /// Removes all output of `id`, complete or not. Succeeds if nothing is stored.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`]. A repeated call removes the rest.
    pub async fn delete(&self, id: ExecutionId) -> Result<(), OutputError> {
        self.sweep(id).await?;
        // Remove the manifest first, so that an interrupted removal leaves no readable output.
        self.remove(&manifest::path(id)).await?;
        for object in self.data_objects(id).await? {
            self.remove(&object).await?;
        }
        Ok(())
    }

    /// Lists every data object of `id`, including those that no manifest refers to.
    async fn data_objects(&self, id: ExecutionId) -> Result<Vec<Path>, OutputError> {
        let listed = self.objects.list(Some(&folder(id)));
        let mut found: Vec<Path> = listed
            .map_ok(|object| object.location)
            .try_collect()
            .await
            .map_err(|error| unavailable("list a directory", &error))?;
        found.retain(|object| *object != manifest::path(id));
        Ok(found)
    }

    async fn remove(&self, object: &Path) -> Result<(), OutputError> {
        match self.objects.delete(object).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unavailable("remove an object", &error)),
        }
    }

    /// Removes temporary files that a dead process left. Listings of the object store omit them.
    async fn sweep(&self, id: ExecutionId) -> Result<(), OutputError> {
        let Some(files) = &self.files else { return Ok(()) };
        let failed = |error: std::io::Error| unavailable("clean up a directory", &error);
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

/// Returns the stable name of a stream, which is the prefix of its data objects.
fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}

fn unavailable(step: &'static str, cause: &dyn std::error::Error) -> OutputError {
    OutputError::Unavailable { step, cause: said(cause) }
}

/// Returns the error text of a storage, truncated and without control characters.
fn said(cause: &dyn std::error::Error) -> String {
    let mut text: String = cause.to_string().chars().take(CAUSE_CHARS).collect();
    text.retain(|character| !character.is_control());
    text
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod tests;
