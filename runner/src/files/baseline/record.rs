//! The record of one file in its original state.

use airlock_domain::{FileInfo, FileType};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

use crate::files::paths::absolute;

/// The original state of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The path relative to the workspace's root.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: RecordKind,
    /// The permission bits.
    pub(crate) mode: u32,
    /// In microseconds since 1970.
    pub(crate) modified_micros: i64,
}

/// The type of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RecordKind {
    Directory,
    /// A link with its target.
    Link(Vec<u8>),
    File {
        size: u64,
        /// `None`: the file is identified by its stamp alone.
        sha256: Option<[u8; 32]>,
        /// `None`: the file is identified by its content alone.
        stamp: Option<Stamp>,
        content: Content,
    },
}

/// Attributes that change with every change of a file, if they were read before any process could change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    size: i64,
    inode: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

/// Whether the content of a file can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    /// The content follows the record.
    Kept,
    /// The content is not text.
    Binary,
    /// The content exceeds the limit per file.
    TooLarge,
    /// The content did not fit into the limit per session.
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

    /// Reports whether a change at or after this moment of the file system's clock would change the stamp.
    pub(super) fn is_older_than(&self, moment: (i64, u64)) -> bool {
        self.changed < moment
    }
}

impl Record {
    /// Creates a record with the permission bits and the time of `stat`. Setuid, setgid and sticky are dropped.
    pub(crate) fn new(path: Vec<u8>, kind: RecordKind, stat: &Stat) -> Self {
        Self { path, kind, mode: stat.st_mode & 0o777, modified_micros: modified_micros(stat) }
    }

    /// Converts to the reported form.
    pub(crate) fn info(&self) -> FileInfo {
        let (file_type, size, link_target) = match &self.kind {
            RecordKind::Directory => (FileType::Directory, 0, Vec::new()),
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

/// Returns the modification time in microseconds since 1970.
pub(crate) fn modified_micros(stat: &Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime.saturating_mul(1_000_000).saturating_add(nanos / 1000)
}

/// Reports whether the content is text: it contains no NUL.
pub(crate) fn is_text(content: &[u8]) -> bool {
    !content.contains(&0)
}
