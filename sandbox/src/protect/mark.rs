//! The recorded state of a protected name, which shows whether it was changed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::directory::{identity, kind, look, permissions};
use super::git_config;

/// The maximum size in bytes for reading the contents of a file. Only the stamp shows changes of longer files.
pub(super) const CONTENT_MAX: u64 = 4 << 20;

/// A file type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    pub(super) fn of(stat: &Stat) -> Self {
        match kind(stat) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Attributes that every write to a file changes. Only a process that can set the clock can restore them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    changed: (i64, i64),
    pub(super) modified: (i64, i64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        let seconds = |value: i64, nanos| (value, i64::try_from(nanos).unwrap_or(0));
        Self {
            inode: stat.st_ino,
            size: stat.st_size,
            changed: seconds(stat.st_ctime, stat.st_ctime_nsec),
            modified: seconds(stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

/// The recorded state of one protected name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) kind: Kind,
    /// The identity of the file and of its directory.
    pub(super) identity: u64,
    pub(super) parent: u64,
    pub(super) mode: u32,
    pub(super) stamp: Stamp,
    /// The SHA-256 of a readable file up to the size limit.
    pub(super) hash: Option<[u8; 32]>,
    /// The target of a link.
    pub(super) target: Vec<u8>,
    /// For a repository's configuration: its settings that run programs.
    pub(super) programs: Option<BTreeSet<String>>,
    /// Whether a command made this change without a decision.
    pub(super) planted: bool,
}

impl Mark {
    /// Records an entry of a directory. `None` if it does not exist. For unreadable contents only the stamp shows
    /// changes.
    pub(super) fn of(
        directory: impl AsFd,
        name: &[u8],
        parent: u64,
        is_config: bool,
    ) -> Result<Option<Self>, Errno> {
        let Some(stat) = look(&directory, name)? else { return Ok(None) };
        let identity = match identity(&directory, name) {
            Err(Errno::NOENT) => return Ok(None),
            other => other?,
        };
        let mut mark = Self {
            kind: Kind::of(&stat),
            identity,
            parent,
            mode: permissions(&stat),
            stamp: Stamp::of(&stat),
            hash: None,
            target: Vec::new(),
            programs: None,
            planted: false,
        };
        match mark.kind {
            Kind::Link => {
                mark.target =
                    readlinkat(&directory, name, Vec::new()).map_or_else(|_| Vec::new(), Into::into);
            }
            Kind::File => {
                let content = read(&directory, name)?;
                mark.hash = content.as_ref().map(|content| Sha256::digest(content).into());
                if is_config {
                    let programs = content.and_then(|content| git_config::programs(&content));
                    // A configuration that this parser cannot read counts as one that runs a program, because git
                    // might read it.
                    let unread = || BTreeSet::from([format!("unreadable, inode {}", mark.stamp.inode)]);
                    mark.programs = Some(programs.unwrap_or_else(unread));
                }
            }
            Kind::Directory | Kind::Other => {}
        }
        Ok(Some(mark))
    }

    /// Reports whether it is unchanged, and was moved only together with its directory.
    pub(super) fn came_with_its_directory(&self, other: &Self) -> bool {
        (self.parent, self.identity) == (other.parent, other.identity) && self.is_same(other)
    }

    /// Reports whether it is unchanged.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && match self.kind {
                Kind::Directory => true,
                Kind::File => {
                    self.mode == other.mode
                        && match (&self.hash, &other.hash) {
                            (Some(one), Some(two)) => one == two,
                            _ => self.stamp == other.stamp,
                        }
                }
                Kind::Link => self.target == other.target,
                Kind::Other => self.stamp == other.stamp,
            }
    }
}

/// Returns a regular file's contents. `None` if it has another type, is too long or cannot be read. Never waits for a
/// pipe.
pub(super) fn read(directory: impl AsFd, name: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = match openat(&directory, name, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::NXIO
            | Errno::NODEV
            | Errno::ACCESS
            | Errno::PERM,
        ) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let stat = fstat(&handle)?;
    if kind(&stat) != FileType::RegularFile
        || u64::try_from(stat.st_size).is_ok_and(|size| size > CONTENT_MAX)
    {
        return Ok(None);
    }
    let mut content = Vec::new();
    // A file that grows beyond the limit meanwhile is too long, too.
    let read = File::from(handle).take(CONTENT_MAX + 1).read_to_end(&mut content);
    match read {
        Ok(bytes) if bytes as u64 <= CONTENT_MAX => Ok(Some(content)),
        Ok(_) => Ok(None),
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}
