//! The step on the host: from the runner's identity to the session's, then
//! bubblewrap in place of this process.
//!
//! Must not leave a descriptor open that is not listed, nor an environment.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use airlock_init::frame::recv_frame;
use airlock_init::sys::close_on_exec_from;
use airlock_init::wire::{INSIDE_INIT, LaunchPlan, MODE_PID1, Step};
use nix::sched::{CloneFlags, setns};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::thread::{SecureComputingMode, set_secure_computing_mode};

use crate::identity::{become_session, die_with_parent, own_user_namespace};
use crate::stage::stage;
use crate::{AtStep, Failure};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    close_on_exec_from(3).at(Step::Descriptors)?;
    let (plan, fds): (LaunchPlan, _) = recv_frame(std::io::stdin().as_fd()).at(Step::Message)?;
    die_with_parent(plan.parent)?;
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or_else(|| Failure::new(Step::Message, "missing descriptor"));
    let (arguments, status, filter) = (next()?, next()?, next()?);
    let namespaces = if plan.join { Some((next()?, next()?)) } else { None };

    // Where it can change ids, the runner has the right to mount, and the session
    // has none to what is above its folders. Else a user namespace gives the right.
    let mounts_as_runner = plan.ids.is_some();
    if mounts_as_runner {
        stage(&plan.stage)?;
    }
    become_session(plan.ids)?;
    filters_are_known()?;
    if let Some((user, net)) = namespaces {
        // Into the user namespace first: it gives the right to the other.
        setns(user, CloneFlags::CLONE_NEWUSER).at(Step::Join)?;
        setns(net, CloneFlags::CLONE_NEWNET).at(Step::Join)?;
    } else if !mounts_as_runner && !plan.stage.is_empty() {
        own_user_namespace(CloneFlags::empty())?;
    }
    if !mounts_as_runner {
        stage(&plan.stage)?;
    }
    die_with_parent(plan.parent)?;
    match execute(&plan.bwrap, &arguments, &status, &filter)? {}
}

/// Whether bubblewrap will be able to apply the filter. Asked for without a
/// program, the kernel says that it cannot be read, if it gets that far.
fn filters_are_known() -> Result<(), Failure> {
    match set_secure_computing_mode(SecureComputingMode::Filter) {
        Err(Errno::FAULT) => Ok(()),
        Err(error) => Err(Failure::new(Step::Seccomp, format!("system calls cannot be filtered: {error}"))),
        Ok(()) => Err(Failure::new(Step::Seccomp, "a filter without a program was taken")),
    }
}

fn execute(
    bwrap: &[u8],
    arguments: &OwnedFd,
    status: &OwnedFd,
    filter: &OwnedFd,
) -> Result<Infallible, Failure> {
    for fd in [arguments, status, filter] {
        fcntl_setfd(fd, FdFlags::empty()).at(Step::Descriptors)?;
    }
    let error = Command::new(OsStr::from_bytes(bwrap))
        .env_clear()
        .current_dir("/")
        .arg("--json-status-fd")
        .arg(status.as_raw_fd().to_string())
        .arg("--seccomp")
        .arg(filter.as_raw_fd().to_string())
        .arg("--args")
        .arg(arguments.as_raw_fd().to_string())
        .args(["--", INSIDE_INIT, MODE_PID1])
        .exec();
    Err(Failure::new(Step::Bubblewrap, error))
}
