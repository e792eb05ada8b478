//! Packs folders into tar archives, and unpacks such archives into folders, without trusting either.
//!
//! An archive may come from anyone, and the folder may be changed by a hostile command at the same time.
//! Nothing outside of the folder is read, made or changed. What it must not do: follow a link, ask anything
//! of the network, or hold an archive, a file or an unbounded list in memory. All calls block.

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

/// Bytes read or written between two looks at [`Cancel`].
pub const BLOCK_BYTES: usize = 64 * 1024;
/// Of one PAX header, GNU long name or GNU long link target; a longer one is refused.
pub const EXTENSION_BYTES: u64 = 64 * 1024;
/// Of the names of all folders that an archive lists, which are held until their modes are set.
pub const FOLDER_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// Of the zeros after an archive's end marker, which writers add to fill a record.
pub const PADDING_BYTES: u64 = 16 * 1024 * 1024;
/// Files that [`Packed`] names as left out.
pub const SKIPPED_FILES: usize = 100;
/// Patterns of one call of [`globs()`].
pub const GLOBS: usize = 64;
/// Of one such pattern.
pub const GLOB_BYTES: usize = 1024;

/// What an archive's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// POSIX (ustar, PAX), GNU or V7 tar.
    Tar,
    /// The same, compressed with gzip; it may have several members.
    TarGzip,
}

/// Ends a call early, from another thread. It is looked at for every entry, for every [`BLOCK_BYTES`] of
/// content, and whenever the archive is read or written; the call then returns [`Cause::Cancelled`].
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all calls that were given this one or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn look(&self) -> Result<(), ArchiveError> {
        if self.is_cancelled() { Err(Cause::Cancelled.into()) } else { Ok(()) }
    }
}

/// How much an archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files, folders and links, with the folders that are only named as part of a path, and global
    /// headers.
    pub entries: u64,
    /// Of all contents, unpacked, and of the PAX headers and long names, which may be compressed as well.
    pub bytes: u64,
    /// Of one path.
    pub path_bytes: usize,
    /// Components of one path.
    pub depth: usize,
}

impl Limits {
    /// Of the kernel and of Airlock's contract, for paths: 4096 bytes, 255 components. For the rest none.
    pub const PATHS: Self = Self { entries: u64::MAX, bytes: u64::MAX, path_bytes: 4096, depth: 255 };
}

/// What an archive holds, or what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files; one that comes twice counts twice.
    pub files: u64,
    /// Folders, each once; also those that are only part of a path.
    pub directories: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// Of the files' contents.
    pub bytes: u64,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another name for a regular file that came earlier.
    HardLink,
}

/// Something that [`unpack()`] put into the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Relative to the folder; no `.`, no `..`, no empty component, no slash at its end.
    pub path: &'a [u8],
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file's content; otherwise 0.
    pub size: u64,
    /// Permission bits, without setuid, setgid and sticky. A folder gets them when all else is done. 0o777
    /// of a symbolic link, 0 of a hard link, which has those of its file.
    pub mode: u32,
    /// Of a link: as written for a symbolic one; a path like `path` for a hard one.
    pub link_target: Option<&'a [u8]>,
    /// Of a file's content, as it was written.
    pub sha256: Option<[u8; 32]>,
}
