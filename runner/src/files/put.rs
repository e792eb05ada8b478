//! Puts an upload into a session. Everything is checked before, and the created files are recorded.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::FileExt},
    },
    path::Path,
};

use airlock_archive::{
    Cancel, Counts, Format, Limits, TEMPORARY_PREFIX, Unpack, check, conflicts, unpack, write_file,
};
use airlock_domain::{ExchangeFailed, FileFilter, FileFormat, FileType, UploadOrder, Uploaded};
use airlock_sandbox::SessionDirectory;
use cap_std::fs::Dir;
use rustix::{
    fs::{AtFlags, Mode, mkdirat, statat, unlinkat},
    io::Errno,
};
use sha2::{Digest, Sha256};

use super::{
    failure::{
        changed_meanwhile, internal, invalid, is_a_directory, not_a_directory, of_archive, of_own_io,
        of_path, session_full, unavailable,
    },
    fsuid,
    paths::Inside,
    quarantine::GuardedUpload,
    record::UploadRecorder,
    root::{Root, file_type, open_directory},
    select::Selection,
    transfers::{Transfer, open_reader},
    walk::{Route, Walk},
    work::Shared,
};
use crate::session::OpenSession;

const BUFFER: usize = 128 << 10;
const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;
const IS_DIRECTORY: &str = "upload to a path inside it, or send a tar archive";
const NO_DIRECTORY: &str = "an archive needs a directory: remove the existing file, or choose another path";

/// The destination of an upload.
#[derive(Debug)]
pub(super) struct Target {
    path: Inside,
    format: FileFormat,
}

impl Target {
    /// Parses the destination.
    ///
    /// # Errors
    /// If the order is invalid, independent of the session.
    pub(super) fn of(order: &UploadOrder) -> Result<Self, ExchangeFailed> {
        let path = Inside::parse(&order.path)?;
        if order.format == FileFormat::File && path.is_root() {
            return Err(is_a_directory(&path.absolute(), IS_DIRECTORY));
        }
        if order.mode & !0o777 != 0 {
            let message = format!(
                "mode {:o} has more than permission bits; use a mode such as 0644 or 0755",
                order.mode
            );
            return Err(invalid("MODE_INVALID", message));
        }
        Ok(Self { path, format: order.format })
    }

    /// Checks whether an existing file prevents the upload, before the client sends its bytes. Blocks briefly.
    ///
    /// # Errors
    /// If an existing file prevents it.
    pub(super) fn look(&self, session: &OpenSession) -> Result<(), ExchangeFailed> {
        Root::enter(session, self.path.root(), |root| {
            let found = match self.format {
                FileFormat::File => self.directory_in_place(root),
                FileFormat::Tar | FileFormat::TarGzip => self.no_directory_in_place(root),
            };
            found.map_or(Ok(()), Err)
        })
    }

    fn directory_in_place(&self, root: &Root) -> Option<ExchangeFailed> {
        let info = root.look(&self.path).ok()?;
        (info.file_type == FileType::Directory).then(|| is_a_directory(&info.path, IS_DIRECTORY))
    }

    fn no_directory_in_place(&self, root: &Root) -> Option<ExchangeFailed> {
        match root.directory(&self.path) {
            Err(Errno::NOTDIR) => Some(not_a_directory(&self.path.absolute(), NO_DIRECTORY)),
            Err(errno @ (Errno::LOOP | Errno::XDEV)) => Some(of_path(&self.path.absolute(), errno)),
            _ => None,
        }
    }
}

/// Removes the temporary files that a dying process left during an upload into this directory. No command may run in
/// the session. Blocks while it scans the directory.
pub(super) fn sweep(session: &OpenSession, directory: SessionDirectory) {
    let removed = Root::enter(session, directory, |root| {
        let (at, cancel) = (Inside::parse(directory.inside().as_bytes())?, Cancel::new());
        let include = vec![format!("**/{TEMPORARY_PREFIX}*")];
        let selection = Selection::new(&FileFilter { include, ..FileFilter::default() })?;
        let root = root.directory(&at).map_err(|errno| of_path(&at.absolute(), errno))?;
        let route = Route { at: &at, recursive: true, after: b"", selection: &selection, skip_closed: true };
        let mut walk = Walk::new(root, route, &cancel)?;
        let mut removed = 0;
        while let Some(seen) = walk.next()? {
            if selection.wants(&seen.path, file_type(&seen.stat))
                && let Some(directory) = walk.directory()
                && unlinkat(directory, seen.name(), AtFlags::empty()).is_ok()
            {
                removed += 1;
            }
        }
        Ok(removed)
    });
    match removed {
        Ok(0) => {}
        Ok(removed) => {
            tracing::info!(session = %session.id, removed, "removed the partial files of an upload");
        }
        Err(error) => {
            tracing::warn!(session = %session.id, reason = error.reason, "cannot search a session's \
                                                                          directory for partial uploads");
        }
    }
}

