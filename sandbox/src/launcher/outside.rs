//! Starts a command outside the sandbox: without mounts, network namespace or filters. The session's uid, the new
//! environment and the limits still apply, and no process outlives the command.
//!
//! Must be requested explicitly: a failed sandbox never leads here. Must not start a command as the runner's own user,
//! which can access the runner's state, keys and memory.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use airlock_init::frame::send_frame;
use airlock_init::wire::{HostIds, MODE_OUTSIDE, OutsidePlan, Shown};

use super::Launcher;
use super::start::ready;
use super::{before_start, set_timeouts};
use crate::cgroup::Cgroup;
use crate::error::LaunchError;
use crate::layout::WORKSPACE;
use crate::running::{Running, Waiter};
use crate::session::{Session, SessionDirectories};
use crate::spec::{LaunchSpec, Limits, Network};

impl Launcher {
    /// Starts one command outside the sandbox, in the host directory of `spec.cwd`. Blocks as [`Launcher::start`]
    /// does. The session must have its own IDs. `spec.shape` must not be read-only, and there must be no masks,
    /// because they could not be enforced.
    ///
    /// # Errors
    ///
    /// Like [`Launcher::start`].
    pub fn start_outside(
        &self,
        session: &Session,
        limits: &Limits,
        spec: &LaunchSpec,
    ) -> Result<Running, LaunchError> {
        let refuse = |cause: &str| Err(LaunchError::Invalid { cause: cause.to_owned() });
        let Some(ids) = session.ids else {
            return refuse(
                "a command outside the sandbox cannot run as the runner's own user, which can read the \
                 runner's files",
            );
        };
        if spec.shape.read_only || spec.shape.network == Network::Empty || !spec.masks.is_empty() {
            return refuse("a command outside the sandbox cannot be read-only, masked or without a network");
        }
        if spec.snapshot.is_some() || spec.shell_init.is_some() {
            return refuse("a command outside the sandbox cannot create or use a shell snapshot");
        }
        let Some(cwd) = on_host(&session.directories, &spec.cwd) else {
            return refuse("the directory is not in the workspace");
        };
        let spec = LaunchSpec { cwd, ..spec.clone() };
        let directory = command_directory(&session.directories);
        self.run(session, limits, &spec, (&directory, Vec::new()), || {
            self.prepare_outside(&session.directories, ids, limits)
        })
    }

    fn prepare_outside(
        &self,
        directories: &SessionDirectories,
        ids: HostIds,
        limits: &Limits,
    ) -> Result<Waiter, LaunchError> {
        let cgroup = self.cgroups.enter(limits)?;
        let plan = OutsidePlan {
            parent: std::process::id(),
            ids,
            shown: shown(directories),
            leave: self.disks_bytes(),
        };
        let child = self.forker.fork(MODE_OUTSIDE)?;
        set_timeouts(&child.socket, limits.start_timeout)?;
        let fds: Vec<_> = cgroup.iter().map(Cgroup::handle).collect();
        send_frame(child.socket.as_fd(), &plan, &fds).map_err(before_start)?;
        ready(child, None, cgroup, self.forker.tie())
    }
}

/// Returns the host path of the path `inside` of a sandbox.
fn on_host(directories: &SessionDirectories, inside: &Path) -> Option<PathBuf> {
    let below = inside.strip_prefix(WORKSPACE).ok()?;
    Some(directories.workspace.join(below))
}

/// Returns the mount point of the command's own tmpfs, next to the session's directories. It does not exist on the
/// disk.
fn command_directory(directories: &SessionDirectories) -> PathBuf {
    directories.root.join("run")
}

/// Returns the directory that must be mounted again so that the session's uid can reach its directories at their own
/// paths. This is the outermost parent that not every user can enter, or else the session's own directory.
fn shown(directories: &SessionDirectories) -> Shown {
    const PASSABLE: u32 = 0o001;
    let closed = |directory: &&Path| {
        fs::metadata(directory).map_or(true, |found| found.permissions().mode() & PASSABLE == 0)
    };
    let over = directories.root.ancestors().filter(closed).last().unwrap_or(&directories.root);
    let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let own = [&directories.workspace, &directories.home, &directories.tmp];
    let command = bytes(&command_directory(directories));
    Shown { over: bytes(over), directories: own.map(|directory| bytes(directory)).into(), command }
}
