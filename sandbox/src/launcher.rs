//! Starts sandboxes, and creates the networks of sessions.
//!
//! A start creates pipes and arguments, and runs the launch step on the host. It waits until process 1 is ready, sends
//! the command to it, and waits until the shell runs. The command does not leave this process before process 1 is
//! ready. After an earlier failure the command has therefore definitely not started.

mod building;
mod forker;
mod outside;
mod powershell;
mod sockets;
mod start;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use airlock_init::frame::{FrameError, recv_frame, send_frame};
use airlock_init::wire::{HoldPlan, HostIds, MODE_HOLD, Report};
use serde::Serialize;

use crate::cgroup::{CgroupConfig, Cgroups, NotEnforced};
use crate::error::LaunchError;
use crate::runtime::Runtime;
use crate::session::{SessionNet, UidIsolation};
use forker::{Child, Forker};

pub use building::shell_words;
pub(crate) use forker::Tie;

/// Options of bubblewrap that the sandbox requires.
const OPTIONS: [&str; 6] =
    ["--args", "--as-pid-1", "--disable-userns", "--json-status-fd", "--perms", "--size"];
/// Options of newer versions of bubblewrap that are used if available.
const BETTER: [&str; 2] = ["--overlay", "--assert-userns-disabled"];
/// The timeout for the creation of a session's network, or of sockets in it.
const SESSION_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout for bubblewrap to print its options or its version.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const ANSWER_POLL: Duration = Duration::from_millis(1);

/// The configuration of a launcher.
#[derive(Debug, Clone)]
pub struct Config {
    /// The absolute path of bubblewrap.
    pub bwrap: PathBuf,
    /// A directory of the runner for `airlock-init` and generated files. It is created if necessary. Only one
    /// launcher at a time may use it.
    pub state: PathBuf,
    /// The uids that commands run under. [`UidIsolation::detect`] returns the possible modes.
    pub uid_isolation: UidIsolation,
    /// The configuration of cgroups.
    pub cgroup: CgroupConfig,
}

/// Starts sandboxes. One thread forks all of them. It lives as long as the launcher or any of its sandboxes, because
/// the kernel ends a sandbox with the thread that forked it.
#[derive(Debug)]
pub struct Launcher {
    runtime: Runtime,
    cgroups: Cgroups,
    forker: Forker,
    bwrap: PathBuf,
    bwrap_version: String,
    bwrap_lacks: Vec<&'static str>,
    uid_isolation: UidIsolation,
    disks: Option<PathBuf>,
}

impl Launcher {
    /// Creates a launcher. First ends the processes and removes the cgroups that an earlier process with the same state
    /// directory left. Then writes the launcher's files, checks bubblewrap, creates the launcher's cgroup, and starts
    /// the thread.
    ///
    /// # Errors
    ///
    /// * bubblewrap is missing or too old.
    /// * The state directory cannot be written.
    /// * The leftovers of an earlier process cannot be ended.
    /// * Required cgroups are missing.
    /// * No thread can be started.
    pub fn new(config: Config) -> Result<Self, LaunchError> {
        let (bwrap_version, bwrap_lacks) = look_at(&config.bwrap)?;
        let runtime = Runtime::create(&config.state)?;
        let cgroups = Cgroups::new(&config.cgroup, &config.state)?;
        let forker = Forker::start(runtime.init())?;
        let Config { bwrap, uid_isolation, .. } = config;
        let disks = None;
        Ok(Self { runtime, cgroups, forker, bwrap, bwrap_version, bwrap_lacks, uid_isolation, disks })
    }

    /// Sets the mount below which sessions' disks are mounted ([`crate::Disks::mount_root`]). A command's mount
    /// namespace then does not keep the disks of other sessions mounted.
    pub fn leave_mounts_of(&mut self, disks: Option<PathBuf>) {
        self.disks = disks;
    }

    fn disks_bytes(&self) -> Option<Vec<u8>> {
        self.disks.as_ref().map(|disks| disks.as_os_str().as_bytes().to_vec())
    }

    /// Returns the limits that this host does not enforce, or enforces by weaker means.
    #[must_use]
    pub fn limits_not_enforced(&self) -> Vec<NotEnforced> {
        self.cgroups.not_enforced()
    }

    /// Returns the directory of the launcher's cgroup, if it has one.
    #[must_use]
    pub fn cgroup(&self) -> Option<&Path> {
        self.cgroups.directory()
    }

    /// Returns the uids that commands run under.
    #[must_use]
    pub fn uid_isolation(&self) -> UidIsolation {
        self.uid_isolation
    }

    /// Returns the path of bubblewrap.
    #[must_use]
    pub fn bwrap(&self) -> &Path {
        &self.bwrap
    }

