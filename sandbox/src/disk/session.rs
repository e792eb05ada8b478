//! The disk of one session, and its usage as the kernel counts it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

use super::backend::{DiskBackend, DiskError, step};
use super::count::DiskUse;

/// A disk counts as full below this part of its size, or below the bytes that follow, whichever is less. A large write
/// fails before all space is used.
const FULL_PART: u64 = 32;
const FULL_BYTES: u64 = 1 << 20;

/// The disk of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDisk {
    pub(super) backend: DiskBackend,
    pub(super) root: PathBuf,
    pub(super) id: Option<u32>,
}

impl SessionDisk {
    /// Returns the mechanism that enforces its limits.
    #[must_use]
    pub fn backend(&self) -> DiskBackend {
        self.backend
    }

    /// Returns the limited directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the used and the free space as the kernel counts it, or `None` if the kernel does not count.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn used_and_left(&self) -> io::Result<Option<(DiskUse, DiskUse)>> {
        if self.backend == DiskBackend::Watch {
            return Ok(None);
        }
        let disk = statvfs(&self.root)?;
        let used = DiskUse {
            bytes: disk.f_blocks.saturating_sub(disk.f_bfree).saturating_mul(disk.f_frsize),
            inodes: disk.f_files.saturating_sub(disk.f_ffree),
        };
        let left = DiskUse { bytes: disk.f_bavail.saturating_mul(disk.f_frsize), inodes: disk.f_favail };
        Ok(Some((used, left)))
    }

    /// Returns a description if the kernel refuses further writes.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn full(&self) -> io::Result<Option<String>> {
        let Some((used, left)) = self.used_and_left()? else { return Ok(None) };
        let little = (used.bytes.saturating_add(left.bytes) / FULL_PART).min(FULL_BYTES);
        let what = match (left.bytes < little, left.inodes == 0) {
            (true, _) => format!("{} bytes are used, {} are free", used.bytes, left.bytes),
            (false, true) => format!("the limit of {} files and directories is reached", used.inodes),
            (false, false) => return Ok(None),
        };
        Ok(Some(what))
    }

    /// Checks that the kernel reports a limit of at most `limits`.
    pub(super) fn holds(&self, limits: DiskUse) -> Result<(), DiskError> {
        let failed = |cause: String| DiskError::Step { action: "limit the test directory", cause };
        let Some((used, left)) = self.used_and_left().map_err(step("inspect the test directory"))? else {
            return Ok(());
        };
        // A file system uses a few inodes itself, and allocates them in blocks.
        let inodes = limits.inodes.saturating_mul(2).max(64);
        let all = DiskUse {
            bytes: used.bytes.saturating_add(left.bytes),
            inodes: used.inodes.saturating_add(left.inodes),
        };
        if all.bytes > limits.bytes || all.inodes > inodes {
            return Err(failed(format!(
                "the kernel let it use {} bytes and {} files: limits are counted, but not enforced",
                all.bytes, all.inodes
            )));
        }
        Ok(())
    }
}
