//! The storage of finished output in an object store.

use std::{os::unix::fs::DirBuilderExt as _, path::PathBuf, sync::Arc};

use airlock_domain::{ExecutionId, limits::CHUNK_BYTES};
use futures::TryStreamExt as _;
use object_store::{
    ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, local::LocalFileSystem, path::Path,
};
use uuid::Uuid;

use super::{
    error::{OutputError, said, unavailable},
    manifest::{self, Stored, directory},
    s3::{self, S3Options},
};

/// The part size for a local directory, in bytes. A writer buffers at most one part per stream.
const LOCAL_PART_BYTES: usize = 1 << 20;
/// The problem of a storage that ignores the condition of a write.
const REPLACES: &str = "it ignores `If-None-Match: *`, so a second writer would replace the output of the first; use a \
                        storage with conditional writes";
/// The mode of the output directory. Only the owner has access, because outputs contain the data that commands wrote.
pub(super) const OWNER_ONLY: u32 = 0o700;

/// The storage of finished output. Clones share the same storage.
#[derive(Debug, Clone)]
pub struct Outputs {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// The root directory of a local storage. Needed to find temporary files of a dead process, which listings omit.
    pub(super) files: Option<PathBuf>,
    pub(super) part_bytes: usize,
    /// The size limit of one piece that a reader returns, in bytes.
    pub(super) read_bytes: usize,
    /// The size limit of one request of a reader, in bytes. A reader splits the result into pieces.
    pub(super) fetch_bytes: usize,
}

impl Outputs {
    /// Opens a storage in the local directory `directory`. Creates the directory if it is missing, accessible to its
    /// owner only. Files are flushed to disk before they count as stored, so they survive a crash of the host.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`] if the directory cannot be created or used.
    pub fn local(directory: &std::path::Path) -> Result<Self, OutputError> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(OWNER_ONLY)
            .create(directory)
            .map_err(|error| unavailable("create its directory", &error))?;
        let files = LocalFileSystem::new_with_prefix(directory)
            .map_err(|error| unavailable("open its directory", &error))?
            .with_automatic_cleanup(true)
            .with_fsync(true);
        Ok(Self {
            objects: Arc::new(files),
            files: Some(directory.to_owned()),
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

    /// Returns the manifest of the output of `id`, or `None` if no complete output is stored.
    ///
    /// # Errors
    /// [`OutputError::Unavailable`], or [`OutputError::Corrupt`] if the manifest is invalid.
    pub async fn stored(&self, id: ExecutionId) -> Result<Option<Stored>, OutputError> {
        manifest::get(&*self.objects, id).await
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
    pub(super) async fn data_objects(&self, id: ExecutionId) -> Result<Vec<Path>, OutputError> {
        let listed = self.objects.list(Some(&directory(id)));
        let mut found: Vec<Path> = listed
            .map_ok(|object| object.location)
            .try_collect()
            .await
            .map_err(|error| unavailable("list a directory", &error))?;
        found.retain(|object| *object != manifest::path(id));
        Ok(found)
    }

    pub(super) async fn remove(&self, object: &Path) -> Result<(), OutputError> {
        match self.objects.delete(object).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unavailable("remove an object", &error)),
        }
    }

    /// Removes temporary files that a dead process left. Listings of the object store omit them. Another call, or a
    /// writer that completes, may remove a file first.
    pub(super) async fn sweep(&self, id: ExecutionId) -> Result<(), OutputError> {
        let Some(files) = &self.files else { return Ok(()) };
        let Some(mut entries) = found(tokio::fs::read_dir(files.join(id.to_string())).await)? else {
            return Ok(());
        };
        while let Some(Some(entry)) = found(entries.next_entry().await)? {
            if entry.file_name().to_string_lossy().contains('#') {
                found(tokio::fs::remove_file(entry.path()).await)?;
            }
        }
        Ok(())
    }
}

/// Returns `None` for a file or directory that is not there.
fn found<T>(result: std::io::Result<T>) -> Result<Option<T>, OutputError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable("clean up a directory", &error)),
    }
}
