//! Packs directories into tar archives and unpacks archives into directories, without trusting either.
//!
//! An archive can come from anyone, and a hostile command can change the directory at the same time.
//! Nothing outside the directory is read, created or changed. The crate must not follow a link, use the
//! network, or hold an archive, a file or an unbounded list in memory. All calls block.

#![forbid(unsafe_code)]

mod error;
mod globs;
mod header;
mod names;
mod pack;
mod put;
mod source;
mod tree;
mod unpack;
mod walk;
mod write;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

pub use error::{ArchiveError, Cause, Obstacle, Place, Rule};
pub use globs::{GlobError, globs};
pub use pack::{Pack, Packed, Skipped, pack};
pub use put::{TEMPORARY_PREFIX, write_file};
pub use unpack::{Unpack, check, conflicts, unpack};

#[cfg(feature = "hostile")]
pub mod hostile;

/// The number of bytes that are read or written between two checks of [`Cancel`].
pub const BLOCK_BYTES: usize = 64 * 1024;
/// The largest PAX header, GNU long name or GNU long link target, in bytes. A longer one is refused.
pub const EXTENSION_BYTES: u64 = 64 * 1024;
/// The largest total size of the names of all directories in an archive, which are held until their modes
/// are set.
pub const FOLDER_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// The largest number of zeros after an archive's end marker, which writers add to fill a record.
pub const PADDING_BYTES: u64 = 16 * 1024 * 1024;
/// The number of skipped files that [`Packed`] lists.
pub const SKIPPED_FILES: usize = 100;
/// The largest number of patterns in one call of [`globs()`].
pub const GLOBS: usize = 64;
/// The largest length of a pattern, in bytes.
pub const GLOB_BYTES: usize = 1024;

/// The format of an archive's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// POSIX (ustar, PAX), GNU or V7 tar.
    Tar,
    /// The same, compressed with gzip, with one or several members.
    TarGzip,
}

/// Cancels a call from another thread. It is checked for every entry, for every [`BLOCK_BYTES`] of content,
/// and at each read or write of the archive. The call then returns [`Cause::Cancelled`].
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Creates a handle that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all calls that use this handle or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Reports whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn look(&self) -> Result<(), ArchiveError> {
        if self.is_cancelled() { Err(Cause::Cancelled.into()) } else { Ok(()) }
    }
}

/// The limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of files, directories and links, including directories that are only part of a path, and
    /// global headers.
    pub entries: u64,
    /// The size of all contents, unpacked, and of the PAX headers and long names, which may be compressed,
    /// too.
    pub bytes: u64,
    /// The length of a path, in bytes.
    pub path_bytes: usize,
    /// The number of components of a path.
    pub depth: usize,
}

impl Limits {
    /// The limits of the kernel and of Airlock's contract for paths: 4096 bytes, 255 components. The other
    /// fields have no limit.
    pub const PATHS: Self = Self { entries: u64::MAX, bytes: u64::MAX, path_bytes: 4096, depth: 255 };
}

/// The contents of an archive, or the entries that were created from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files. A file that occurs twice counts twice.
    pub files: u64,
    /// Directories, each counted once, including those that are only part of a path.
    pub directories: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// The size of the files' contents.
    pub bytes: u64,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another name for an earlier regular file.
    HardLink,
}

/// An entry that [`unpack()`] created in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The path relative to the directory: no `.`, no `..`, no empty component, no trailing slash.
    pub path: &'a [u8],
    /// The type.
    pub kind: Kind,
    /// The size of a file's content in bytes; otherwise 0.
    pub size: u64,
    /// The permission bits without setuid, setgid and sticky. A directory gets them at the end. 0o777 for a
    /// symbolic link, 0 for a hard link, which has the bits of its file.
    pub mode: u32,
    /// The target of a link: as written for a symbolic link, in the form of `path` for a hard link.
    pub link_target: Option<&'a [u8]>,
    /// The SHA-256 of a file's content as it was written.
    pub sha256: Option<[u8; 32]>,
}
