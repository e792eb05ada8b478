//! The setup of pid 1 before the shell exists, the command's terminal, and the start of the shell.
//!
//! The order matters: first make this process unreadable, and set the limits last before the fork.

use std::ffi::{CString, OsStr};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use airlock_init::sys::{Program, reset_signals, spawn_sharing_directory};
use airlock_init::wire::{Rlimits, Shell, StartSpec, Step, TerminalSize};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::SigSet;
use nix::sys::stat::{Mode, umask};
use rustix::fs::{Access, access};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use rustix::thread::{SecureComputingMode, secure_computing_mode};

use crate::failure::{AtStep, Failure};

/// Makes this process unreadable for the command, resets signals and umask, and checks that it has inherited exactly
/// three descriptors.
pub(super) fn prepare(sandboxed: bool) -> Result<(), Failure> {
    prctl::set_dumpable(false).at(Step::Prepare)?;
    reset_signals();
    SigSet::empty().thread_set_mask().at(Step::Prepare)?;
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    fcntl_setfd(std::io::stdin().as_fd(), FdFlags::CLOEXEC).at(Step::Prepare)?;
    if sandboxed {
        filter_is_in_force()?;
    }

    let directory = fs::File::open("/proc/self/fd").at(Step::Descriptors)?;
    let own = directory.as_raw_fd();
    let entries = rustix::fs::Dir::new(directory).at(Step::Descriptors)?;
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

/// Checks that bubblewrap applied the system call filter. A container may have a filter too, so the mode is not enough.
/// `unshare` without flags has no effect, and only a filter refuses it. The error is that of a watched call before
/// process 1 has added the second filter.
fn filter_is_in_force() -> Result<(), Failure> {
    let mode = secure_computing_mode().at(Step::Seccomp)?;
    match (mode, unshare(CloneFlags::empty())) {
        (SecureComputingMode::Filter, Err(Errno::ENOSYS)) => Ok(()),
        (_, answer) => {
            let cause = format!("the system call filter is not active: {mode:?}, {answer:?}");
            Err(Failure::new(Step::Seccomp, cause))
        }
    }
}

/// Creates the files and directories that the shell reads, before any process inside could change them. Landlock, if active, prevents
/// later changes.
pub(super) fn make_files(spec: &StartSpec) -> Result<(), Failure> {
    for name in &spec.directories {
        let path = Path::new(OsStr::from_bytes(&spec.directory)).join(name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).at(Step::Prepare)?;
    }
    for (name, content) in &spec.files {
        let path = Path::new(OsStr::from_bytes(&spec.directory)).join(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(path);
        file.and_then(|mut file| file.write_all(content)).at(Step::Prepare)?;
    }
    Ok(())
}

pub(super) fn apply_limits(limits: &Rlimits) -> Result<(), Failure> {
    // A runner with lower limits cannot raise them.
    let set = |resource, value: u64| {
        let (_, most) = getrlimit(resource).at(Step::Limits)?;
        let value = value.min(most);
        setrlimit(resource, value, value).at(Step::Limits)
    };
    // No core dump. With 0, a host that pipes core dumps still starts its handler as root (core(5)). With a limit of 1
    // byte the kernel never dumps.
    set(Resource::RLIMIT_CORE, 1)?;
    set(Resource::RLIMIT_NOFILE, limits.nofile)?;
    if let Some(bytes) = limits.fsize {
        set(Resource::RLIMIT_FSIZE, bytes)?;
    }
    set(Resource::RLIMIT_NPROC, limits.nproc)
}

/// Starts the shell with the three given descriptors only, or with its terminal. It shares the current directory with
/// this process: a change by one applies to both.
pub(super) fn start(
    spec: &StartSpec,
    fds: Vec<OwnedFd>,
    terminal: Option<&Terminal>,
) -> Result<Pid, Failure> {
    let fds = match terminal {
        Some(terminal) => terminal.ends()?,
        None => <[OwnedFd; 3]>::try_from(fds)
            .map_err(|_| Failure::new(Step::Message, "a start needs three descriptors"))?,
    };
    umask(Mode::from_bits_truncate(spec.umask));
    std::env::set_current_dir(OsStr::from_bytes(&spec.cwd)).at(Step::Directory)?;
    let shell = find(spec.shell)?;
    let (program, words) = match spec.prefix.split_first() {
        None => (shell.as_bytes(), vec![spec.shell.name().as_bytes()]),
        Some((program, rest)) => {
            let before = std::iter::once(program).chain(rest).map(Vec::as_slice);
            (program.as_slice(), before.chain([shell.as_bytes()]).collect())
        }
    };
    let words = words.into_iter().chain(spec.args.iter().map(Vec::as_slice));
    let env = spec.env.iter().map(|(name, value)| {
        // Only here it is known where the shell is.
        let value = if name == b"SHELL" { shell.as_bytes() } else { value.as_slice() };
        [name, b"=".as_slice(), value].concat()
    });
    let program = Program {
        path: CString::new(program).at(Step::Message)?,
        words: words.map(CString::new).collect::<Result<_, _>>().at(Step::Message)?,
        env: env.map(CString::new).collect::<Result<_, _>>().at(Step::Message)?,
    };
    let fds = fds.each_ref().map(AsFd::as_fd);
    let started = spawn_sharing_directory(&program, fds, terminal.is_some());
    started.map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied if spec.prefix.is_empty() => {
            Failure::new(Step::Shell, error)
        }
        ErrorKind::NotFound | ErrorKind::PermissionDenied => {
            let prefix = String::from_utf8_lossy(program.path.to_bytes());
            Failure::new(Step::Prefix, format!("`{prefix}`: {error}"))
        }
        _ => Failure::new(Step::Fork, error),
    })
}