/// Checks the upload and then puts it into the session. Blocks until done.
pub(super) fn put(
    shared: &Shared,
    session: &OpenSession,
    transfer: &Transfer,
    order: &UploadOrder,
    cancel: &Cancel,
) -> Result<Uploaded, ExchangeFailed> {
    let target = Target::of(order)?;
    let bytes = open_reader(transfer)?;
    let received = transfer.progress.borrow().staged;
    if let Some(expected) = order.sha256
        && sha256(&bytes, cancel)? != expected
    {
        let message = "the received bytes do not match the announced SHA-256; send them again".to_owned();
        return Err(invalid("SHA256_MISMATCH", message));
    }
    let own = |error| of_own_io("record an upload", &error);
    let is_compared = target.path.root() == SessionDirectory::Workspace;
    let recorder = is_compared.then(|| session.baseline().recorder(shared.baseline));
    let recorder = recorder.transpose().map_err(own)?;
    let upload = GuardedUpload::begin(session, &target.path)?;
    let mut keeper = UploadRecorder::new(recorder, upload.watches.clone());
    let put = Root::enter(session, target.path.root(), |root| {
        let job = Job { shared, root, target: &target, cancel };
        match order.format {
            FileFormat::File => job.file(&bytes, received, order.mode, &mut keeper),
            FileFormat::Tar => job.archive(&bytes, Format::Tar, &mut keeper),
            FileFormat::TarGzip => job.archive(&bytes, Format::TarGzip, &mut keeper),
        }
    });
    let watched = upload.end(&keeper.watched());
    // Also record the files that were created before an error, because this upload created them.
    let recorded = keeper
        .finish()
        .and_then(|recorder| recorder.map_or(Ok(()), |recorder| session.baseline().add(recorder)));
    let Counts { files, directories, links, bytes } = put?;
    recorded.map_err(own)?;
    watched?;
    Ok(Uploaded { received, files, directories, links, bytes })
}

fn sha256(bytes: &File, cancel: &Cancel) -> Result<[u8; 32], ExchangeFailed> {
    let mut hash = Sha256::new();
    let mut from = FromStart { file: bytes, at: 0 };
    let mut buffer = vec![0; BUFFER];
    loop {
        if cancel.is_cancelled() {
            return Err(unavailable(
                "CANCELLED",
                "the upload was interrupted before its file was in place; continue it",
            ));
        }
        match from.read(&mut buffer).map_err(|error| of_own_io("read a transfer", &error))? {
            0 => break,
            got => hash.update(buffer.get(..got).unwrap_or_default()),
        }
    }
    Ok(hash.finalize().into())
}

/// Reads a file from its start, independent of other readers of the handle.
struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(buffer, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

/// A reader that stops when the session's file system is nearly full.
struct WhileRoom<'a, R> {
    inner: R,
    job: &'a Job<'a>,
    stopped: Option<ExchangeFailed>,
}

impl<R: Read> Read for WhileRoom<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Err(failed) = self.job.check_free_space(0) {
            self.stopped = Some(failed);
            return Err(io::Error::other("no room"));
        }
        self.inner.read(buffer)
    }
}

struct Job<'a> {
    shared: &'a Shared,
    root: &'a Root,
    target: &'a Target,
    cancel: &'a Cancel,
}

