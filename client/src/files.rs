//! Download of one file of a session to a local path.

use std::{
    fs::Permissions,
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    Client, ClientError, Progress,
    error::local,
    v1::{DownloadDone, FileFormat, FileServiceDownloadRequest},
};

impl Client {
    /// Copies the file `path` of a session to `to`. An existing file is replaced atomically after all
    /// data has arrived and was checked. A local file that is not a regular file, such as a device, is
    /// written to. The permissions are those of the session's file without the bits of this process's
    /// umask.
    ///
    /// # Errors
    /// As for [`Download::next`](super::Download::next), and [`ClientError::Local`].
    pub async fn download_file(
        &self,
        session_id: &str,
        path: &[u8],
        to: &Path,
        progress: &Progress,
    ) -> Result<DownloadDone, ClientError> {
        let request = FileServiceDownloadRequest {
            session_id: session_id.to_owned(),
            format: FileFormat::File.into(),
            ..Default::default()
        }
        .with_path(path.to_vec());
        let mut download = self.download(request, u64::MAX);
        let header = download.header().await?;
        let unwritable = |error: &io::Error| local("cannot write", to, error);
        let cannot = |error: io::Error| unwritable(&error);
        let target = resolved(to).map_err(cannot)?;
        if target.symlink_metadata().is_ok_and(|meta| !meta.is_file()) {
            let mut file = tokio::fs::OpenOptions::new().write(true).open(&target).await.map_err(cannot)?;
            return download.copy(&mut file, progress, unwritable).await;
        }
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mode = header.info.map_or(0, |info| info.mode) & 0o777 | 0o600;
        let temporary = tempfile::Builder::new()
            .prefix(airlock_archive::TEMPORARY_PREFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(parent)
            .map_err(cannot)?;
        let mut file = tokio::fs::File::from_std(temporary.as_file().try_clone().map_err(cannot)?);
        let done = download.copy(&mut file, progress, unwritable).await?;
        temporary.persist(&target).map_err(|error| cannot(error.error))?;
        Ok(done)
    }
}

/// Follows the links at the end of the path, if their target exists.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => path.canonicalize(),
        _ => Ok(path.to_owned()),
    }
}
