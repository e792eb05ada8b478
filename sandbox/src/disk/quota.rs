//! Limits by project quotas: the file system counts all files in a session's directory, and refuses writes beyond the
//! limit.
//!
//! A process in a user namespace cannot change the project of a file. No sandboxed command can therefore leave its
//! project. The project ID is the session's uid.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use airlock_init::sys::{limit_project, set_project};
use rustix::fs::statfs;
use rustix::io::Errno;

use super::backend::{DiskBackend, DiskConfig, DiskError, step};

const EXT4: i64 = 0xef53;
const XFS: i64 = 0x5846_5342;

/// The remedy for quotas, independent of the current file system.
pub(super) const REMEDY: &str = "put `state_dir` on ext4 or xfs that is mounted with `prjquota`";

/// Returns the remedy for quotas on the file system of `directory`.
pub(super) fn remedy(directory: &Path) -> String {
    let kind = statfs(directory).map_or(0, |found| found.f_type);
    match kind {
        EXT4 => "while it is not mounted, `tune2fs -O project,quota -Q prjquota DEVICE`; then mount it with \
                 `prjquota` (fstab)"
            .to_owned(),
        XFS => {
            "mount it with `prjquota` (fstab; for the root file system, rootflags=prjquota on the kernel's \
                command line)"
                .to_owned()
        }
        _ => REMEDY.to_owned(),
    }
}

/// Makes the empty directory `root` a project with the limits.
pub(super) fn begin(root: &Path, id: Option<u32>, config: &DiskConfig) -> Result<(), DiskError> {
    let project = project(root, id)?;
    let directory = File::open(root).map_err(step("open its directory"))?;
    set_project(directory.as_fd(), project).map_err(|errno| match errno {
        Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL => {
            unusable(root, "this file system does not support projects")
        }
        errno => unusable(root, &format!("its project cannot be set: {errno}")),
    })?;
    limit(root, Some(project), config)
}

/// Sets the limits of a project.
pub(super) fn limit(root: &Path, id: Option<u32>, config: &DiskConfig) -> Result<(), DiskError> {
    let project = project(root, id)?;
    let directory = File::open(root).map_err(step("open its directory"))?;
    let most = [config.bytes, config.inodes].map(Option::unwrap_or_default);
    let [bytes, inodes] = most;
    limit_project(directory.as_fd(), project, bytes, inodes).map_err(|errno| match errno {
        Errno::SRCH => unusable(root, "its file system is mounted without project quotas"),
        Errno::NOSYS | Errno::OPNOTSUPP => {
            unusable(root, "this kernel or file system does not support quotas")
        }
        Errno::PERM => unusable(root, "this process cannot set quotas, because it is not root on the host"),
        errno => unusable(root, &format!("a quota cannot be set: {errno}")),
    })
}

/// Removes the limits of a project. Does nothing without quotas.
pub(super) fn end(directory: &Path, project: u32) {
    if let Ok(directory) = File::open(directory) {
        let _ = limit_project(directory.as_fd(), project, 0, 0);
    }
}

fn project(root: &Path, id: Option<u32>) -> Result<u32, DiskError> {
    id.ok_or_else(|| unusable(root, "sessions do not have their own uids, because the runner is not root"))
}

fn unusable(root: &Path, cause: &str) -> DiskError {
    DiskError::Unusable { backend: DiskBackend::Quota, cause: cause.to_owned(), remedy: remedy(root) }
}
