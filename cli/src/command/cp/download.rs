//! Copies from a session. Names from the server never decide where a file is written.

use std::{
    ffi::OsStr,
    io::IsTerminal as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    super::{Failure, place::Remote},
    Copied, Copy, name_of, path_of, wants_contents,
};
use crate::render::escape;
use airlock_client::v1::{DownloadDone, FileFormat, FileInfo, FileServiceDownloadRequest, FileType};

/// The name of the workspace itself.
const ROOT: &[u8] = b"workspace";

impl Copy<'_> {
    pub(super) async fn download(&self, from: &Remote, to: &Path) -> Result<Copied, Failure> {
        let info = self.source(from).await?;
        let is_here = tokio::fs::metadata(to).await.ok();
        let slash = to.as_os_str().as_bytes().ends_with(b"/");
        let name = OsStr::from_bytes(name_of(&from.path).unwrap_or(ROOT));
        let directory_here = is_here.as_ref().is_some_and(std::fs::Metadata::is_dir);
        let path = path_of(&from.path);
        if info.r#type() == FileType::Directory {
            if is_here.is_some() && !directory_here {
                return Err(Failure::new(format!(
                    "cannot copy to `{}`: it exists and is not a directory, but `{}` is one",
                    to.display(),
                    from.shown()
                )));
            }
            let into =
                if directory_here && !wants_contents(&from.path) { to.join(name) } else { to.to_owned() };
            parent_is_there(&into)?;
            let (options, progress) = (&self.options, &self.progress);
            let came = self.client.download_directory(&from.session, path, &into, options, progress).await?;
            return Ok(Copied::from(&came.done).with_bytes(came.counts.bytes));
        }
        if wants_contents(&from.path) || from.path.ends_with(b"/") {
            return Err(Failure::usage(format!("`{}` is a file, not a directory", from.shown())));
        }
        let to = match (directory_here, slash) {
            (true, _) => to.join(name),
            (false, true) => {
                return Err(Failure::new(format!(
                    "the local directory `{}` does not exist; create it, or remove the trailing slash to create a file with this name",
                    to.display()
                )));
            }
            (false, false) => to.to_owned(),
        };
        parent_is_there(&to)?;
        let done = self.client.download_file(&from.session, path, &to, &self.progress).await?;
        Ok(Copied::from(&done).with_bytes(done.size))
    }

    pub(super) async fn download_stream(&self, from: &Remote) -> Result<Copied, Failure> {
        let directory = self.source(from).await?.r#type() == FileType::Directory;
        if directory && std::io::stdout().is_terminal() {
            return Err(Failure::usage(
                "cannot write a tar archive to a terminal; redirect standard output to a file or a pipe",
            ));
        }
        let format = if directory { FileFormat::Tar } else { FileFormat::File };
        let request = FileServiceDownloadRequest {
            session_id: from.session.clone(),
            format: format.into(),
            exclude: if directory { self.options.exclude.clone() } else { Vec::new() },
            ..Default::default()
        }
        .with_path(path_of(&from.path).to_vec());
        let mut download = self.client.download(request, self.options.limits.bytes);
        let mut stdout = tokio::io::stdout();
        while let Some(data) = download.next().await? {
            super::super::output::write(&mut stdout, &data).await?;
        }
        let done = download.done();
        Ok(Copied::from(&done).with_bytes(done.size))
    }

    /// Returns information about the source.
    async fn source(&self, from: &Remote) -> Result<FileInfo, Failure> {
        let info = self.look(from).await?;
        let info = info.ok_or_else(|| Failure::new(format!("`{}` does not exist", from.shown())))?;
        match info.r#type() {
            FileType::Directory | FileType::Regular => Ok(info),
            FileType::Symlink => Err(Failure::new(format!(
                "`{}` is a symbolic link to `{}`; copy its target, or the directory that contains it",
                from.shown(),
                escape::line(info.link_target())
            ))),
            FileType::Other | FileType::Unspecified => {
                Err(Failure::new(format!("`{}` is neither a file nor a directory", from.shown())))
            }
        }
    }
}

fn parent_is_there(path: &Path) -> Result<(), Failure> {
    let parent = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    if parent.as_os_str().is_empty() || parent.is_dir() {
        return Ok(());
    }
    Err(Failure::new(format!("the local directory `{}` does not exist; create it first", parent.display())))
}

impl From<&DownloadDone> for Copied {
    fn from(done: &DownloadDone) -> Self {
        Self {
            files: done.files,
            directories: done.directories,
            links: done.links,
            bytes: 0,
            left_out: done.skipped.iter().map(|one| (one.path().to_vec(), one.reason.clone())).collect(),
            left_out_total: done.skipped_total,
        }
    }
}

impl Copied {
    fn with_bytes(self, bytes: u64) -> Self {
        Self { bytes, ..self }
    }
}
