//! Mounts a session's directories at the paths that bubblewrap uses, with the overlays for this command. Also mounts
//! host paths that bubblewrap could not reach.
//!
//! The mount namespace belongs to this process, so all mounts disappear when it ends. Must not access a path below a
//! session's directory by name only, because other commands of the session can rename files at any moment.

mod overlay;
mod root;
mod shared;

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use airlock_init::wire::{LaunchPlan, STAGE, Staged, Step};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode, OFlags, mkdir, open};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};

pub(crate) use shared::can_be_used;

use crate::failure::{AtStep, Failure};

/// Leaves the runner's mount namespace, and mounts a `/proc` of the outer pid namespace, in which bubblewrap looks
/// for its child. Requires the right to mount in the current user namespace.
pub(crate) fn unshare_mounts() -> Result<(), String> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|error| format!("mount namespace: {error}"))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| format!("mount propagation: {error}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|error| format!("/proc: {error}"))
}

/// Mounts everything under [`STAGE`], after [`unshare_mounts`]. Does nothing if there is nothing to mount.
pub(crate) fn stage(plan: &LaunchPlan) -> Result<(), Failure> {
    if plan.stage.is_empty() && plan.shared.is_empty() && plan.root.is_none() {
        return Ok(());
    }
    let trees = open_directories(&plan.stage).at(Step::Stage)?;
    let found = shared::find(&plan.shared)?;
    let root = plan.root.as_ref().map(root::find).transpose()?;
    leave_mount(plan.leave.as_deref()).at(Step::Stage)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", STAGE, "tmpfs", flags, Some(c"mode=0755,size=32m"))
        .map_err(|error| Failure::new(Step::Stage, format!("tmpfs: {error}")))?;
    mount_directories(&trees).at(Step::Stage)?;
    shared::mount(found)?;
    if let Some(root) = &root {
        root::put_together(root)?;
    }
    let stage =
        open(STAGE, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).at(Step::Stage)?;
    let mut covers = overlay::Covers::new(stage);
    for (tree, directory) in trees {
        overlay::lay(tree, &directory.overlays, &mut covers).at(Step::Masks)?;
    }
    Ok(())
}

/// Unmounts a mount and everything below it in this namespace. Otherwise this command would keep it alive after it is
/// unmounted elsewhere. Clones of its parts stay.
pub(crate) fn leave_mount(mount: Option<&[u8]>) -> Result<(), String> {
    let Some(mount) = mount else { return Ok(()) };
    unmount(OsStr::from_bytes(mount), UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .map_err(|error| format!("mount of sessions' disks: {error}"))
}

fn open_directories(directories: &[Staged]) -> Result<Vec<(OwnedFd, &Staged)>, String> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let mut trees = Vec::new();
    for directory in directories {
        let source = OsStr::from_bytes(&directory.source);
        let tree = open_tree(CWD, source, flags)
            .map_err(|error| format!("directory `{}`: {error}", directory.name))?;
        trees.push((tree, directory));
    }
    Ok(trees)
}

fn mount_directories(trees: &[(OwnedFd, &Staged)]) -> Result<(), String> {
    for (tree, directory) in trees {
        let target = Path::new(STAGE).join(&directory.name);
        mkdir(&target, Mode::from_raw_mode(0o755))
            .and_then(|()| {
                let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
                move_mount(tree.as_fd(), "", CWD, &target, flags)
            })
            .map_err(|error| format!("mount of `{}`: {error}", directory.name))?;
    }
    Ok(())
}
