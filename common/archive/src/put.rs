//! Creates files, directories and links in a directory that a hostile program may be changing at the same
//! time. It must not pass the kernel a path of more than one component, nor follow a link. Each directory
//! of a path is opened by its name in its parent, and changes apply to the opened object.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use cap_std::fs::Dir;
use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, Timespec, Timestamps},
    io::Errno,
};
use sha2::{Digest, Sha256};

use crate::{
    ArchiveError, BLOCK_BYTES, Cancel, Cause, Limits, Obstacle, Rule,
    error::shown,
    names::{self, Name},
};

/// The prefix of temporary files' names. They are removed when a call returns. If the process dies, they
/// remain and can be removed when no call is active.
pub const TEMPORARY_PREFIX: &str = ".airlock-put-";
/// The mode of directories that are only part of a path.
pub(crate) const DIRECTORY_MODE: u32 = 0o755;
/// The number of names that are tried for a temporary file.
const NAMES_TRIED: usize = 16;

/// The size and the SHA-256 of a file's content.
pub(crate) type Written = (u64, [u8; 32]);

/// Writes one file. The rules for paths in archives apply; missing directories are created (0755). The
/// content is written to a temporary file in the same directory, which is then renamed. An existing file
/// or link is replaced atomically; a directory is an error. Returns the size and the SHA-256 of the
/// content.
///
/// # Errors
/// [`Cause::Refused`] for its path or mode, [`Cause::InTheWay`], [`Cause::Directory`], [`Cause::Read`],
/// [`Cause::Cancelled`]. No temporary file remains.
pub fn write_file(
    into: &Dir,
    path: &Path,
    mut content: impl Read,
    mode: u32,
    cancel: &Cancel,
) -> Result<(u64, [u8; 32]), ArchiveError> {
    let written = path.as_os_str().as_bytes();
    let refused = |rule| Cause::Refused { number: 1, entry: shown(written), rule };
    let path = match names::name(written, &Limits::PATHS).map_err(refused)? {
        Name::Below { path, slash: false } => path,
        Name::Below { .. } | Name::Root => return Err(refused(Rule::NotNormalName).into()),
    };
    if mode & 0o6000 != 0 {
        return Err(refused(Rule::SetId).into());
    }
    let mut target = Target::new(into.as_fd(), 0);
    let mut read = |buffer: &mut [u8]| {
        cancel.look()?;
        loop {
            match content.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => cancel.look()?,
                read => return read.map_err(|source| Cause::Read { source }.into()),
            }
        }
    };
    let content = Content { read: &mut read, buffer: &mut vec![0; BLOCK_BYTES] };
    target.file(path, mode & 0o777, None, content, &mut |_| {})
}

/// The source of a file's content.
pub(crate) struct Content<'a> {
    /// Fills a part of the buffer and returns its length; 0 at the end.
    pub(crate) read: &'a mut dyn FnMut(&mut [u8]) -> Result<usize, ArchiveError>,
    /// The buffer; not empty.
    pub(crate) buffer: &'a mut [u8],
}
/// A callback that receives the path of each directory that was created only because it is part of a path.
pub(crate) type OnDirectory<'a> = &'a mut dyn FnMut(&[u8]);

/// The directory in which entries are created.
pub(crate) struct Target<'a> {
    root: BorrowedFd<'a>,
    /// Permission bits that are removed from all entries.
    umask: u32,
    /// The directory that was used last, so that it is not reopened for each of its files.
    last: Option<(Vec<u8>, OwnedFd)>,
    /// The modes and times that directories get at the end.
    directories: BTreeMap<Vec<u8>, (u32, u64)>,
}

impl<'a> Target<'a> {
    pub(crate) fn new(root: BorrowedFd<'a>, umask: u32) -> Self {
        Self { root, umask, last: None, directories: BTreeMap::new() }
    }

    /// Writes a file completely or not at all.
    pub(crate) fn file(
        &mut self,
        path: &[u8],
        mode: u32,
        modified: Option<u64>,
        content: Content<'_>,
        on_directory: OnDirectory<'_>,
    ) -> Result<Written, ArchiveError> {
        let mode = mode & !self.umask;
        let (directory, name) = self.parent(path, on_directory)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (temporary, file) =
            Temporary::new(directory, |name| fs::openat(directory, name, flags, Mode::from_raw_mode(0o600)))
                .map_err(at("write", path))?;
        let written = copy(&file, path, content)?;
        fs::fchmod(&file, Mode::from_raw_mode(mode)).map_err(at("set the mode of", path))?;
        if let Some(modified) = modified {
            fs::futimens(&file, &times(modified)).map_err(at("set the time of", path))?;
        }
        temporary.rename(name, path)?;
        Ok(written)
    }

