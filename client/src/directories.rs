//! Transfer of whole directories as archives. An archive is kept in an unnamed file until it is complete. A broken
//! connection is therefore resumed with the same bytes, and an archive is checked completely before anything is
//! unpacked.

use std::{
    collections::BTreeMap,
    fs::{self, File, Permissions},
    io::{self, Seek as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use airlock_archive::{ArchiveError, Cancel, Cause, Counts, Format, Limits, Pack, Packed, Unpack};
use cap_std::{ambient_authority, fs::Dir};

use super::{
    Client, ClientError, Progress,
    connection::Connection,
    error::{local, remedy},
    v1::{DownloadDone, FileFormat, FileServiceDownloadRequest, FileServiceUploadResponse, UploadHeader},
};

/// The largest number of entries in an archive.
const ENTRIES: u64 = 1_000_000;
/// The largest size of an archive, packed or unpacked, in bytes.
const BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// The options of a directory transfer.
#[derive(Debug, Clone)]
pub struct DirectoryOptions {
    /// Globs for paths below the directory that are skipped: `*` does not match slashes, `**` does.
    pub exclude: Vec<String>,
    /// The limits of an archive; a larger archive is an error.
    pub limits: Limits,
    /// The directory for the unnamed file that holds the archive.
    pub scratch: PathBuf,
}

impl DirectoryOptions {
    /// Returns options that exclude nothing and keep the archive in `scratch`: at most a million entries and 64 GiB.
    #[must_use]
    pub fn new(scratch: impl Into<PathBuf>) -> Self {
        let limits = Limits { entries: ENTRIES, bytes: BYTES, ..Limits::PATHS };
        Self { exclude: Vec::new(), limits, scratch: scratch.into() }
    }

    fn scratch_file(&self) -> Result<File, ClientError> {
        tempfile::tempfile_in(&self.scratch)
            .map_err(|error| local("cannot keep an archive in", &self.scratch, &error))
    }
}

/// The result of a directory upload.
#[derive(Debug, Clone)]
pub struct DirectoryUploaded {
    /// The server's counts of files and bytes that the session received.
    pub uploaded: FileServiceUploadResponse,
    /// The packed and the skipped entries.
    pub packed: Packed,
}

/// The result of a directory download.
#[derive(Debug, Clone)]
pub struct DirectoryDownloaded {
    /// The entries that the server sent, and those that it skipped.
    pub done: DownloadDone,
    /// The entries that were written to the local directory.
    pub counts: Counts,
}

impl Client {
    /// Uploads the content of the local directory `from` into the directory `path` of a session, which is created if it
    /// does not exist. Links are not followed. Owners are not transferred.
    ///
    /// # Errors
    /// As for [`Client::upload`]; [`ClientError::Archive`] if the directory cannot be packed.
    pub async fn upload_directory(
        &self,
        session_id: &str,
        from: &Path,
        path: &[u8],
        options: &DirectoryOptions,
        progress: &Progress,
    ) -> Result<DirectoryUploaded, ClientError> {
        let (archive, packed) = packed(&self.connection, from, options).await?;
        let header = UploadHeader {
            session_id: session_id.to_owned(),
            format: FileFormat::Tar.into(),
            ..Default::default()
        }
        .with_path(path.to_vec());
        let mut archive = tokio::fs::File::from_std(archive);
        let uploaded = self.upload(header, &mut archive, progress).await?;
        Ok(DirectoryUploaded { uploaded, packed })
    }

    /// Downloads the content of the directory `path` of a session into the local directory `into`, which is created if
    /// it does not exist. The whole archive is checked before anything is written; a new directory appears complete or
    /// not at all. Nothing outside the directory is changed. The permissions are those of
    /// the session's files without the bits of this process's umask. Owners are not transferred.
    ///
    /// # Errors
    /// As for [`Download::next`](super::Download::next); [`ClientError::Archive`] if the archive is refused or an
    /// existing file is in the way, with the number of entries that were written before.
    pub async fn download_directory(
        &self,
        session_id: &str,
        path: &[u8],
        into: &Path,
        options: &DirectoryOptions,
        progress: &Progress,
    ) -> Result<DirectoryDownloaded, ClientError> {
        let request = FileServiceDownloadRequest {
            session_id: session_id.to_owned(),
            format: FileFormat::Tar.into(),
            exclude: options.exclude.clone(),
            ..Default::default()
        }
        .with_path(path.to_vec());
        let mut archive = tokio::fs::File::from_std(options.scratch_file()?);
        let mut download = self.download(request, options.limits.bytes);
        let header = download.header().await?;
        if header.format() != FileFormat::Tar {
            return Err(self.connection.contract("it sent something other than the requested archive"));
        }
        let full = |error: &io::Error| local("cannot keep the archive in", &options.scratch, error);
        let done = download.copy(&mut archive, progress, full).await?;
        let archive = archive.into_std().await;
        let mode = header.info.map_or(0, |info| info.mode);
        let counts = unpacked(&self.connection, archive, into, mode, options.limits).await?;
        Ok(DirectoryDownloaded { done, counts })
    }
}

async fn packed(
    connection: &Connection,
    from: &Path,
    options: &DirectoryOptions,
) -> Result<(File, Packed), ClientError> {
    let exclude =
        airlock_archive::globs(&options.exclude).map_err(|error| ClientError::Local(error.to_string()))?;
    let (from, limits, archive) = (from.to_owned(), options.limits, options.scratch_file()?);
    blocking(connection, move |cancel| {
        let directory = Dir::open_ambient_dir(&from, ambient_authority())
            .map_err(|error| local("cannot read the directory", &from, &error))?;
        let pack = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &limits, cancel };
        let packed = airlock_archive::pack(&directory, Format::Tar, &archive, &pack)
            .map_err(|error| refused(&error))?;
        Ok((archive, packed))
    })
    .await
}

async fn unpacked(
    connection: &Connection,
    archive: File,
    into: &Path,
    mode: u32,
    limits: Limits,
) -> Result<Counts, ClientError> {
    let (into, umask) = (into.to_owned(), umask());
    blocking(connection, move |cancel| {
        airlock_archive::check(rewound(&archive)?, Format::Tar, &limits, cancel)
            .map_err(|error| refused(&error))?;
        let unpack = |directory: &Dir| {
            let how = Unpack { limits: &limits, umask, cancel };
            airlock_archive::unpack(rewound(&archive)?, Format::Tar, directory, &how, |_| {})
                .map_err(|error| refused(&error))
        };
        if into.symlink_metadata().is_ok() {
            let directory = Dir::open_ambient_dir(&into, ambient_authority())
                .map_err(|error| local("cannot open the directory", &into, &error))?;
            let (archive, format) = (rewound(&archive)?, Format::Tar);
            airlock_archive::conflicts(archive, format, &directory, &limits, cancel)
                .map_err(|error| refused(&error))?;
            return unpack(&directory);
        }
        let parent = match into.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let cannot = |error: io::Error| local("cannot create the directory", &into, &error);
        let made = tempfile::Builder::new()
            .prefix(airlock_archive::TEMPORARY_PREFIX)
            .tempdir_in(parent)
            .map_err(cannot)?;
        let counts = unpack(&Dir::open_ambient_dir(made.path(), ambient_authority()).map_err(cannot)?)?;
        // The owner can always enter the directory.
        let mode = mode & 0o777 & !umask | 0o700;
        fs::set_permissions(made.path(), Permissions::from_mode(mode)).map_err(cannot)?;
        fs::rename(made.path(), &into).map_err(cannot)?;
        Ok(counts)
    })
    .await
}

/// Runs blocking work on a thread of its own. The work is cancelled when the call is dropped.
async fn blocking<T, F>(connection: &Connection, work: F) -> Result<T, ClientError>
where
    T: Send + 'static,
    F: FnOnce(&Cancel) -> Result<T, ClientError> + Send + 'static,
{
    struct OnDrop(Cancel);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.cancel();
        }
    }
    let cancel = OnDrop(Cancel::new());
    let seen = cancel.0.clone();
    match connection.disk().spawn_blocking(move || work(&seen)).await {
        Ok(done) => done,
        Err(_) => Err(ClientError::Local("the work on the disk was interrupted".to_owned())),
    }
}

/// Returns the umask of this process. The system call that reads it also sets it, so it is read from /proc. If that
/// fails, a umask that permits writing to the owner only is assumed.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o022)
}

fn rewound(mut file: &File) -> Result<io::BufReader<&File>, ClientError> {
    file.rewind().map_err(|error| ClientError::Local(format!("the archive cannot be read: {error}")))?;
    Ok(io::BufReader::new(file))
}

fn refused(error: &ArchiveError) -> ClientError {
    let remedy = match &error.cause {
        Cause::Directory { source, .. } | Cause::Write { source } => remedy(source.kind()),
        _ => "",
    };
    ClientError::Archive { message: format!("{error}{remedy}"), put: error.put }
}
