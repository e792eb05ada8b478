//! What pid 1 does before the shell exists, and the start of the shell.
//!
//! Order matters: unreadable first, limits last before the fork.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use airlock_init::sys::reset_signals;
use airlock_init::wire::{REPORT_PIPE, Rlimits, StartSpec, Step};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::SigSet;
use nix::sys::stat::{Mode, umask};
use nix::unistd::mkfifo;
use rustix::fs::OFlags;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use rustix::thread::{SecureComputingMode, secure_computing_mode};

use crate::{AtStep, Failure};

/// Makes this process unreadable to the command, signals and file modes plain,
/// and makes sure that it inherited three descriptors and no more.
pub(super) fn prepare(sandboxed: bool) -> Result<(), Failure> {
    prctl::set_dumpable(false).at(Step::Prepare)?;
    reset_signals();
    SigSet::empty().thread_set_mask().at(Step::Prepare)?;
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    fcntl_setfd(std::io::stdin().as_fd(), FdFlags::CLOEXEC).at(Step::Prepare)?;
    if sandboxed {
        filter_is_in_force()?;
    }

    let folder = fs::File::open("/proc/self/fd").at(Step::Descriptors)?;
    let own = folder.as_raw_fd();
    let entries = rustix::fs::Dir::new(folder).at(Step::Descriptors)?;
    for entry in entries {
        let entry = entry.at(Step::Descriptors)?;
        let name = entry.file_name().to_string_lossy();
        let Ok(number) = name.parse::<i32>() else {
            continue;
        };
        if number > 2 && number != own {
            let cause = format!("descriptor {number} is open and not listed");
            return Err(Failure::new(Step::Descriptors, cause));
        }
    }
    Ok(())
}

/// Makes sure that bubblewrap applied the filter of system calls. A container may
/// have one of its own, so the mode alone does not say; to share nothing less than
/// before is a call that only a filter refuses.
fn filter_is_in_force() -> Result<(), Failure> {
    let mode = secure_computing_mode().at(Step::Seccomp)?;
    match (mode, unshare(CloneFlags::empty())) {
        (SecureComputingMode::Filter, Err(Errno::EPERM)) => Ok(()),
        (_, answer) => {
            let cause = format!("the filter of system calls is not in force: {mode:?}, {answer:?}");
            Err(Failure::new(Step::Seccomp, cause))
        }
    }
}

/// Makes the pipe to which the shell writes its last directory, and opens both
/// ends of it, so that neither side ever waits for the other.
pub(super) fn open_report_pipe() -> Result<OwnedFd, Failure> {
    mkfifo(REPORT_PIPE, Mode::S_IRUSR | Mode::S_IWUSR).at(Step::Prepare)?;
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(REPORT_PIPE, flags, rustix::fs::Mode::empty()).at(Step::Prepare)
}

pub(super) fn apply_limits(limits: &Rlimits) -> Result<(), Failure> {
    // A runner that has less itself cannot give more.
    let set = |resource, value: u64| {
        let (_, most) = getrlimit(resource).at(Step::Limits)?;
        let value = value.min(most);
        setrlimit(resource, value, value).at(Step::Limits)
    };
    // No dump: 0 would still start a handler of the host's, as root, where the
    // host pipes dumps to one (core(5)); 1 byte is the kernel's word for never.
    set(Resource::RLIMIT_CORE, 1)?;
    set(Resource::RLIMIT_NOFILE, limits.nofile)?;
    if let Some(bytes) = limits.fsize {
        set(Resource::RLIMIT_FSIZE, bytes)?;
    }
    set(Resource::RLIMIT_NPROC, limits.nproc)
}

/// Starts the shell with exactly the three given descriptors.
pub(super) fn start(spec: &StartSpec, fds: Vec<OwnedFd>) -> Result<Pid, Failure> {
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(fds)
        .map_err(|_| Failure::new(Step::Message, "a start needs three descriptors"))?;
    std::env::set_current_dir(OsStr::from_bytes(&spec.cwd)).at(Step::Directory)?;
    let child = Command::new(OsStr::from_bytes(&spec.program))
        .arg0(OsStr::from_bytes(&spec.arg0))
        .args(spec.args.iter().map(|word| OsStr::from_bytes(word)))
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))))
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => Failure::new(Step::Shell, error),
            _ => Failure::new(Step::Fork, error),
        })?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| Failure::new(Step::Fork, "no process id"))
}
