//! Removes a tree that hostile commands have created, through directory handles: any names, modes, depth and number of
//! entries, with few descriptors.
//!
//! A nonempty directory below the first level is moved up to it, so paths never become deeper. Commands that can
//! change the tree must have ended. It must not follow a link, and must not cross a mount point.

use std::{
    ffi::{CStr, CString, OsStr},
    fs, io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, RenameFlags, ResolveFlags, chmod, fstat, openat,
        openat2, renameat_with, statat, unlinkat,
    },
    io::Errno,
};

use crate::table;

/// The number of passes over the root without progress after which the removal fails.
const IDLE_PASSES: usize = 8;
/// The number of attempts to open a name while the kernel reports that the tree changes.
const TRIES: usize = 100;

const HANDLE: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// One name, not a link, in the same mount.
const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

/// The error of a tree that was not removed completely.
#[derive(Debug, thiserror::Error)]
pub enum RemoveError {
    /// A file system is mounted at this path, the tree's root or below it. No file beyond it was changed. The tree is
    /// unchanged, unless the mount appeared during the removal.
    #[error("`{}` is a mount point; unmount it, then remove the directory", .0.display())]
    Mounted(PathBuf),
    /// A step failed.
    #[error("`{}` cannot be removed: {source}", path.display())]
    Step {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl From<RemoveError> for io::Error {
    fn from(error: RemoveError) -> Self {
        let kind = match &error {
            RemoveError::Mounted(_) => io::ErrorKind::ResourceBusy,
            RemoveError::Step { source, .. } => source.kind(),
        };
        Self::new(kind, error)
    }
}

/// Removes `path` and everything below it. A path that does not exist is not an error. A link, at `path` or in the
/// tree, is removed and not followed. The parent of the path may be reached through links and mounts; the tree must
/// contain no mounts. Needs `/proc`. Blocks.
///
/// # Errors
///
/// [`RemoveError::Mounted`] if a file system is mounted at `path` or below it; otherwise [`RemoveError::Step`].
pub fn remove_tree(path: impl AsRef<Path>) -> Result<(), RemoveError> {
    let path = path.as_ref();
    let step = |source: io::Error| step(path.to_owned(), source);
    let Some(name) = path.file_name() else {
        return Err(step(io::Error::new(io::ErrorKind::InvalidInput, "it has no name of its own")));
    };
    let name = CString::new(name.as_bytes()).map_err(|error| step(error.into()))?;
    let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    let parent = match openat(CWD, above, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(step(errno.into())),
    };
    let root = match open_directory(parent.as_fd(), &name) {
        Ok(root) => root,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return unlink(parent.as_fd(), &name),
        Err(errno) => return Err(failed(parent.as_fd(), &name, errno)),
    };
    let mounts = shown(root.as_fd()).and_then(|path| table::mounts_below(&path)).map_err(step)?;
    match mounts.into_iter().next() {
        Some(mount) => Err(RemoveError::Mounted(mount)),
        None => remove_all(parent.as_fd(), &name, root),
    }
}

fn remove_all(parent: BorrowedFd<'_>, name: &CStr, root: OwnedFd) -> Result<(), RemoveError> {
    let mut tree = Tree { root, moved: 0 };
    let mut idle = 0;
    loop {
        let removed = tree.pass()?;
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(errno) => return Err(failed(parent, name, errno)),
        }
        idle = if removed { 0 } else { idle + 1 };
        if idle > IDLE_PASSES {
            return Err(failed(parent, name, Errno::NOTEMPTY));
        }
    }
}

struct Tree {
    root: OwnedFd,
    moved: u64,
}

impl Tree {
    /// Deletes the current entries of the root. Entries that are moved up meanwhile may remain. Returns true if it
    /// deleted anything.
    fn pass(&mut self) -> Result<bool, RemoveError> {
        let mut removed = false;
        for entry in list(self.root.as_fd())? {
            let entry = entry.map_err(|errno| failed(self.root.as_fd(), c".", errno))?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            if !is_directory(self.root.as_fd(), &entry)? {
                unlink(self.root.as_fd(), name)?;
                removed = true;
                continue;
            }
            match open_directory(self.root.as_fd(), name) {
                Ok(directory) => self.clear(&directory)?,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(failed(self.root.as_fd(), name, errno)),
            }
            match unlinkat(&self.root, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => removed = true,
                // The listing missed an entry; another pass finds it.
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(errno) => return Err(failed(self.root.as_fd(), name, errno)),
            }
        }
        Ok(removed)
    }

