//! What a session may take of the disk, and who holds it to that: quotas of the file
//! system, a file system of its own in an image or in memory, or a count.
//!
//! What is limited is one folder of a session, in which its workspace, HOME and
//! `/tmp` are, and what is moved out of them. Nothing a command wrote is looked
//! into. Must not say that a backend works that was not tried.

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

/// The limited folder, in the folder of a session.
const DISK: &str = "disk";
/// What a trial may take, where the configuration says no less.
const TRIAL: DiskUse = DiskUse { bytes: 16 << 20, inodes: 256 };
/// With less left than this part of the whole, and than these bytes, a write has failed, or soon will: a large
/// one fails before everything is taken.
const FULL_PART: u64 = 32;
const FULL_BYTES: u64 = 1 << 20;

/// Who holds a session to its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskBackend {
    /// The file system counts the session's folder as a project of its own. Needs
    /// ext4 or xfs, mounted with `prjquota`, and root.
    Quota,
    /// The session has an ext4 of its own, in a sparse file. Needs loop devices, root,
    /// and the programs `mkfs.ext4` and `mount`.
    Loop,
    /// The session has a file system of its own in memory. Needs root. What is in it
    /// is gone with the host's next start.
    Tmpfs,
    /// Nobody: what it takes is counted from time to time.
    Watch,
}

impl DiskBackend {
    /// Bytes of the smallest image.
    pub const LOOP_BYTES_MIN: u64 = 4 << 20;

    /// Its name in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Loop => "loop",
            Self::Tmpfs => "tmpfs",
            Self::Watch => "watch",
        }
    }

    /// The backend of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Quota, Self::Loop, Self::Tmpfs, Self::Watch].into_iter().find(|one| one.as_str() == name)
    }

    /// Whether each session has a mount of its own.
    fn mounts(self) -> bool {
        matches!(self, Self::Loop | Self::Tmpfs)
    }
}

/// What sessions may take, and who is to hold them to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskConfig {
    /// `None`: quotas where they work, else a count.
    pub backend: Option<DiskBackend>,
    /// Bytes of one session.
    pub bytes: Option<u64>,
    /// Files, folders and links of one session.
    pub inodes: Option<u64>,
}

impl DiskConfig {
    /// Whether there is anything to hold to.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.bytes.is_some() || self.inodes.is_some()
    }

    /// The limits; what is not limited may be any number.
    #[must_use]
    pub fn most(&self) -> DiskUse {
        DiskUse { bytes: self.bytes.unwrap_or(u64::MAX), inodes: self.inodes.unwrap_or(u64::MAX) }
    }
}

/// A step with a session's disk that failed.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The backend that was asked for cannot be had here.
    #[error("`workspace.backend` `{}` does not work here: {cause}; {cure}", backend.as_str())]
    Unusable {
        /// Which.
        backend: DiskBackend,
        /// What was seen.
        cause: String,
        /// What to do.
        cure: String,
    },
    /// A step failed.
    #[error("a session's disk: cannot {action}: {cause}")]
    Step {
        /// What was tried.
        action: &'static str,
        /// What was said to it.
        cause: String,
    },
    /// It was in memory, and the memory is gone.
    #[error("its files were kept in memory (`workspace.backend` `tmpfs`), and are gone with it")]
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
    /// Why quotas do not work, and what gives them, where they were wanted.
    without_quota: Option<(String, String)>,
    /// Holds the folders of all sessions.
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
    /// Finds the backend by trying it on a folder in `sessions`, of which nothing stays. `id` is a host uid
    /// that no session has; its number is the trial's project. Blocks for some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// [`DiskError::Unusable`] if the configuration names a backend that does not work here.
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

    /// Makes a disk of this backend and takes it away.
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
        let removed = remove_tree(&place).map_err(step("remove what was tried"));
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

    /// What is in force.
    #[must_use]
    pub fn backend(&self) -> DiskBackend {
        self.backend
    }

    /// What sessions may take.
    #[must_use]
    pub fn config(&self) -> DiskConfig {
        self.config
    }

    /// The mount below which sessions' disks are mounted, if there is one. From [`Disks::open`] or
    /// [`Disks::take_up`] on it stays until [`Disks::leave`].
    #[must_use]
    pub fn ground(&self) -> Option<PathBuf> {
        mounts::is_mount(&self.sessions).then(|| self.sessions.clone())
    }

    /// Makes a folder for a session, under a random name that says nothing about it. Only the runner may
    /// enter it.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn new_place(&self) -> Result<PathBuf, DiskError> {
        let failed = || step("make a folder");
        let place = self.sessions.join(random_name().map_err(failed())?);
        DirBuilder::new().mode(0o700).create(&place).map_err(failed())?;
        Ok(place)
    }

    /// Makes the disk of a session in `place`, which [`Disks::new_place`] made. `id` is the
    /// session's host uid, which is its project's number, too. Blocks for some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// The step that failed; [`Disks::release`] undoes what was done until then.
    pub fn make(&self, place: &Path, id: Option<u32>) -> Result<SessionDisk, DiskError> {
        let disk = self.at(place, id, self.backend);
        DirBuilder::new().mode(0o700).create(&disk.root).map_err(step("make its folder"))?;
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

    /// Finds the disk that an earlier process made with `backend`, and mounts it if it is not mounted.
    /// Blocks for some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// [`DiskError::Lost`]; the step that failed, after which all is as before.
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

    /// Before a session's folder is removed: nothing of it is mounted any more, and its project has no
    /// limits. Whatever backend it has, and however much of it was made. Blocks.
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

    /// Before the process ends: a session's image is not mounted any more. What is in memory stays. Blocks.
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

    /// Before the process ends, and last: nothing is left of where disks were mounted, unless one is.
    pub fn leave(&self) {
        mounts::leave_ground(&self.sessions);
    }
}

impl SessionDisk {
    /// Who holds it to its limits.
    #[must_use]
    pub fn backend(&self) -> DiskBackend {
        self.backend
    }

    /// The limited folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What it takes and what is left, as the kernel counts it. `None` where the kernel does not.
    ///
    /// # Errors
    ///
    /// The system's answer.
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

    /// Whether the kernel refuses to write more, in words.
    ///
    /// # Errors
    ///
    /// The system's answer.
    pub fn full(&self) -> io::Result<Option<String>> {
        let Some((used, left)) = self.used_and_left()? else { return Ok(None) };
        let little = (used.bytes.saturating_add(left.bytes) / FULL_PART).min(FULL_BYTES);
        let what = match (left.bytes < little, left.inodes == 0) {
            (true, _) => format!("{} bytes are taken, and {} left", used.bytes, left.bytes),
            (false, true) => format!("{} files and folders are there, and no more can be made", used.inodes),
            (false, false) => return Ok(None),
        };
        Ok(Some(what))
    }

    /// Whether the kernel was seen to hold it to no more than `limits`.
    fn holds(&self, limits: DiskUse) -> Result<(), DiskError> {
        let failed = |cause: String| DiskError::Step { action: "limit a folder that was tried", cause };
        let Some((used, left)) = self.used_and_left().map_err(step("look at a folder that was tried"))?
        else {
            return Ok(());
        };
        // A file system has a few inodes of its own, and makes them by the block.
        let inodes = limits.inodes.saturating_mul(2).max(64);
        let all = DiskUse {
            bytes: used.bytes.saturating_add(left.bytes),
            inodes: used.inodes.saturating_add(left.inodes),
        };
        if all.bytes > limits.bytes || all.inodes > inodes {
            return Err(failed(format!(
                "the kernel lets it take {} bytes and {} files: limits are counted, and not held to",
                all.bytes, all.inodes
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