impl Job<'_> {
    fn check_free_space(&self, more: u64) -> Result<(), ExchangeFailed> {
        let transfers = &self.shared.transfers;
        if !self.root.has_its_own_disk() {
            return transfers.check_free_space(self.root.disk(), more, "workspaces");
        }
        let own = self.root.disk().map_err(|errno| internal("inspect a file system", &errno))?;
        if own.f_bavail.saturating_mul(own.f_frsize) < more {
            return Err(session_full());
        }
        // The reserve applies to the disk of the runner's state.
        let below = fsuid::as_runner(|| transfers.disk());
        let below = below.map_err(|error| internal("inspect a file system", &error))?;
        transfers.check_free_space(below, more, "workspaces")
    }

    fn file(
        &self,
        bytes: &File,
        size: u64,
        mode: u32,
        keeper: &mut UploadRecorder,
    ) -> Result<Counts, ExchangeFailed> {
        let at = self.target.path.absolute();
        let Some((directory, name)) = self.target.path.split() else {
            return Err(is_a_directory(&at, IS_DIRECTORY));
        };
        self.check_free_space(size)?;
        let directory = self.make_directory(&directory, keeper)?;
        if let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
            && file_type(&stat) == FileType::Directory
        {
            return Err(is_a_directory(&at, IS_DIRECTORY));
        }
        let below = self.root.current_path(directory.as_fd());
        let directory = Dir::from_std_file(File::from(directory));
        let mode = if mode == 0 { FILE_MODE } else { mode };
        let mut content = WhileRoom { inner: FromStart { file: bytes, at: 0 }, job: self, stopped: None };
        let path = Path::new(OsStr::from_bytes(name));
        let put = write_file(&directory, path, &mut content, mode, self.cancel);
        let (size, sha256) = put.map_err(|error| of_archive(&error, content.stopped.take()))?;
        if let Some(below) = below {
            keeper.file(directory.as_fd(), &below, name, size, mode, Some(sha256));
        }
        Ok(Counts { files: 1, directories: 0, links: 0, bytes: size })
    }

    fn archive(
        &self,
        bytes: &File,
        format: Format,
        keeper: &mut UploadRecorder,
    ) -> Result<Counts, ExchangeFailed> {
        let config = &self.shared.transfers.config;
        let limits = Limits { entries: config.entries, bytes: config.unpacked_bytes, ..Limits::PATHS };
        let from = || FromStart { file: bytes, at: 0 };
        let counts = match self.root.directory(&self.target.path) {
            Ok(directory) => {
                let directory = Dir::from_std_file(File::from(directory));
                conflicts(from(), format, &directory, &limits, self.cancel)
            }
            // The directory does not exist yet. If it cannot be created, its creation reports the error.
            Err(_) => check(from(), format, &limits, self.cancel),
        };
        self.check_free_space(counts.map_err(|error| of_archive(&error, None))?.bytes)?;
        let directory = self.make_directory(&self.target.path, keeper)?;
        let below = self.root.current_path(directory.as_fd());
        let directory = Dir::from_std_file(File::from(directory));
        let options = Unpack { limits: &limits, umask: 0, cancel: self.cancel };
        let mut archive = WhileRoom { inner: from(), job: self, stopped: None };
        let unpacked = unpack(&mut archive, format, &directory, &options, |entry| {
            if let Some(below) = &below {
                keeper.entry(directory.as_fd(), below, entry);
            }
        });
        unpacked.map_err(|error| of_archive(&error, archive.stopped.take()))
    }

    /// Opens a directory of the session. Creates it and its parents if necessary.
    fn make_directory(&self, path: &Inside, keeper: &mut UploadRecorder) -> Result<OwnedFd, ExchangeFailed> {
        let failed = |errno| match errno {
            Errno::NOTDIR => not_a_directory(&path.absolute(), NO_DIRECTORY),
            errno => of_path(&path.absolute(), errno),
        };
        let mut missing = Vec::new();
        let mut at = path.clone();
        let mut directory = loop {
            match self.root.directory(&at) {
                Err(Errno::NOENT) => {}
                other => break other.map_err(failed)?,
            }
            let Some((above, name)) = at.split() else { return Err(failed(Errno::NOENT)) };
            missing.push(name.to_vec());
            at = above;
        };
        for name in missing.into_iter().rev() {
            let made = match mkdirat(&directory, &*name, Mode::from_raw_mode(DIRECTORY_MODE)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(failed(errno)),
            };
            let Some(below) = open_directory(directory.as_fd(), &*name).map_err(failed)? else {
                return Err(changed_meanwhile(&path.absolute()));
            };
            if made {
                // A command may have replaced it, but it is a directory of this session in any case.
                let _ = rustix::fs::fchmod(&below, Mode::from_raw_mode(DIRECTORY_MODE));
                if let Some(at) = self.root.current_path(below.as_fd()) {
                    keeper.directory(below.as_fd(), at);
                }
            }
            directory = below;
        }
        Ok(directory)
    }
}
