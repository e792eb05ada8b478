//! The configuration of sessions' disks: the mechanism that enforces the limits, and the limits. Also the errors of
//! operations on a disk.

use std::fmt;

use super::count::DiskUse;

/// The mechanism that enforces a session's disk limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBackend {
    /// The file system counts the session's directory as a project. Requires ext4 or xfs, mounted with `prjquota`, and
    /// root.
    Quota,
    /// The session has a private ext4 file system in a sparse file. Requires loop devices, root, and the programs
    /// `mkfs.ext4` and `mount`.
    Loop,
    /// The session has a private file system in memory. Requires root. Its contents are lost when the host restarts.
    Tmpfs,
    /// No enforcement: the usage is counted periodically.
    Watch,
}

impl DiskBackend {
    /// The size of the smallest image, in bytes.
    pub const LOOP_BYTES_MIN: u64 = 4 << 20;

    /// Returns its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Loop => "loop",
            Self::Tmpfs => "tmpfs",
            Self::Watch => "watch",
        }
    }

    /// Returns the backend with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Quota, Self::Loop, Self::Tmpfs, Self::Watch].into_iter().find(|one| one.as_str() == name)
    }

    /// Reports whether each session has a separate mount.
    pub(super) fn mounts(self) -> bool {
        matches!(self, Self::Loop | Self::Tmpfs)
    }
}

/// The disk limits of sessions, and the mechanism that enforces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskConfig {
    /// `None` means quotas if they work, otherwise a count.
    pub backend: Option<DiskBackend>,
    /// The limit in bytes per session.
    pub bytes: Option<u64>,
    /// The limit of files, directories and links per session.
    pub inodes: Option<u64>,
}

impl DiskConfig {
    /// Reports whether any limit is set.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.bytes.is_some() || self.inodes.is_some()
    }

    /// Returns the limits, with the maximum value for a limit that is not set.
    #[must_use]
    pub fn most(&self) -> DiskUse {
        DiskUse { bytes: self.bytes.unwrap_or(u64::MAX), inodes: self.inodes.unwrap_or(u64::MAX) }
    }
}

/// A failed operation on a session's disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The configured backend does not work on this host.
    #[error("`workspace.backend` `{}` does not work here: {cause}; {remedy}", backend.as_str())]
    Unusable {
        /// The backend.
        backend: DiskBackend,
        /// The observation.
        cause: String,
        /// The remedy.
        remedy: String,
    },
    /// A step failed.
    #[error("a session's disk: cannot {action}: {cause}")]
    Step {
        /// The step that failed.
        action: &'static str,
        /// The cause.
        cause: String,
    },
    /// The disk was in memory, and is lost.
    #[error("its files were in memory (`workspace.backend` is `tmpfs`) and are lost")]
    Lost,
}

/// Returns the error of a failed step.
pub(super) fn step<E: fmt::Display>(action: &'static str) -> impl Fn(E) -> DiskError {
    move |error| DiskError::Step { action, cause: error.to_string() }
}
