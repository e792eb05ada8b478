//! Copies into a session.

use std::{fs::Metadata, io, os::unix::ffi::OsStrExt as _, os::unix::fs::PermissionsExt as _, path::Path};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncSeekExt as _};

use super::{
    super::{Failure, place::Remote},
    Copied, Copy, joined, path_of, wants_contents,
};
use airlock_client::v1::{FileFormat, FileInfo, FileServiceUploadResponse, FileType, UploadHeader};

/// The first bytes of a gzip stream.
const GZIP: [u8; 2] = [0x1f, 0x8b];

impl Copy<'_> {
    pub(super) async fn upload(&self, from: &Path, to: &Remote) -> Result<Copied, Failure> {
        let meta = tokio::fs::metadata(from).await.map_err(|error| unreadable(from, &error))?;
        let there = self.look(to).await?;
        let typed = from.as_os_str().as_bytes();
        if !meta.is_dir() {
            if typed.ends_with(b"/") || wants_contents(typed) {
                return Err(Failure::usage(format!("`{}` is a file, not a directory", from.display())));
            }
            return self.upload_file(from, &meta, file_target(to, there.as_ref(), typed)?).await;
        }
        let path = match there {
            Some(info) if info.r#type() == FileType::Directory && !wants_contents(typed) => {
                joined(&to.path, &local_name(from)?)
            }
            Some(info) if info.r#type() != FileType::Directory => {
                return Err(Failure::new(format!(
                    "cannot copy to `{}`: it exists and is not a directory, but `{}` is one",
                    to.shown(),
                    from.display()
                )));
            }
            _ => path_of(&to.path).to_vec(),
        };
        let sent =
            self.client.upload_directory(&to.session, from, &path, &self.options, &self.progress).await?;
        let mut copied = Copied::from(&sent.uploaded);
        copied.left_out =
            sent.packed.skipped.into_iter().map(|one| (one.path, one.reason.to_owned())).collect();
        copied.left_out_total = sent.packed.skipped_total;
        Ok(copied)
    }

    async fn upload_file(&self, from: &Path, meta: &Metadata, to: Remote) -> Result<Copied, Failure> {
        let mut file = tokio::fs::File::open(from).await.map_err(|error| unreadable(from, &error))?;
        if !meta.is_file() {
            // A pipe or device can be read only once, but the upload may have to be repeated.
            file = self.kept(&mut file).await?;
        }
        let mode = meta.permissions().mode() & 0o777;
        self.send(to, FileFormat::File, mode, file).await
    }

    pub(super) async fn upload_stream(&self, to: &Remote) -> Result<Copied, Failure> {
        let there = self.look(to).await?;
        let is_directory = there.is_some_and(|info| info.r#type() == FileType::Directory);
        let mut file = self.kept(&mut tokio::io::stdin()).await?;
        if !is_directory && !to.path.ends_with(b"/") {
            return self.send(to.clone(), FileFormat::File, 0, file).await;
        }
        let mut begin = [0; GZIP.len()];
        let gzip = file.read_exact(&mut begin).await.is_ok() && begin == GZIP;
        let format = if gzip { FileFormat::TarGzip } else { FileFormat::Tar };
        self.send(to.clone(), format, 0, file).await
    }

    async fn send(
        &self,
        to: Remote,
        format: FileFormat,
        mode: u32,
        mut file: tokio::fs::File,
    ) -> Result<Copied, Failure> {
        let header =
            UploadHeader { session_id: to.session, format: format.into(), mode, ..Default::default() }
                .with_path(path_of(&to.path).to_vec());
        let done = self.client.upload(header, &mut file, &self.progress).await?;
        Ok(Copied::from(&done))
    }

    /// Reads a whole stream into an unnamed temporary file.
    async fn kept<R>(&self, stream: &mut R) -> Result<tokio::fs::File, Failure>
    where
        R: AsyncRead + Unpin,
    {
        let failed =
            |error: io::Error| Failure::new(format!("cannot write the input to a temporary file: {error}"));
        let file = tempfile::tempfile_in(&self.options.scratch).map_err(failed)?;
        let mut file = tokio::fs::File::from_std(file);
        let copied = async {
            tokio::io::copy(&mut stream.take(self.options.limits.bytes), &mut file).await?;
            file.rewind().await
        };
        copied.await.map_err(failed)?;
        Ok(file)
    }
}

/// Returns the destination of a file.
fn file_target(to: &Remote, there: Option<&FileInfo>, typed: &[u8]) -> Result<Remote, Failure> {
    match there.map(FileInfo::r#type) {
        Some(FileType::Directory) => {
            let name = super::name_of(typed).unwrap_or(typed);
            Ok(Remote { session: to.session.clone(), path: joined(&to.path, name) })
        }
        None if to.path.ends_with(b"/") => Err(Failure::new(format!(
            "the directory `{}` does not exist; create it, or remove the trailing slash to create a file with this name",
            to.shown()
        ))),
        _ => Ok(to.clone()),
    }
}

/// Returns the name of a directory, also for `.` and `..`.
fn local_name(from: &Path) -> Result<Vec<u8>, Failure> {
    if let Some(name) = super::name_of(from.as_os_str().as_bytes()) {
        return Ok(name.to_vec());
    }
    let whole = from.canonicalize().map_err(|error| unreadable(from, &error))?;
    let name = whole.file_name().map(|name| name.as_bytes().to_vec());
    name.ok_or_else(|| Failure::usage("the root directory has no name; to copy its contents, use `/.`"))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(format!("the local path `{}` does not exist", path.display()))
        }
        _ => Failure::new(format!("cannot read `{}`: {error}", path.display())),
    }
}

impl From<&FileServiceUploadResponse> for Copied {
    fn from(done: &FileServiceUploadResponse) -> Self {
        Self {
            files: done.files,
            directories: done.directories,
            links: done.links,
            bytes: done.bytes,
            ..Self::default()
        }
    }
}