    /// Deletes the entries of a directory of the first level, or moves them up.
    fn clear(&mut self, directory: &OwnedFd) -> Result<(), RemoveError> {
        for entry in list(directory.as_fd())? {
            let entry = entry.map_err(|errno| failed(directory.as_fd(), c".", errno))?;
            let name = entry.file_name();
            if is_dots(name) {
                continue;
            }
            if !is_directory(directory.as_fd(), &entry)? {
                unlink(directory.as_fd(), name)?;
            } else if unlinkat(directory, name, AtFlags::REMOVEDIR).is_err() {
                self.move_up(directory.as_fd(), name)?;
            }
        }
        Ok(())
    }

    fn move_up(&mut self, directory: BorrowedFd<'_>, name: &CStr) -> Result<(), RemoveError> {
        // A directory without write permission cannot be moved.
        match handle(directory, name) {
            Ok(_) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(failed(directory, name, errno)),
        }
        loop {
            self.moved += 1;
            let target = format!("moved-{}", self.moved);
            return match renameat_with(directory, name, &self.root, &target, RenameFlags::NOREPLACE) {
                Ok(()) | Err(Errno::NOENT) => Ok(()),
                Err(Errno::EXIST) => continue,
                // The cause is a project quota. A mount was excluded just before.
                Err(Errno::XDEV) => Err(step(path(directory, name), Errno::XDEV)),
                Err(errno) => Err(failed(directory, name, errno)),
            };
        }
    }
}

fn list(directory: BorrowedFd<'_>) -> Result<Dir, RemoveError> {
    Dir::read_from(directory).map_err(|errno| failed(directory, c".", errno))
}

fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

fn is_directory(parent: BorrowedFd<'_>, entry: &DirEntry) -> Result<bool, RemoveError> {
    let name = entry.file_name();
    let kind = match entry.file_type() {
        FileType::Unknown => match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => FileType::from_raw_mode(stat.st_mode),
            Err(errno) => return Err(failed(parent, name, errno)),
        },
        known => known,
    };
    Ok(kind == FileType::Directory)
}

fn unlink(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), RemoveError> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed(parent, name, errno)),
    }
}

/// Opens a directory for reading and changes, regardless of its mode.
fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    resolve(handle(parent, name)?.as_fd(), c".", LIST)
}

/// Returns a handle of a directory in the same mount, and grants its owner all permissions.
fn handle(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let handle = resolve(parent, name, HANDLE)?;
    if !Mode::from_raw_mode(fstat(&handle)?.st_mode).contains(Mode::RWXU) {
        // The handle's entry in /proc refers to the opened directory, even if the name now refers to another one.
        chmod(own_entry(handle.as_fd()), Mode::RWXU)?;
    }
    Ok(handle)
}

fn resolve(parent: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    for _ in 0..TRIES {
        match openat2(parent, name, flags, Mode::empty(), RESOLVE) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

fn own_entry(handle: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", handle.as_raw_fd())
}

/// Returns the path of a handle as in the mount table.
fn shown(handle: BorrowedFd<'_>) -> io::Result<PathBuf> {
    fs::read_link(own_entry(handle))
}

fn path(parent: BorrowedFd<'_>, name: &CStr) -> PathBuf {
    shown(parent).unwrap_or_default().join(OsStr::from_bytes(name.to_bytes()))
}

/// Converts an error. The kernel returns `EXDEV` for a directory that is a mount point, and `EBUSY` for a file.
fn failed(parent: BorrowedFd<'_>, name: &CStr, errno: Errno) -> RemoveError {
    let path = path(parent, name);
    match errno {
        Errno::XDEV | Errno::BUSY => RemoveError::Mounted(path),
        other => step(path, other),
    }
}

fn step(path: PathBuf, error: impl Into<io::Error>) -> RemoveError {
    RemoveError::Step { path, source: error.into() }
}

#[cfg(test)]
mod tests;
