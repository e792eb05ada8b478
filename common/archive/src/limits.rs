//! The limits of archives and of calls, and the cancellation of a call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{ArchiveError, Cause};

/// The number of bytes that are read or written between two checks of [`crate::Cancel`].
pub const BLOCK_BYTES: usize = 64 * 1024;
/// The largest PAX header, GNU long name or GNU long link target, in bytes. A longer one is refused.
pub const EXTENSION_BYTES: u64 = 64 * 1024;
/// The largest total size of the names of all directories in an archive, which are held until their modes
/// are set.
pub const DIRECTORY_NAMES_BYTES: usize = 64 * 1024 * 1024;
/// The largest number of zeros after an archive's end marker, which writers add to fill a record.
pub const PADDING_BYTES: u64 = 16 * 1024 * 1024;
/// The number of skipped files that [`crate::Packed`] lists.
pub const SKIPPED_FILES: usize = 100;
/// The largest number of patterns in one call of [`crate::globs()`].
pub const GLOBS: usize = 64;
/// The largest length of a pattern, in bytes.
pub const GLOB_BYTES: usize = 1024;

/// The limits of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The number of files, directories and links, including directories that are only part of a path, and
    /// global headers.
    pub entries: u64,
    /// The total size of the contents, the PAX headers and the long names, all after decompression.
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

/// Cancels a call from another thread. It is checked for every entry, for every [`crate::BLOCK_BYTES`] of content,
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
