//! The disk limits of a session, and the mechanisms that enforce them. These are quotas of the file system, a private
//! file system in an image or in memory, and a periodic count.
//!
//! The limit applies to one directory of a session, which holds its workspace, HOME, `/tmp` and quarantine. No file
//! contents of a command are read. Must not report a backend as working without a trial.

mod check;
mod count;
mod image;
mod mounts;
mod quota;

use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use airlock_mounts::remove_tree;
use rustix::fs::statvfs;

use crate::runtime::random_name;

pub use check::disk_check;
pub use count::{DiskUse, disk_use};

/// The limited directory, in the directory of a session.
const DISK: &str = "disk";
/// The limits of a trial, unless the configuration has lower ones.
const TRIAL: DiskUse = DiskUse { bytes: 16 << 20, inodes: 256 };
/// A disk counts as full below this part of its size, or below the bytes that follow, whichever is less. A large write
/// fails before all space is used.
const FULL_PART: u64 = 32;
const FULL_BYTES: u64 = 1 << 20;

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
    fn mounts(self) -> bool {
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
    #[error("`workspace.backend` `{}` does not work here: {cause}; {cure}", backend.as_str())]
    Unusable {
        /// The backend.
        backend: DiskBackend,
        /// The observation.
        cause: String,
        /// The remedy.
        cure: String,
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
    #[error("its files were kept in memory (`workspace.backend` `tmpfs`), and are lost")]
    Lost,
}

fn step<E: fmt::Display>(action: &'static str) -> impl Fn(E) -> DiskError {
    move |error| DiskError::Step { action, cause: error.to_string() }
}

/// The disks of a runner's sessions.
#[derive(Debug, Clone)]
pub struct Disks {
    config: DiskConfig,
    backend: DiskBackend,
    /// The reason why quotas do not work, and the remedy, if quotas were wanted.
    without_quota: Option<(String, String)>,
    /// The directory of all sessions.
    sessions: PathBuf,
}

/// The disk of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDisk {
    backend: DiskBackend,
    root: PathBuf,
    id: Option<u32>,
}

impl Disks {
    /// Selects the backend by a trial on a directory in `sessions`, which is removed afterwards. `id` is a host uid
    /// without a session; the trial uses its number as project ID. Blocks for some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// [`DiskError::Unusable`] if the configured backend does not work on this host.
    pub fn open(config: DiskConfig, sessions: &Path, id: Option<u32>) -> Result<Self, DiskError> {
        let mut disks =
            Self { config, backend: DiskBackend::Watch, without_quota: None, sessions: sessions.to_owned() };
        let wanted = config.backend.unwrap_or(DiskBackend::Quota);
        if wanted == DiskBackend::Watch || (config.backend.is_none() && !config.has_limits()) {
            return Ok(disks);
        }
        match (disks.attempt(wanted, id), config.backend) {
            (Ok(()), _) => {
                disks.backend = wanted;
                if wanted.mounts() {
                    mounts::make_ground(sessions)?;
                }
            }
            (Err(DiskError::Unusable { cause, cure, .. }), None) => disks.without_quota = Some((cause, cure)),
            (Err(error), None) => disks.without_quota = Some((error.to_string(), quota::CURE.to_owned())),
            (Err(error), Some(_)) => return Err(error),
        }
        Ok(disks)
    }

    /// Creates a disk with this backend and removes it.
    fn attempt(&mut self, backend: DiskBackend, id: Option<u32>) -> Result<(), DiskError> {
        let place = self.new_place()?;
        let limits = DiskUse {
            bytes: self.config.bytes.map_or(TRIAL.bytes, |bytes| bytes.min(TRIAL.bytes)),
            inodes: self.config.inodes.map_or(TRIAL.inodes, |inodes| inodes.min(TRIAL.inodes)),
        };
        let trial = Self {
            config: DiskConfig { bytes: Some(limits.bytes), inodes: Some(limits.inodes), ..self.config },
            backend,
            ..self.clone()
        };
        let ground = if backend.mounts() { mounts::make_ground(&self.sessions) } else { Ok(()) };
        let tried = ground.and_then(|()| trial.make(&place, id)).and_then(|disk| disk.holds(limits));
        let released = trial.release(&place, id);
        let removed = remove_tree(&place).map_err(step("remove the test directory"));
        trial.leave();
        tried.and(released).and(removed).map_err(|error| match error {
            DiskError::Step { action, cause } => DiskError::Unusable {
                backend,
                cause: format!("cannot {action}: {cause}"),
                cure: self.cure(backend),
            },
            other => other,
        })
    }