    /// Creates a directory, or keeps the existing one. [`Target::finish`] sets its mode and time.
    pub(crate) fn directory(
        &mut self,
        path: &[u8],
        mode: u32,
        modified: u64,
        on_directory: OnDirectory<'_>,
    ) -> Result<(), ArchiveError> {
        let (parent, name) = self.parent(path, on_directory)?;
        let (directory, made) = open_or_make(parent, name, path)?;
        if !made {
            // An existing directory may lack the permissions that are needed to fill it.
            let now = fs::fstat(&directory).map_err(at("inspect", path))?.st_mode;
            let now = Mode::from_raw_mode(now);
            if !now.contains(Mode::RWXU) {
                fs::fchmod(&directory, now | Mode::RWXU).map_err(at("set the mode of", path))?;
            }
        }
        self.directories.insert(path.to_vec(), (mode & !self.umask, modified));
        Ok(())
    }

    /// Creates a symbolic link.
    pub(crate) fn symlink(
        &mut self,
        path: &[u8],
        target: &[u8],
        on_directory: OnDirectory<'_>,
    ) -> Result<(), ArchiveError> {
        let (directory, name) = self.parent(path, on_directory)?;
        let (temporary, ()) = Temporary::new(directory, |name| fs::symlinkat(target, directory, name))
            .map_err(at("create the link", path))?;
        temporary.rename(name, path)
    }

