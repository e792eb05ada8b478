//! The step on the host: from the runner's identity to the session's, then
//! bubblewrap in place of this process.
//!
//! It goes on in a process of its own, pid 1 of an outer namespace of processes:
//! whenever that one ends, the kernel ends everything that bubblewrap has made by
//! then, at whatever instant. Must not leave a descriptor open that is not
//! listed, nor an environment.

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

use crate::identity::{become_session, die_with_parent, die_with_runner, own_user_namespace};
use crate::stage::{can_be_used, stage, unshare_mounts};
use crate::{AtStep, Failure};

/// How much rather the kernel ends the sandbox than the runner where the host
/// runs out of memory.
const OOM_SCORE: i32 = 300;

/// What travels with the plan.
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
    // Where it can change ids, the runner has the right to mount and to make
    // namespaces, and the session has none to what is above its folders. Else a
    // user namespace gives the right.
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
    /// It has told the runner of the other one, and ends.
    Caller,
    /// Pid 1 of the outer namespace, with the pipe on which it gets the word.
    New(OwnedFd),
}

/// Goes on in a process of its own, of which the runner is told.
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

/// Two talk on one socket, the caller first; one that did not come to it has left
/// nobody who would wait for this process.
pub(crate) fn wait_for_word(told: &OwnedFd) -> Result<(), Failure> {
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

/// What is left to do for pid 1 of the outer namespace.
fn go_on(plan: &LaunchPlan, mut fds: Descriptors, told: &OwnedFd) -> Result<Infallible, Failure> {
    let prepared = prepare(plan, fds.namespaces.take());
    wait_for_word(told)?;
    prepared?;
    execute(&plan.bwrap, &fds)
}

fn prepare(plan: &LaunchPlan, namespaces: Option<(OwnedFd, OwnedFd)>) -> Result<(), Failure> {
    die_with_runner()?;
    unshare_mounts().at(Step::Processes)?;
    stage(plan)?;
    if plan.ids.is_some() {
        become_session(plan.ids)?;
    }
    can_be_used(&plan.shared)?;
    filters_are_known()?;
    if let Some(namespaces) = namespaces {
        join(namespaces)?;
    }
    // A change of ids or of the user namespace undoes it.
    die_with_runner()
}

/// Into the user namespace first: it gives the right to the other.
fn join((user, net): (OwnedFd, OwnedFd)) -> Result<(), Failure> {
    setns(user, CloneFlags::CLONE_NEWUSER).at(Step::Join)?;
    setns(net, CloneFlags::CLONE_NEWNET).at(Step::Join)
}

pub(crate) fn rather_end_than_the_runner() -> Result<(), String> {
    const FILE: &str = "/proc/self/oom_score_adj";
    let own = fs::read_to_string(FILE).map_err(|error| format!("{FILE}: {error}"))?;
    if own.trim().parse().is_ok_and(|own: i32| own >= OOM_SCORE) {
        return Ok(());
    }
    fs::write(FILE, OOM_SCORE.to_string()).map_err(|error| format!("{FILE}: {error}"))
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
    Err(Failure::new(Step::Bubblewrap, error))
}
