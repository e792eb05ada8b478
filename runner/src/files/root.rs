//! Access to a session's workspace, HOME or `/tmp` on the host. The kernel resolves each path beneath the root that
//! it names. An opened file is checked again, because it can change at any moment. A root is open only while its
//! thread has no more rights to files than the session's user.

use std::{
    fs::File,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use airlock_domain::{ExchangeFailed, FileInfo, FileType};
use airlock_sandbox::{DiskBackend, SessionDirectory};
use rustix::{
    fs::{
        AtFlags, CWD, FileType as RawType, Mode, OFlags, ResolveFlags, Stat, StatVfs, fstat, fstatvfs,
        openat, openat2, readlinkat, statat,
    },
    io::Errno,
    path::Arg,
};

use super::{
    baseline::modified_micros,
    failure::{internal, of_path},
    fsuid,
    paths::Inside,
};
use crate::session::OpenSession;

/// The number of attempts for a resolution that a rename disturbs.
const TRIES: usize = 64;
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const CONTENT: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// One of a session's directories, open. It accepts paths in that directory only.
#[derive(Debug)]
pub(super) struct Root {
    handle: OwnedFd,
    held: bool,
}

impl Root {
    /// Opens the directory with the runner's rights, and calls `work` with the rights of the session's user. Blocks
    /// until `work` is done.
    ///
    /// # Errors
    /// If the directory does not exist, or if `work` fails.
    pub(super) fn enter<T>(
        session: &OpenSession,
        directory: SessionDirectory,
        work: impl FnOnce(&Self) -> Result<T, ExchangeFailed>,
    ) -> Result<T, ExchangeFailed> {
        let handle =
            openat(CWD, session.directories().of(directory), DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
        let handle = handle.map_err(|errno| internal("open a session's directory", &errno))?;
        let root = Self { handle, held: session.disk().backend() != DiskBackend::Watch };
        let done = fsuid::as_session(session.owner(), || work(&root));
        done.unwrap_or_else(|error| Err(internal("work with the permissions of a session's user", &error)))
    }

    /// Reports whether the kernel enforces the session's disk limits for this directory.
    pub(super) fn has_its_own_disk(&self) -> bool {
        self.held
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Opens a directory, through links that stay beneath the root.
    pub(super) fn directory(&self, path: &Inside) -> Result<OwnedFd, Errno> {
        self.resolve(path, DIRECTORY)
    }

    /// Opens a file or a directory, through links that stay beneath the root, with its attributes. Only regular files
    /// and directories are readable through the handle.
    pub(super) fn content(&self, path: &Inside) -> Result<(OwnedFd, Stat), Errno> {
        let seen = self.resolve(path, OFlags::PATH | OFlags::CLOEXEC)?;
        let stat = fstat(&seen)?;
        match file_type(&stat) {
            // Reopen through the handle, not by name, so that it is the file that was checked.
            FileType::Regular | FileType::Directory => {
                let same =
                    openat(CWD, format!("/proc/self/fd/{}", seen.as_raw_fd()), CONTENT, Mode::empty())?;
                Ok((same, stat))
            }
            FileType::Symlink | FileType::Other => Ok((seen, stat)),
        }
    }

    fn resolve(&self, path: &Inside, flags: OFlags) -> Result<OwnedFd, Errno> {
        let name = if path.is_root() { &b"."[..] } else { path.relative() };
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..TRIES {
            match openat2(&self.handle, name, flags, Mode::empty(), how) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Returns the information about a file. A link as the last component is not followed.
    pub(super) fn look(&self, path: &Inside) -> Result<FileInfo, ExchangeFailed> {
        let failed = |errno| of_path(&path.absolute(), errno);
        let Some((directory, name)) = path.split() else {
            let stat = fstat(&self.handle).map_err(failed)?;
            return Ok(info(path.absolute(), &stat, Vec::new()));
        };
        let directory = self.directory(&directory).map_err(failed)?;
        let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let target = link_target(directory.as_fd(), name, &stat);
        Ok(info(path.absolute(), &stat, target))
    }

    /// Returns the current path of an open directory below the root. `None` if it is no longer there.
    pub(super) fn current_path(&self, directory: BorrowedFd<'_>) -> Option<Vec<u8>> {
        let of = |fd: BorrowedFd<'_>| {
            let name = format!("/proc/self/fd/{}", fd.as_raw_fd());
            std::fs::read_link(name).ok()
        };
        let (root, directory) = (of(self.handle.as_fd())?, of(directory)?);
        let below = directory.strip_prefix(&root).ok()?;
        Some(below.as_os_str().as_bytes().to_vec())
    }

    /// Returns the statistics of its file system.
    pub(super) fn disk(&self) -> Result<StatVfs, Errno> {
        fstatvfs(&self.handle)
    }
}

/// Opens a regular file in an open directory. `None` if it has another type by now. Never waits for a pipe.
pub(super) fn open_regular(directory: BorrowedFd<'_>, name: impl Arg) -> Result<Option<(File, Stat)>, Errno> {
    let file = match openat(directory, name, CONTENT | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let stat = fstat(&file)?;
    let regular = RawType::from_raw_mode(stat.st_mode) == RawType::RegularFile;
    Ok(regular.then(|| (File::from(file), stat)))
}

/// Opens a directory in an open directory. `None` if it has another type by now.
pub(super) fn open_directory(directory: BorrowedFd<'_>, name: impl Arg) -> Result<Option<OwnedFd>, Errno> {
    match openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the target of a link. Empty if the file is not a link.
pub(super) fn link_target(directory: BorrowedFd<'_>, name: impl Arg, stat: &Stat) -> Vec<u8> {
    if RawType::from_raw_mode(stat.st_mode) != RawType::Symlink {
        return Vec::new();
    }
    readlinkat(directory, name, Vec::new()).map(std::ffi::CString::into_bytes).unwrap_or_default()
}

/// Builds the reported information about a file.
pub(super) fn info(path: Vec<u8>, stat: &Stat, link_target: Vec<u8>) -> FileInfo {
    let file_type = file_type(stat);
    let size = if file_type == FileType::Regular { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
    FileInfo {
        path,
        file_type,
        size,
        mode: stat.st_mode & 0o7777,
        modified_micros: modified_micros(stat),
        link_target,
    }
}

pub(super) fn file_type(stat: &Stat) -> FileType {
    match RawType::from_raw_mode(stat.st_mode) {
        RawType::RegularFile => FileType::Regular,
        RawType::Directory => FileType::Directory,
        RawType::Symlink => FileType::Symlink,
        _ => FileType::Other,
    }
}