    /// Creates a hard link to a file that was created before. Mode and owner are not set: if another file
    /// has replaced the target, it is not changed.
    pub(crate) fn hard_link(
        &mut self,
        path: &[u8],
        target: &[u8],
        on_directory: OnDirectory<'_>,
    ) -> Result<(), ArchiveError> {
        let (target_directory, target_name) = names::split(target);
        let target_directory = self.open(target_directory)?;
        let (directory, name) = self.parent(path, on_directory)?;
        let from = target_directory.as_fd();
        let (temporary, ()) = Temporary::new(directory, |name| {
            fs::linkat(from, target_name, directory, name, AtFlags::empty())
        })
        .map_err(at("create the link", path))?;
        let now = fs::statat(directory, &temporary.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(at("create the link", path))?;
        if FileType::from_raw_mode(now.st_mode) != FileType::RegularFile {
            return Err(ArchiveError::in_the_way(target, Obstacle::Changed));
        }
        temporary.rename(name, path)
    }

    /// Sets the modes and times of the directories, the deepest first, and returns the first error. A
    /// directory that no longer exists is skipped.
    pub(crate) fn finish(&mut self) -> Result<(), ArchiveError> {
        self.last = None;
        let mut result = Ok(());
        while let Some((path, (mode, modified))) = self.directories.pop_last() {
            let done = self.finish_directory(&path, mode, modified);
            result = result.and(done);
        }
        result
    }

    fn finish_directory(&self, path: &[u8], mode: u32, modified: u64) -> Result<(), ArchiveError> {
        let directory = match self.open(path) {
            Ok(directory) => directory,
            Err(ArchiveError { cause: Cause::Directory { source, .. }, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        fs::futimens(&directory, &times(modified)).map_err(at("set the time of", path))?;
        fs::fchmod(&directory, Mode::from_raw_mode(mode)).map_err(at("set the mode of", path))
    }

    /// Opens a directory that must exist.
    fn open(&self, path: &[u8]) -> Result<OwnedFd, ArchiveError> {
        let mut directory = open_directory(self.root, b".").map_err(|error| not_opened(b".", error))?;
        for (component, so_far) in components(path) {
            directory =
                open_directory(directory.as_fd(), component).map_err(|error| not_opened(so_far, error))?;
        }
        Ok(directory)
    }

    /// Returns the parent directory of a path, which is created if it is missing, and the last component.
    fn parent<'p>(
        &mut self,
        path: &'p [u8],
        on_directory: OnDirectory<'_>,
    ) -> Result<(BorrowedFd<'_>, &'p [u8]), ArchiveError> {
        let (directory, name) = names::split(path);
        if self.last.as_ref().is_none_or(|(last, _)| last != directory) {
            let mut open = open_directory(self.root, b".").map_err(|error| not_opened(b".", error))?;
            for (component, so_far) in components(directory) {
                let (next, made) = open_or_make(open.as_fd(), component, so_far)?;
                if made {
                    fs::fchmod(&next, Mode::from_raw_mode(DIRECTORY_MODE & !self.umask))
                        .map_err(at("set the mode of", so_far))?;
                    on_directory(so_far);
                }
                open = next;
            }
            self.last = Some((directory.to_vec(), open));
        }
        let open = self.last.as_ref().map_or(self.root, |(_, open)| open.as_fd());
        Ok((open, name))
    }
}

/// Checks for existing files that conflict with an entry, without changing anything.
pub(crate) fn look(root: BorrowedFd<'_>, path: &[u8], directory: bool) -> Result<(), ArchiveError> {
    let (parents, name) = names::split(path);
    let mut open = open_directory(root, b".").map_err(|error| not_opened(b".", error))?;
    for (component, so_far) in components(parents) {
        open = match open_directory(open.as_fd(), component) {
            Ok(next) => next,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(not_opened(so_far, error)),
        };
    }
    match fs::statat(&open, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(ArchiveError::directory("inspect", path, error)),
        Ok(now) => match (FileType::from_raw_mode(now.st_mode) == FileType::Directory, directory) {
            (true, true) | (false, false) => Ok(()),
            (true, false) => Err(ArchiveError::in_the_way(path, Obstacle::ADirectory)),
            (false, true) => Err(ArchiveError::in_the_way(path, Obstacle::NotADirectory)),
        },
    }
}

/// A name in a directory that is removed unless it is renamed.
struct Temporary<'f> {
    directory: BorrowedFd<'f>,
    name: String,
}

impl<'f> Temporary<'f> {
    /// Creates an object under a new random name.
    fn new<T>(
        directory: BorrowedFd<'f>,
        mut make: impl FnMut(&str) -> rustix::io::Result<T>,
    ) -> io::Result<(Self, T)> {
        for _ in 0..NAMES_TRIED {
            let name = format!("{TEMPORARY_PREFIX}{:016x}", getrandom::u64().map_err(io::Error::other)?);
            match make(&name) {
                Ok(made) => return Ok((Self { directory, name }, made)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Renames the object to its final name. If both names refer to the same file, the kernel keeps both,
    /// and the temporary name is removed on drop.
    fn rename(self, name: &[u8], path: &[u8]) -> Result<(), ArchiveError> {
        match fs::renameat(self.directory, &self.name, self.directory, name) {
            Ok(()) => Ok(()),
            Err(Errno::ISDIR | Errno::NOTEMPTY) => Err(ArchiveError::in_the_way(path, Obstacle::ADirectory)),
            Err(error) => Err(ArchiveError::directory("rename into place", path, error)),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename the name no longer exists.
        let _ = fs::unlinkat(self.directory, &self.name, AtFlags::empty());
    }
}

fn copy(file: &OwnedFd, path: &[u8], content: Content<'_>) -> Result<Written, ArchiveError> {
    let (mut digest, mut size) = (Sha256::new(), 0);
    let Content { read, buffer } = content;
    loop {
        let filled = read(buffer)?;
        let mut left = buffer.get(..filled).unwrap_or_default();
        if left.is_empty() {
            return Ok((size, digest.finalize().into()));
        }
        digest.update(left);
        size += left.len() as u64;
        while !left.is_empty() {
            match rustix::io::write(file, left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(ArchiveError::directory("write", path, error)),
            }
        }
    }
}

/// Opens the directory with this name, or creates it. A new directory is accessible only to its owner
/// until its mode is set.
fn open_or_make(parent: BorrowedFd<'_>, name: &[u8], path: &[u8]) -> Result<(OwnedFd, bool), ArchiveError> {
    match open_directory(parent, name) {
        Err(Errno::NOENT) => {}
        result => return result.map(|directory| (directory, false)).map_err(|error| not_opened(path, error)),
    }
    let made = match fs::mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(ArchiveError::directory("create the directory", path, error)),
    };
    let directory = open_directory(parent, name).map_err(|error| not_opened(path, error))?;
    Ok((directory, made))
}

/// Opens a directory by one component of a path.
pub(crate) fn open_directory(parent: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fs::openat(parent, name, flags, Mode::empty())
}

fn at<E: Into<io::Error>>(doing: &'static str, path: &[u8]) -> impl FnOnce(E) -> ArchiveError {
    move |error| ArchiveError::directory(doing, path, error)
}

fn not_opened(path: &[u8], error: Errno) -> ArchiveError {
    match error {
        Errno::NOTDIR | Errno::LOOP => ArchiveError::in_the_way(path, Obstacle::NotADirectory),
        error => ArchiveError::directory("open the directory", path, error),
    }
}

/// Returns the components of a path, each with the path up to it.
fn components(path: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut end = 0;
    path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()).map(move |component| {
        end += component.len() + usize::from(end > 0);
        (component, path.get(..end).unwrap_or(path))
    })
}

fn times(modified: u64) -> Timestamps {
    let time = Timespec { tv_sec: modified.try_into().unwrap_or_default(), tv_nsec: 0 };
    Timestamps { last_access: time, last_modification: time }
}
