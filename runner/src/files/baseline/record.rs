//! One file as it was put into the workspace.

use airlock_proto::domain::{FileInfo, FileType};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

use crate::files::paths::absolute;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Below the workspace's root.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: RecordKind,
    /// Permission bits.
    pub(crate) mode: u32,
    /// Microseconds since 1970.
    pub(crate) modified_micros: i64,
}

/// What it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RecordKind {
    Folder,
    /// With its target.
    Link(Vec<u8>),
    File {
        size: u64,
        /// None: it is known by its stamp alone.
        sha256: Option<[u8; 32]>,
        /// None: it is known by its content alone.
        stamp: Option<Stamp>,
        content: Content,
    },
}

/// What changes with every change of a file, if it was taken before anybody could change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: i64,
    inode: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

/// Whether a file's content can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    /// It follows the record.
    Kept,
    /// It is no text.
    Binary,
    /// It is larger than what is kept of one file.
    TooLarge,
    /// There was no room for it.
    NotKept,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size,
            inode: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether a change at this moment of the file system's clock, or later, would show in it.
    pub(super) fn is_older_than(&self, moment: (i64, u64)) -> bool {
        self.changed < moment
    }
}

impl Record {
    /// With the permission bits and time of `stat`; setuid, setgid and sticky are never given.
    pub(crate) fn new(path: Vec<u8>, kind: RecordKind, stat: &Stat) -> Self {
        Self { path, kind, mode: stat.st_mode & 0o777, modified_micros: modified_micros(stat) }
    }

    /// As it is told.
    pub(crate) fn info(&self) -> FileInfo {
        let (file_type, size, link_target) = match &self.kind {
            RecordKind::Folder => (FileType::Directory, 0, Vec::new()),
            RecordKind::Link(target) => (FileType::Symlink, 0, target.clone()),
            RecordKind::File { size, .. } => (FileType::Regular, *size, Vec::new()),
        };
        FileInfo {
            path: absolute(&self.path),
            file_type,
            size,
            mode: self.mode,
            modified_micros: self.modified_micros,
            link_target,
        }
    }
}

/// Microseconds since 1970.
pub(crate) fn modified_micros(stat: &Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime.saturating_mul(1_000_000).saturating_add(nanos / 1000)
}

/// What has a NUL in it is no text.
pub(crate) fn is_text(content: &[u8]) -> bool {
    !content.contains(&0)
}
