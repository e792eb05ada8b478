//! Packs a directory that a hostile program may be changing at the same time. It must not follow a link, wait
//! for a named pipe, use a device, or keep more than one directory open.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::Write,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    vec,
};

use cap_std::fs::Dir;
use globset::GlobSet;
use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};

use crate::{
    ArchiveError, BLOCK_BYTES, Cancel, Cause, Counts, Format, Kind, Limits, Position, SKIPPED_FILES,
    error::shown,
    names::{self, join},
    put::open_directory,
    write::{Head, TarWriter},
};

const GONE: &str = "it was removed while the archive was created";
const UNREADABLE: &str = "it cannot be read";
const CHANGED: &str = "it was changed while it was read";
const CUT: &str = "it could not be read to its end; the rest is filled with zeros";
const LONG: &str = "its path is too long";
const DEEP: &str = "it is nested too deeply";
const LEAVES: &str = "it is a link that leaves the directory, or may leave it";
const PIPE: &str = "it is a named pipe";
const SOCKET: &str = "it is a socket";
const DEVICE: &str = "it is a device";

/// The options of packing.
#[derive(Debug)]
pub struct Pack<'a> {
    /// Patterns for paths relative to the directory. A match also excludes everything below. See
    /// [`globs`](crate::globs()).
    pub exclude: &'a GlobSet,
    /// Paths relative to the directory that are skipped with everything below them, and the reason.
    pub left_out: &'a BTreeMap<Vec<u8>, &'static str>,
    /// The limits of the archive. More entries or bytes are an error; longer paths are skipped.
    pub limits: &'a Limits,
    /// Cancels the call.
    pub cancel: &'a Cancel,
}

/// The result of packing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    /// The contents of the archive.
    pub counts: Counts,
    /// The first [`SKIPPED_FILES`] files that the archive does not contain, or contains in another state.
    pub skipped: Vec<Skipped>,
    /// The total number of such files.
    pub skipped_total: u64,
}

/// A file that the archive does not contain, or contains in another state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The path relative to the directory.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: &'static str,
}

/// Packs a directory. Entries are sorted by path and have no owners. Modification times (whole seconds) and
/// permissions (without setuid, setgid and sticky) are kept, so equal directories produce equal bytes. Links
/// are not followed. A file with several names is packed once for each name. A file that shrinks during the
/// read is filled with zeros, a file that grows is cut; both are listed as skipped.
///
/// # Errors
/// [`Cause::Limit`], [`Cause::Directory`] if the directory itself cannot be read, [`Cause::Write`],
/// [`Cause::Cancelled`]. After an error the archive has no end marker.
pub fn pack(from: &Dir, format: Format, out: impl Write, options: &Pack<'_>) -> Result<Packed, ArchiveError> {
    let mut packer = Packer {
        root: from.as_fd(),
        options,
        out: TarWriter::new(out, format, options.cancel),
        packed: Packed::default(),
        listed: 0,
        buffer: vec![0; BLOCK_BYTES],
    };
    packer.all()?;
    packer.out.finish()?;
    Ok(packer.packed)
}

struct Packer<'a, W: Write> {
    root: BorrowedFd<'a>,
    options: &'a Pack<'a>,
    out: TarWriter<'a, W>,
    packed: Packed,
    /// The number of names found in all directories.
    listed: u64,
    buffer: Vec<u8>,
}

/// A directory that is being packed.
struct Level {
    path: Vec<u8>,
    names: vec::IntoIter<Vec<u8>>,
}

/// An opened directory, and the names in it.
struct Below {
    directory: OwnedFd,
    names: Vec<Vec<u8>>,
}

