//! The configuration of sessions' disks: the mechanism that enforces the limits, and the limits.

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