    /// Returns the optional options that this bubblewrap lacks.
    #[must_use]
    pub fn bwrap_lacks(&self) -> &[&'static str] {
        &self.bwrap_lacks
    }

    /// Returns the version of bubblewrap as it prints it.
    #[must_use]
    pub fn bwrap_version(&self) -> &str {
        &self.bwrap_version
    }

    /// Creates the loopback of a session. `ids` are the host IDs of its commands. Blocks for some milliseconds. The
    /// loopback exists until the last clone is dropped and the last command in it has ended.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn session_net(&self, ids: Option<HostIds>) -> Result<SessionNet, LaunchError> {
        self.check_ids(ids)?;
        let plan = HoldPlan { parent: std::process::id(), ids };
        let (child, _) = self.ask(MODE_HOLD, &plan, &[])?;
        // The child is not reaped before its handle is dropped, so its pid cannot refer to another process.
        let open = |kind| {
            File::open(format!("/proc/{}/ns/{kind}", child.pid()))
                .map(OwnedFd::from)
                .map_err(|source| LaunchError::Descriptor { what: "session namespace", source })
        };
        Ok(SessionNet::new(open("user")?, open("net")?))
    }

    /// Lets `airlock-init` prepare something for a session. Returns its process, which waits or has ended, and the
    /// descriptors that it sent.
    fn ask(
        &self,
        mode: &'static str,
        plan: &impl Serialize,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(Child, Vec<OwnedFd>), LaunchError> {
        let child = self.forker.fork(mode)?;
        set_timeouts(&child.socket, SESSION_TIMEOUT)?;
        send_frame(child.socket.as_fd(), plan, fds).map_err(before_start)?;
        match recv_frame(child.socket.as_fd()).map_err(before_start)? {
            (Report::Ready, fds) => Ok((child, fds)),
            (Report::Failed { step, fault, cause }, _) => Err(LaunchError::Step { step, fault, cause }),
            _ => Err(unexpected()),
        }
    }

    fn check_ids(&self, ids: Option<HostIds>) -> Result<(), LaunchError> {
        let cause = match (self.uid_isolation, ids) {
            (UidIsolation::PerSession, Some(ids)) if ids.uid != 0 && ids.gid != 0 => return Ok(()),
            (UidIsolation::None, None) => return Ok(()),
            (UidIsolation::PerSession, Some(_)) => "a session's uid and gid must not be 0",
            (UidIsolation::PerSession, None) => "the session does not have its own uid",
            (UidIsolation::None, Some(_)) => "the runner cannot change to the session's uid",
        };
        Err(LaunchError::Invalid { cause: cause.to_owned() })
    }
}

/// Checks that bubblewrap has all required options. Returns its version and the optional options that it lacks.
fn look_at(bwrap: &Path) -> Result<(String, Vec<&'static str>), LaunchError> {
    let ask = |option| {
        answer(Command::new(bwrap).arg(option).env_clear())
            .map_err(|source| LaunchError::BubblewrapMissing { path: bwrap.to_owned(), source })
    };
    let help = ask("--help")?;
    let knows = |option: &str| help.split_whitespace().any(|word| word == option);
    for option in OPTIONS {
        if !knows(option) {
            return Err(LaunchError::BubblewrapTooOld { path: bwrap.to_owned(), option });
        }
    }
    let lacks = BETTER.into_iter().filter(|option| !knows(option)).collect();
    Ok((ask("--version")?.trim().to_owned(), lacks))
}

/// Returns the output of a program. A program that does not end within [`ANSWER_WAIT`] is killed. A command that blocks
/// because its output fills the pipe is also ended.
pub(crate) fn answer(command: &mut Command) -> io::Result<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let deadline = Instant::now() + ANSWER_WAIT;
    while child.try_wait()?.is_none() {
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        thread::sleep(ANSWER_POLL);
    }
    Ok(String::from_utf8_lossy(&child.wait_with_output()?.stdout).into_owned())
}

/// Sets the timeout of each read and each write.
fn set_timeouts(socket: &UnixStream, limit: Duration) -> Result<(), LaunchError> {
    socket
        .set_read_timeout(Some(limit))
        .and_then(|()| socket.set_write_timeout(Some(limit)))
        .map_err(|source| LaunchError::Descriptor { what: "socket time-out", source })
}

/// Maps a failed exchange before the order to start: the command has not run.
fn before_start(error: FrameError) -> LaunchError {
    match error {
        FrameError::TimedOut => LaunchError::TimedOut,
        source => LaunchError::Conversation { source },
    }
}

/// Returns the error for an answer that does not fit.
fn unexpected() -> LaunchError {
    LaunchError::Conversation { source: FrameError::Unexpected }
}
