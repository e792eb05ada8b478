//! The mounts of sessions' disks. All are below one mount, so that a command's mount namespace can remove the disks of
//! other sessions by unmounting that one.

use std::ffi::CString;
use std::path::Path;

use airlock_mounts::mounts_below;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount as unmount_one,
};

use super::backend::{DiskConfig, DiskError, step};

/// The maximum number of stacked mounts that are unmounted.
const STACK: usize = 16;
/// The bytes per inode if the configuration sets no limit of inodes.
const BYTES_PER_INODE: u64 = 4096;
/// The minimum number of inodes of a file system.
const INODES_MIN: u64 = 64;

pub(super) const REMEDY: &str = "the runner must be root, with the right to mount: CAP_SYS_ADMIN; in a pod \
     securityContext.capabilities.add: [SYS_ADMIN] with hostUsers: false";

/// Reports whether `path` is a mount point.
pub(super) fn is_mount(path: &Path) -> bool {
    let id = |path: &Path| {
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::MNT_ID).ok()?;
        Some(found.stx_mnt_id)
    };
    match path.parent().map(|parent| (id(path), id(parent))) {
        Some((Some(own), Some(above))) => own != above,
        _ => false,
    }
}

/// Makes the directory of all sessions a mount point, unless it is one.
pub(super) fn make_mount_root(sessions: &Path) -> Result<(), DiskError> {
    let failed = || step::<Errno>("create a mount for sessions' disks");
    if is_mount(sessions) {
        return Ok(());
    }
    mount_bind(sessions, sessions).map_err(failed())?;
    // PRIVATE first: leaving the peer group of the parent mount prevents a second copy of each disk. SHARED next: in
    // the new peer group, a copy of a disk's mount is unmounted together with the original.
    for kind in [MountPropagationFlags::PRIVATE, MountPropagationFlags::SHARED] {
        mount_change(sessions, kind).map_err(failed())?;
    }
    Ok(())
}

/// Removes that mount, unless a disk is mounted below it. Active users keep it until they release it.
pub(super) fn remove_mount_root(sessions: &Path) {
    if !is_mount(sessions) {
        return;
    }
    // The kernel refuses while a disk is mounted. It also refuses while another process briefly uses the mount, as
    // systemd does when the mount table changes.
    let refused = unmount_one(sessions, UnmountFlags::NOFOLLOW) == Err(Errno::BUSY);
    if refused && !has_mounts_inside(sessions) {
        let _ = unmount_one(sessions, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH);
    }
}

/// Reports whether anything is mounted below `sessions`, or whether this is unknown.
fn has_mounts_inside(sessions: &Path) -> bool {
    let found = sessions.canonicalize().and_then(|path| Ok((mounts_below(&path)?, path)));
    !found.is_ok_and(|(mounts, path)| mounts.iter().all(|mount| *mount == path))
}

/// Mounts a file system in memory.
pub(super) fn mount_memory(root: &Path, config: &DiskConfig) -> Result<(), DiskError> {
    let Some(bytes) = config.bytes else {
        let cause = "`workspace.bytes` must be set".to_owned();
        return Err(DiskError::Step { action: "mount memory", cause });
    };
    let inodes = config.inodes.unwrap_or(bytes / BYTES_PER_INODE).max(INODES_MIN);
    // Whole pages, and never more than the limit.
    let options = format!("mode=0700,size={},nr_inodes={inodes}", bytes / 4096 * 4096);
    let options = CString::new(options).map_err(step("mount memory"))?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", root, "tmpfs", flags, Some(options.as_c_str())).map_err(step("mount memory"))
}

/// Unmounts everything on `root`. Active users keep it until they release it.
pub(super) fn unmount(root: &Path) -> Result<(), DiskError> {
    for _ in 0..STACK {
        if !is_mount(root) {
            return Ok(());
        }
        match unmount_one(root, UnmountFlags::NOFOLLOW) {
            Err(Errno::BUSY) => unmount_one(root, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH),
            other => other,
        }
        .map_err(step("unmount it"))?;
    }
    Ok(())
}