impl<W: Write> Packer<'_, W> {
    /// Walks the tree with an explicit stack. Only the current directory is open.
    fn all(&mut self) -> Result<(), ArchiveError> {
        let root = open_directory(self.root, b".");
        let root = root.map_err(|error| ArchiveError::directory("open the directory", b".", error))?;
        let names = self.names(&root, b"")?;
        let names = names.map_err(|error| ArchiveError::directory("list the directory", b".", error))?;
        let mut stack = vec![Level { path: Vec::new(), names: names.into_iter() }];
        let mut open = Some(root);
        while let Some(level) = stack.last_mut() {
            self.options.cancel.look()?;
            let Some(name) = level.names.next() else {
                stack.pop();
                open = None;
                continue;
            };
            let path = join(&level.path, &name);
            let directory = match open.take().map_or_else(|| reopen(self.root, &level.path), Ok) {
                Ok(directory) => directory,
                Err(error) => {
                    // The rest of this directory is skipped for the same reason.
                    self.skip(&path, reason(error));
                    continue;
                }
            };
            open = match self.one(directory.as_fd(), &name, &path)? {
                None => Some(directory),
                Some(Below { directory, names }) => {
                    stack.push(Level { path, names: names.into_iter() });
                    Some(directory)
                }
            };
        }
        Ok(())
    }

    /// Packs one file, link or directory. Returns a directory with the names in it.
    fn one(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
    ) -> Result<Option<Below>, ArchiveError> {
        let limits = self.options.limits;
        let depth = path.iter().filter(|byte| **byte == b'/').count() + 1;
        let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let reason = match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Err(error) => reason(error),
            Ok(_) if path.len() > limits.path_bytes => LONG,
            Ok(_) if depth > limits.depth => DEEP,
            Ok(FileType::Directory) => return self.directory(directory, name, path),
            Ok(FileType::RegularFile) => return self.file(directory, name, path).map(|()| None),
            Ok(FileType::Symlink) => return self.symlink(directory, name, path).map(|()| None),
            Ok(FileType::Fifo) => PIPE,
            Ok(FileType::Socket) => SOCKET,
            Ok(_) => DEVICE,
        };
        self.skip(path, reason);
        Ok(None)
    }

    fn directory(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &[u8],
        path: &[u8],
    ) -> Result<Option<Below>, ArchiveError> {
        let opened = open_directory(parent, name)
            .and_then(|directory| fs::fstat(&directory).map(|stat| (directory, stat)));
        let (directory, stat) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.skip(path, reason(error));
                return Ok(None);
            }
        };
        let names = match self.names(&directory, path)? {
            Ok(names) => names,
            Err(error) => {
                self.skip(path, reason(error));
                return Ok(None);
            }
        };
        self.out.header(&head(path, Kind::Directory, &stat, 0, b""))?;
        self.packed.counts.directories += 1;
        Ok(Some(Below { directory, names }))
    }

    fn symlink(&mut self, directory: BorrowedFd<'_>, name: &[u8], path: &[u8]) -> Result<(), ArchiveError> {
        let target = fs::readlinkat(directory, name, Vec::new());
        let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let (target, stat) = match target.and_then(|target| stat.map(|stat| (target, stat))) {
            Ok(read) => read,
            Err(error) => {
                self.skip(path, reason(error));
                return Ok(());
            }
        };
        if names::target(path, target.as_bytes()).is_err() {
            self.skip(path, LEAVES);
            return Ok(());
        }
        self.out.header(&head(path, Kind::Symlink, &stat, 0, target.as_bytes()))?;
        self.packed.counts.links += 1;
        Ok(())
    }

    /// Packs a file. It is opened without blocking, because the name may refer to a named pipe by now.
    fn file(&mut self, directory: BorrowedFd<'_>, name: &[u8], path: &[u8]) -> Result<(), ArchiveError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = fs::openat(directory, name, flags, Mode::empty())
            .and_then(|file| fs::fstat(&file).map(|stat| (file, stat)));
        let (file, stat) = match opened {
            Ok((_, stat)) if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile => {
                self.skip(path, CHANGED);
                return Ok(());
            }
            Ok(opened) => opened,
            Err(error) => {
                self.skip(path, reason(error));
                return Ok(());
            }
        };
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        let bytes = self.packed.counts.bytes.saturating_add(size);
        if bytes > self.options.limits.bytes {
            return Err(limit(path, "bytes", self.options.limits.bytes));
        }
        self.out.header(&head(path, Kind::File, &stat, size, b""))?;
        self.packed.counts.bytes = bytes;
        self.packed.counts.files += 1;
        let changed = self.content(&file, size)?.or_else(|| is_other_now(&file, &stat).then_some(CHANGED));
        if let Some(reason) = changed {
            self.skip(path, reason);
        }
        Ok(())
    }

    /// Copies exactly as many bytes as the header states, even if the file has become longer or shorter.
    fn content(&mut self, file: &OwnedFd, size: u64) -> Result<Option<&'static str>, ArchiveError> {
        let (mut left, mut fault) = (size, None);
        while left > 0 {
            self.options.cancel.look()?;
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            let part = self.buffer.get_mut(..wanted).unwrap_or_default();
            let read = match fault.map_or_else(|| rustix::io::read(file, &mut *part), |_| Ok(0)) {
                Err(Errno::INTR) => continue,
                Err(_) => {
                    fault = Some(CUT);
                    0
                }
                Ok(read) => read,
            };
            let part = if read == 0 {
                fault = fault.or(Some(CHANGED));
                part.fill(0);
                part
            } else {
                part.get_mut(..read).unwrap_or_default()
            };
            self.out.content(part)?;
            left -= part.len() as u64;
        }
        self.out.pad(size)?;
        Ok(fault)
    }

    /// Returns the sorted names in a directory, without the excluded ones.
    fn names(
        &mut self,
        directory: &OwnedFd,
        path: &[u8],
    ) -> Result<Result<Vec<Vec<u8>>, Errno>, ArchiveError> {
        let mut names = Vec::new();
        let entries = match fs::Dir::read_from(directory) {
            Ok(entries) => entries,
            Err(error) => return Ok(Err(error)),
        };
        for entry in entries {
            self.options.cancel.look()?;
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return Ok(Err(error)),
            };
            let name = entry.file_name().to_bytes();
            let full = join(path, name);
            if matches!(name, b"." | b"..") || self.options.exclude.is_match(OsStr::from_bytes(&full)) {
                continue;
            }
            if let Some(reason) = self.options.left_out.get(&full) {
                self.skip(&full, reason);
                continue;
            }
            self.listed += 1;
            if self.listed > self.options.limits.entries {
                return Err(limit(&full, "entries", self.options.limits.entries));
            }
            names.push(name.to_vec());
        }
        names.sort_unstable();
        Ok(Ok(names))
    }

    fn skip(&mut self, path: &[u8], reason: &'static str) {
        self.packed.skipped_total += 1;
        if self.packed.skipped.len() < SKIPPED_FILES {
            self.packed.skipped.push(Skipped { path: path.to_vec(), reason });
        }
    }
}

fn head<'h>(path: &'h [u8], kind: Kind, stat: &Stat, size: u64, target: &'h [u8]) -> Head<'h> {
    let modified = u64::try_from(stat.st_mtime).unwrap_or_default();
    Head { path, kind, size, mode: stat.st_mode & 0o777, modified, target }
}

/// Reports whether the file was written to since it was opened.
fn is_other_now(file: &OwnedFd, before: &Stat) -> bool {
    fs::fstat(file).is_ok_and(|now| {
        (now.st_size, now.st_mtime, now.st_mtime_nsec)
            != (before.st_size, before.st_mtime, before.st_mtime_nsec)
    })
}

fn reopen(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut directory = open_directory(root, b".")?;
    for component in path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
        directory = open_directory(directory.as_fd(), component)?;
    }
    Ok(directory)
}

fn reason(error: Errno) -> &'static str {
    match error {
        Errno::NOENT => GONE,
        Errno::LOOP | Errno::NOTDIR | Errno::INVAL | Errno::NXIO => CHANGED,
        _ => UNREADABLE,
    }
}

fn limit(path: &[u8], limit: &'static str, value: u64) -> ArchiveError {
    Cause::Limit { place: Position::File(shown(path)), limit, value }.into()
}