/// Returns the path of a shell.
fn find(shell: Shell) -> Result<&'static str, Failure> {
    place(shell).ok_or_else(|| {
        let there = Shell::ALL.into_iter().filter(|shell| place(*shell).is_some());
        let names: Vec<_> = there.map(Shell::name).collect();
        let there = if names.is_empty() { "no shell".to_owned() } else { names.join(", ") };
        Failure::new(
            Step::Shell,
            format!("{} is not installed where the command runs; installed: {there}", shell.name()),
        )
    })
}

fn place(shell: Shell) -> Option<&'static str> {
    shell.places().iter().copied().find(|path| {
        fs::metadata(path).is_ok_and(|found| found.is_file()) && access(*path, Access::EXEC_OK).is_ok()
    })
}

/// Both ends of a terminal.
///
/// A command's terminal: a pair of devices in pid 1's own devpts, so that the command's end has a name inside.
///
/// Must not become the controlling terminal of pid 1, because pid 1 would receive its signals.
pub(super) struct Terminal {
    /// The runner's end.
    controlling: OwnedFd,
    /// The command's end. Process 1 keeps it open: a command that closes all its copies may open its terminal again by
    /// name.
    command: OwnedFd,
}

impl Terminal {
    pub(super) fn make(size: TerminalSize) -> Result<Self, Failure> {
        let controlling = openpt(flags()).map_err(no_devices).at(Step::Terminal)?;
        unlockpt(&controlling).at(Step::Terminal)?;
        let command = ioctl_tiocgptpeer(&controlling, flags()).at(Step::Terminal)?;
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&controlling, size).at(Step::Terminal)?;
        Ok(Self { controlling, command })
    }

    /// Returns the command's input, output and errors.
    pub(super) fn ends(&self) -> Result<[OwnedFd; 3], Failure> {
        let end = || self.command.try_clone().at(Step::Terminal);
        Ok([end()?, end()?, end()?])
    }

    pub(super) fn controlling(&self) -> BorrowedFd<'_> {
        self.controlling.as_fd()
    }

    /// Drops the runner's end, and returns the command's.
    pub(super) fn into_command_end(self) -> OwnedFd {
        self.command
    }
}

fn flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

fn no_devices(error: rustix::io::Errno) -> String {
    format!("no terminal can be opened at `/dev/ptmx`: {error}")
}
