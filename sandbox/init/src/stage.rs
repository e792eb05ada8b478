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

use airlock_init::wire::{Fault, LaunchPlan, STAGE, Staged, Step};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{CWD, Mode, OFlags, mkdir, open};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};

pub(crate) use shared::can_be_used;

use crate::failure::{AtStep, AtSystemStep, Failure, SystemError};

/// Leaves the runner's mount namespace, and mounts a `/proc` of the outer pid namespace, in which bubblewrap looks
/// for its child. Requires the right to mount in the current user namespace.
pub(crate) fn unshare_mounts() -> Result<(), Failure> {
    let failed = |cause: String| Failure::new(Step::Processes, cause);
    unshare(CloneFlags::CLONE_NEWNS)
        .map_err(|error| failed(format!("mount namespace: {error}")).because(Fault::MountNamespace))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| failed(format!("mount propagation: {error}")))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None)
        .map_err(|error| failed(format!("/proc: {error}")).because(Fault::Proc))
}

/// Mounts everything under [`STAGE`], after [`unshare_mounts`]. Does nothing if there is nothing to mount.
pub(crate) fn stage(plan: &LaunchPlan) -> Result<(), Failure> {
    if plan.stage.is_empty() && plan.shared.is_empty() && plan.root.is_none() {
        return Ok(());
    }
    let trees = open_directories(&plan.stage)?;
    let found = shared::find(&plan.shared)?;
    let root = plan.root.as_ref().map(root::find).transpose()?;
    leave_mount(plan.leave.as_deref())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", STAGE, "tmpfs", flags, Some(c"mode=0755,size=32m"))
        .map_err(|errno| stage_failed("tmpfs", errno))?;
    mount_directories(&trees)?;
    shared::mount(found)?;
    if let Some(root) = &root {
        root::put_together(root)?;
    }
    let stage = open(STAGE, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .at_system(Step::Stage)?;
    let mut covers = overlay::Covers::new(stage);
    for (tree, directory) in trees {
        overlay::lay(tree, &directory.overlays, &mut covers).at(Step::Masks)?;
    }
    Ok(())
}

/// Unmounts a mount and everything below it in this namespace. Otherwise this command would keep it alive after it is
/// unmounted elsewhere. Clones of its parts stay.
pub(crate) fn leave_mount(mount: Option<&[u8]>) -> Result<(), Failure> {
    let Some(mount) = mount else { return Ok(()) };
    unmount(OsStr::from_bytes(mount), UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .map_err(|errno| stage_failed("mount of sessions' disks", errno))
}

fn open_directories(directories: &[Staged]) -> Result<Vec<(OwnedFd, &Staged)>, Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let mut trees = Vec::new();
    for directory in directories {
        let source = OsStr::from_bytes(&directory.source);
        let tree = open_tree(CWD, source, flags)
            .map_err(|errno| stage_failed(&format!("directory `{}`", directory.name), errno))?;
        trees.push((tree, directory));
    }
    Ok(trees)
}

fn mount_directories(trees: &[(OwnedFd, &Staged)]) -> Result<(), Failure> {
    for (tree, directory) in trees {
        let target = Path::new(STAGE).join(&directory.name);
        mkdir(&target, Mode::from_raw_mode(0o755))
            .and_then(|()| {
                let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
                move_mount(tree.as_fd(), "", CWD, &target, flags)
            })
            .map_err(|errno| stage_failed(&format!("mount of `{}`", directory.name), errno))?;
    }
    Ok(())
}

/// Returns the failure of a step of the stage, with its remedy's reason.
pub(crate) fn stage_failed(what: &str, errno: Errno) -> Failure {
    Failure::new(Step::Stage, format!("{what}: {errno}")).because(errno.fault())
}
