//! A command outside the sandbox. It has the session's uid and `no_new_privs`. Its own pid namespace and cgroup
//! ensure that no process outlives it. It has none of the sandbox's root, networks, masks or filters.
//!
//! Its mount namespace only adds a matching `/proc`, the session's directories if its uid could not reach them, and the
//! script with the command. Must not run as uid 0 or as the runner's own uid. Must leave no unlisted descriptor.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use airlock_init::frame::recv_frame;
use airlock_init::sys::close_on_exec_from;
use airlock_init::wire::{COMMAND_DIRECTORY_SIZE, HostIds, MODE_OUTSIDE_PID1, OutsidePlan, Shown, Step};
use rustix::fs::{CWD, Mode, mkdir};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};
use rustix::process::setsid;

use crate::failure::{AtStep, Failure};
use crate::identity::{become_session, die_with_parent, die_with_runner};
use crate::launch::{Side, go_on_beside, rather_end_than_the_runner, wait_for_signal};
use crate::stage::{leave_mount, stage_failed, unshare_mounts};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    close_on_exec_from(3).at(Step::Descriptors)?;
    let (plan, fds): (OutsidePlan, _) = recv_frame(std::io::stdin().as_fd()).at(Step::Message)?;
    die_with_parent(plan.parent)?;
    rather_end_than_the_runner().at(Step::Identity)?;
    match go_on_beside(fds.first().map(AsFd::as_fd))? {
        Side::Caller => Ok(ExitCode::SUCCESS),
        Side::New(told) => match go_on(&plan, &told)? {},
    }
}

fn go_on(plan: &OutsidePlan, told: &OwnedFd) -> Result<Infallible, Failure> {
    let prepared = prepare(plan);
    wait_for_signal(told)?;
    prepared?;
    let error = Command::new("/proc/self/exe").arg(MODE_OUTSIDE_PID1).env_clear().current_dir("/").exec();
    Err(Failure::new(Step::Prepare, error))
}

fn prepare(plan: &OutsidePlan) -> Result<(), Failure> {
    die_with_runner()?;
    // Otherwise the command would have the terminal from which the runner was started.
    setsid().at(Step::Processes)?;
    unshare_mounts()?;
    show(&plan.shown, plan.leave.as_deref())?;
    make_command_directory(&plan.shown, plan.ids)?;
    become_session(Some(plan.ids))?;
    // A change of IDs clears the parent-death signal.
    die_with_runner()
}

/// Shows the session's directories at their own paths. Mounts a tmpfs over a parent that the session's uid cannot
/// enter, and the directories into it. All other entries of that parent are hidden. Unmounts `leave`.
fn show(shown: &Shown, leave: Option<&[u8]>) -> Result<(), Failure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let mut trees = Vec::new();
    for directory in &shown.directories {
        let path = Path::new(OsStr::from_bytes(directory));
        let tree = open_tree(CWD, path, flags).map_err(|errno| stage_failed("session directory", errno))?;
        trees.push((tree, path));
    }
    leave_mount(leave)?;
    let over = Path::new(OsStr::from_bytes(&shown.over));
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", over, "tmpfs", flags, Some(c"mode=0755,size=64k"))
        .map_err(|errno| stage_failed("tmpfs", errno))?;
    for (tree, path) in trees {
        make_directories(over, path)?;
        move_mount(tree.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
            .map_err(|errno| stage_failed("mount of a session directory", errno))?;
    }
    Ok(())
}

/// Creates the missing directories between `over`, which contains only the session's directories, and `path`.
fn make_directories(over: &Path, path: &Path) -> Result<(), Failure> {
    let below = path
        .strip_prefix(over)
        .map_err(|_| Failure::new(Step::Stage, "a session directory has an unexpected parent"))?;
    let mut at = over.to_owned();
    for part in below.components() {
        at.push(part);
        match mkdir(&at, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(stage_failed("parent of a session directory", errno)),
        }
    }
    Ok(())
}

/// Mounts a tmpfs for the command. It disappears with the command's mounts, and is never on a disk.
fn make_command_directory(shown: &Shown, ids: HostIds) -> Result<(), Failure> {
    let path = Path::new(OsStr::from_bytes(&shown.command));
    make_directories(Path::new(OsStr::from_bytes(&shown.over)), path)?;
    let HostIds { uid, gid } = ids;
    let options = format!("mode=0700,uid={uid},gid={gid},size={COMMAND_DIRECTORY_SIZE}");
    let options = CString::new(options).at(Step::Stage)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", path, "tmpfs", flags, Some(options.as_c_str()))
        .map_err(|errno| stage_failed("tmpfs for the command", errno))
}