    fn cure(&self, backend: DiskBackend) -> String {
        match backend {
            DiskBackend::Quota => quota::cure(&self.sessions),
            DiskBackend::Loop => image::CURE.to_owned(),
            DiskBackend::Tmpfs => mounts::CURE.to_owned(),
            DiskBackend::Watch => String::new(),
        }
    }

    /// Returns the active backend.
    #[must_use]
    pub fn backend(&self) -> DiskBackend {
        self.backend
    }

    /// Returns the limits of sessions.
    #[must_use]
    pub fn config(&self) -> DiskConfig {
        self.config
    }

    /// Returns the mount below which sessions' disks are mounted, if there is one. It exists from [`Disks::open`] or
    /// [`Disks::take_up`] until [`Disks::leave`].
    #[must_use]
    pub fn ground(&self) -> Option<PathBuf> {
        mounts::is_mount(&self.sessions).then(|| self.sessions.clone())
    }

    /// Creates a directory for a session, with a random name. Only the runner may enter it.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn new_place(&self) -> Result<PathBuf, DiskError> {
        let failed = || step("create a directory");
        let place = self.sessions.join(random_name().map_err(failed())?);
        DirBuilder::new().mode(0o700).create(&place).map_err(failed())?;
        Ok(place)
    }

    /// Creates the disk of a session in `place`, which [`Disks::new_place`] created. `id` is the session's host uid,
    /// and also its project ID. Blocks for some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// The step that failed. [`Disks::release`] reverts the completed steps.
    pub fn make(&self, place: &Path, id: Option<u32>) -> Result<SessionDisk, DiskError> {
        let disk = self.at(place, id, self.backend);
        DirBuilder::new().mode(0o700).create(&disk.root).map_err(step("create its directory"))?;
        match self.backend {
            DiskBackend::Quota => quota::begin(&disk.root, id, &self.config)?,
            DiskBackend::Loop => {
                image::make(place, &self.config)?;
                image::mount(place, &disk.root)?;
            }
            DiskBackend::Tmpfs => mounts::mount_memory(&disk.root, &self.config)?,
            DiskBackend::Watch => {}
        }
        Ok(disk)
    }

    /// Finds the disk that an earlier process created with `backend`, and mounts it if necessary. Blocks for some
    /// tens of milliseconds.
    ///
    /// # Errors
    ///
    /// [`DiskError::Lost`], or the step that failed. A failure changes nothing.
    pub fn take_up(
        &self,
        place: &Path,
        id: Option<u32>,
        backend: DiskBackend,
    ) -> Result<SessionDisk, DiskError> {
        let disk = self.at(place, id, backend);
        match backend {
            DiskBackend::Quota if self.config.has_limits() => quota::limit(&disk.root, id, &self.config)?,
            DiskBackend::Loop if !mounts::is_mount(&disk.root) => {
                mounts::make_ground(&self.sessions)?;
                image::mount(place, &disk.root)?;
            }
            DiskBackend::Tmpfs if !mounts::is_mount(&disk.root) => return Err(DiskError::Lost),
            _ => {}
        }
        Ok(disk)
    }

    fn at(&self, place: &Path, id: Option<u32>, backend: DiskBackend) -> SessionDisk {
        SessionDisk { backend, root: place.join(DISK), id }
    }

    /// Unmounts a session's disk and removes its project limits, before the session's directory is removed. Works for
    /// every backend and for an incomplete disk. Blocks.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn release(&self, place: &Path, id: Option<u32>) -> Result<(), DiskError> {
        let root = place.join(DISK);
        mounts::unmount(&root)?;
        if let Some(id) = id {
            quota::end(&self.sessions, id);
        }
        Ok(())
    }

    /// Unmounts a session's image, before the process ends. A disk in memory stays mounted. Blocks.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn put_down(&self, disk: &SessionDisk) -> Result<(), DiskError> {
        match disk.backend {
            DiskBackend::Loop => mounts::unmount(&disk.root),
            DiskBackend::Quota | DiskBackend::Tmpfs | DiskBackend::Watch => Ok(()),
        }
    }

    /// Removes the mount below which disks were mounted, unless one is still mounted. The last step before the
    /// process ends.
    pub fn leave(&self) {
        mounts::leave_ground(&self.sessions);
    }
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
    fn holds(&self, limits: DiskUse) -> Result<(), DiskError> {
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

#[cfg(test)]
mod tests;
