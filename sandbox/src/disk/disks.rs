//! Creates, mounts and removes the disks of a runner's sessions.
//!
//! Must not report a backend as working without a trial.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use airlock_mounts::remove_tree;

use super::backend::{DiskBackend, DiskConfig, DiskError, step};
use super::count::DiskUse;
use super::session::SessionDisk;
use super::{image, mounts, quota};
use crate::runtime::random_name;

/// The limited directory, in the directory of a session.
pub(super) const DISK: &str = "disk";
/// The limits of a trial, unless the configuration has lower ones.
const TRIAL: DiskUse = DiskUse { bytes: 16 << 20, inodes: 256 };

/// The disks of a runner's sessions.
#[derive(Debug, Clone)]
pub struct Disks {
    config: DiskConfig,
    backend: DiskBackend,
    /// The reason why quotas do not work, and the remedy, if quotas were wanted.
    pub(super) without_quota: Option<(String, String)>,
    /// The directory of all sessions.
    sessions: PathBuf,
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
                    mounts::make_mount_root(sessions)?;
                }
            }
            (Err(DiskError::Unusable { cause, remedy, .. }), None) => {
                disks.without_quota = Some((cause, remedy));
            }
            (Err(error), None) => disks.without_quota = Some((error.to_string(), quota::REMEDY.to_owned())),
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
        let mount_root = if backend.mounts() { mounts::make_mount_root(&self.sessions) } else { Ok(()) };
        let tried = mount_root.and_then(|()| trial.make(&place, id)).and_then(|disk| disk.holds(limits));
        let released = trial.release(&place, id);
        let removed = remove_tree(&place).map_err(step("remove the test directory"));
        trial.leave();
        tried.and(released).and(removed).map_err(|error| match error {
            DiskError::Step { action, cause } => DiskError::Unusable {
                backend,
                cause: format!("cannot {action}: {cause}"),
                remedy: self.remedy(backend),
            },
            other => other,
        })
    }

    fn remedy(&self, backend: DiskBackend) -> String {
        match backend {
            DiskBackend::Quota => quota::remedy(&self.sessions),
            DiskBackend::Loop => image::REMEDY.to_owned(),
            DiskBackend::Tmpfs => mounts::REMEDY.to_owned(),
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
    /// [`Disks::reopen`] until [`Disks::leave`].
    #[must_use]
    pub fn mount_root(&self) -> Option<PathBuf> {
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
    pub fn reopen(
        &self,
        place: &Path,
        id: Option<u32>,
        backend: DiskBackend,
    ) -> Result<SessionDisk, DiskError> {
        let disk = self.at(place, id, backend);
        match backend {
            DiskBackend::Quota if self.config.has_limits() => quota::limit(&disk.root, id, &self.config)?,
            DiskBackend::Loop if !mounts::is_mount(&disk.root) => {
                mounts::make_mount_root(&self.sessions)?;
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
    pub fn unmount(&self, disk: &SessionDisk) -> Result<(), DiskError> {
        match disk.backend {
            DiskBackend::Loop => mounts::unmount(&disk.root),
            DiskBackend::Quota | DiskBackend::Tmpfs | DiskBackend::Watch => Ok(()),
        }
    }

    /// Removes the mount below which disks were mounted, unless one is still mounted. The last step before the
    /// process ends.
    pub fn leave(&self) {
        mounts::remove_mount_root(&self.sessions);
    }
}
