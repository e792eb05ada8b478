//! The launch step on the host: changes from the runner's identity to the session's, and then executes bubblewrap.
//!
//! It continues in a second process, process 1 of an outer pid namespace. When that process ends, at any moment, the
//! kernel kills everything that bubblewrap has created. Must leave no unlisted descriptor and no environment variable.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::sys::{Cloned, clone_beside, close_on_exec_from};
use airlock_init::wire::{INSIDE_INIT, LaunchPlan, MODE_PID1, Report, Step};
use nix::sched::{CloneFlags, setns};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{SecureComputingMode, set_secure_computing_mode};

use crate::failure::{AtStep, AtSystemStep, Failure};
use crate::identity::{become_session, die_with_parent, die_with_runner, own_user_namespace};
use crate::stage::{can_be_used, stage, unshare_mounts};

/// The minimum OOM score adjustment of a sandbox. If the host runs out of memory, the kernel ends the sandbox before
/// the runner.
const OOM_SCORE: i32 = 300;

/// The descriptors that come with the plan.
struct Descriptors {
    arguments: OwnedFd,
    status: OwnedFd,
    filter: OwnedFd,
    /// A session's user and network namespaces.
    namespaces: Option<(OwnedFd, OwnedFd)>,
    cgroup: Option<OwnedFd>,
}

impl Descriptors {
    fn of(plan: &LaunchPlan, fds: Vec<OwnedFd>) -> Result<Self, Failure> {
        let mut fds = fds.into_iter();
        let mut next = || fds.next().ok_or_else(|| Failure::new(Step::Message, "missing descriptor"));
        Ok(Self {
            arguments: next()?,
            status: next()?,
            filter: next()?,
            namespaces: if plan.join { Some((next()?, next()?)) } else { None },
            cgroup: if plan.cgroup { Some(next()?) } else { None },
        })
    }
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    close_on_exec_from(3).at(Step::Descriptors)?;
    let control = std::io::stdin();
    let (plan, fds): (LaunchPlan, _) = recv_frame(control.as_fd()).at(Step::Message)?;
    die_with_parent(plan.parent)?;
    let mut fds = Descriptors::of(&plan, fds)?;
    rather_end_than_the_runner().at(Step::Identity)?;
    // A runner that can change IDs may also mount and create namespaces. Its sessions cannot enter the parents of their
    // directories. Otherwise a user namespace provides the rights.
    if plan.ids.is_none() {
        become_session(None)?;
        match fds.namespaces.take() {
            Some(namespaces) => join(namespaces)?,
            None => own_user_namespace(CloneFlags::empty())?,
        }
    }
    match go_on_beside(fds.cgroup.as_ref().map(AsFd::as_fd))? {
        Side::Caller => Ok(ExitCode::SUCCESS),
        Side::New(told) => match go_on(&plan, fds, &told)? {},
    }
}

/// The two sides of [`go_on_beside`].
pub(crate) enum Side {
    /// The caller. It has reported the other process to the runner, and ends.
    Caller,
    /// Process 1 of the outer namespace, with the pipe that signals it to continue.
    New(OwnedFd),
}

/// Continues in a second process, and reports it to the runner.
pub(crate) fn go_on_beside(cgroup: Option<BorrowedFd<'_>>) -> Result<Side, Failure> {
    let control = std::io::stdin();
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC).at(Step::Processes)?;
    match clone_beside(cgroup).at(Step::Processes)? {
        Cloned::Caller(pid, pidfd) => {
            send_frame(control.as_fd(), &Report::Cloned { pid }, &[pidfd.as_fd()]).at(Step::Message)?;
            rustix::io::write(&tell, &[1]).at(Step::Message)?;
            Ok(Side::Caller)
        }
        Cloned::New => {
            drop(tell);
            Ok(Side::New(told))
        }
    }
}

/// Waits for the signal of the caller. Both processes use one socket, and the caller must write first. If the caller
/// died before that, the runner does not know this process, and it must end.
pub(crate) fn wait_for_signal(told: &OwnedFd) -> Result<(), Failure> {
    let heard = loop {
        match rustix::io::read(told, &mut [0; 1]) {
            Err(Errno::INTR) => {}
            other => break other.at(Step::Parent)?,
        }
    };
    if heard == 0 {
        return Err(Failure::new(Step::Parent, "the launch step has ended"));
    }
    Ok(())
}

/// The remaining work of process 1 of the outer namespace.
fn go_on(plan: &LaunchPlan, mut fds: Descriptors, told: &OwnedFd) -> Result<Infallible, Failure> {
    let prepared = prepare(plan, fds.namespaces.take());
    wait_for_signal(told)?;
    prepared?;
    execute(&plan.bwrap, &fds)
}

fn prepare(plan: &LaunchPlan, namespaces: Option<(OwnedFd, OwnedFd)>) -> Result<(), Failure> {
    die_with_runner()?;
    unshare_mounts()?;
    stage(plan)?;
    if plan.ids.is_some() {
        become_session(plan.ids)?;
    }
    can_be_used(&plan.shared)?;
    filters_are_known()?;
    if let Some(namespaces) = namespaces {
        join(namespaces)?;
    }
    // A change of IDs or of the user namespace clears the parent-death signal.
    die_with_runner()
}

/// Joins the user namespace first, because it gives the right to join the other.
pub(crate) fn join((user, net): (OwnedFd, OwnedFd)) -> Result<(), Failure> {
    setns(user, CloneFlags::CLONE_NEWUSER).at_system(Step::Join)?;
    setns(net, CloneFlags::CLONE_NEWNET).at_system(Step::Join)
}

pub(crate) fn rather_end_than_the_runner() -> Result<(), String> {
    const FILE: &str = "/proc/self/oom_score_adj";
    let own = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
    if own.trim().parse().is_ok_and(|own: i32| own >= OOM_SCORE) {
        return Ok(());
    }
    fs::write(FILE, OOM_SCORE.to_string()).map_err(|error| format!("{FILE}: {error}"))
}

/// Checks that bubblewrap will be able to apply the filter. Without a program, a kernel with filter support fails with
/// EFAULT.
fn filters_are_known() -> Result<(), Failure> {
    match set_secure_computing_mode(SecureComputingMode::Filter) {
        Err(Errno::FAULT) => Ok(()),
        Err(error) => Err(Failure::new(Step::Seccomp, format!("system calls cannot be filtered: {error}"))),
        Ok(()) => Err(Failure::new(Step::Seccomp, "the kernel accepted a filter without a program")),
    }
}

fn execute(bwrap: &[u8], fds: &Descriptors) -> Result<Infallible, Failure> {
    for fd in [&fds.arguments, &fds.status, &fds.filter] {
        fcntl_setfd(fd, FdFlags::empty()).at(Step::Descriptors)?;
    }
    let error = Command::new(OsStr::from_bytes(bwrap))
        .env_clear()
        .current_dir("/")
        .arg("--json-status-fd")
        .arg(fds.status.as_raw_fd().to_string())
        .arg("--seccomp")
        .arg(fds.filter.as_raw_fd().to_string())
        .arg("--args")
        .arg(fds.arguments.as_raw_fd().to_string())
        .args(["--", INSIDE_INIT, MODE_PID1])
        .exec();
    Err(error).at_system(Step::Bubblewrap)
}
