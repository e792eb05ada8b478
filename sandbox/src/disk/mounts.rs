//! Mounts of sessions' disks, all of them below one mount, so that a command's mount
//! namespace leaves those of others by leaving that one.

use std::ffi::CString;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount as unmount_one,
};

use super::{DiskConfig, DiskError, step};

/// Mounts upon one another that are undone.
const STACK: usize = 16;
/// Bytes for each inode, where the configuration does not say how many there may be.
const BYTES_PER_INODE: u64 = 4096;
/// Inodes that a file system has at least.
const INODES_MIN: u64 = 64;

pub(super) const CURE: &str = "the runner must be root, with the right to mount: CAP_SYS_ADMIN; in a pod \
     securityContext.capabilities.add: [SYS_ADMIN] with hostUsers: false";

/// Whether `path` is where something is mounted.
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

/// Makes the folder of all sessions a mount, unless it is one.
pub(super) fn make_ground(sessions: &Path) -> Result<(), DiskError> {
    let failed = || step::<Errno>("make a mount for sessions' disks");
    if is_mount(sessions) {
        return Ok(());
    }
    mount_bind(sessions, sessions).map_err(failed())?;
    // First out of the group of the mount that it is on, which would show each of them a second time; then
    // a group of its own, so that whoever has a copy of a disk's mount loses it with ours.
    for kind in [MountPropagationFlags::PRIVATE, MountPropagationFlags::SHARED] {
        mount_change(sessions, kind).map_err(failed())?;
    }
    Ok(())
}

/// Undoes it, unless a disk is mounted there.
pub(super) fn leave_ground(sessions: &Path) {
    if is_mount(sessions) {
        // Refused while there is anything.
        let _ = unmount_one(sessions, UnmountFlags::NOFOLLOW);
    }
}

/// Mounts a file system in memory.
pub(super) fn mount_memory(root: &Path, config: &DiskConfig) -> Result<(), DiskError> {
    let Some(bytes) = config.bytes else {
        let cause = "`workspace.bytes` must be given".to_owned();
        return Err(DiskError::Step { action: "mount memory", cause });
    };
    let inodes = config.inodes.unwrap_or(bytes / BYTES_PER_INODE).max(INODES_MIN);
    // In whole pages, and never more than was said.
    let options = format!("mode=0700,size={},nr_inodes={inodes}", bytes / 4096 * 4096);
    let options = CString::new(options).map_err(step("mount memory"))?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    mount("tmpfs", root, "tmpfs", flags, Some(options.as_c_str())).map_err(step("mount memory"))
}

/// Unmounts whatever is mounted on `root`. Its last users have it until they let go of it.
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
