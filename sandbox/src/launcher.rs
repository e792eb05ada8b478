//! Starts sandboxes, and makes sessions' networks.
//!
//! The way of a start: pipes and arguments, the launch step on the host, then
//! pid 1 inside says that it is ready, gets the command, and says that the shell
//! runs. Nothing of the command leaves this process before pid 1 is ready, so a
//! failure until then is certainly no start.

mod building;
mod forker;
mod outside;
mod start;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use airlock_init::frame::{recv_frame, send_frame};
use airlock_init::wire::{HoldPlan, HostIds, MODE_HOLD, Report};

use crate::cgroup::{CgroupConfig, Cgroups, NotEnforced};
use crate::error::LaunchError;
use crate::net::SessionNet;
use crate::runtime::Runtime;
use crate::uid::UidIsolation;
use forker::Forker;

pub use building::shell_words;
pub(crate) use forker::Tie;

/// Options that the sandbox cannot do without.
const OPTIONS: [&str; 6] =
    ["--args", "--as-pid-1", "--disable-userns", "--json-status-fd", "--perms", "--size"];
/// Options that bubblewrap has later, and that would be used.
const BETTER: [&str; 2] = ["--overlay", "--assert-userns-disabled"];
/// How long the making of a session's network may take.
const HOLD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long bubblewrap may take to print its options or its version.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
const ANSWER_POLL: Duration = Duration::from_millis(1);

/// Where a launcher finds what it needs.
#[derive(Debug, Clone)]
pub struct Config {
    /// bubblewrap, as an absolute path.
    pub bwrap: PathBuf,
    /// A folder of the runner's own for `airlock-init` and generated files; made
    /// if absent. One launcher at a time may use it.
    pub state: PathBuf,
    /// Whose uid commands run under; [`UidIsolation::detect`] says what is
    /// possible.
    pub uid_isolation: UidIsolation,
    /// Where cgroups are made.
    pub cgroup: CgroupConfig,
}

/// Starts sandboxes. All of them are forked by one thread, which lives as long
/// as the launcher or any of its sandboxes: the kernel ties their lives to it.
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
    /// Ends and removes what an earlier process with the same state folder has
    /// left, writes the launcher's files, looks at bubblewrap, makes the
    /// launcher's cgroup, and starts the thread.
    ///
    /// # Errors
    ///
    /// bubblewrap is missing or too old; the state folder cannot be written; what
    /// was left cannot be ended; cgroups are required and are not there; no thread
    /// can be started.
    pub fn new(config: Config) -> Result<Self, LaunchError> {
        let (bwrap_version, bwrap_lacks) = look_at(&config.bwrap)?;
        let runtime = Runtime::create(&config.state)?;
        let cgroups = Cgroups::new(&config.cgroup, &config.state)?;
        let forker = Forker::start(runtime.init())?;
        let Config { bwrap, uid_isolation, .. } = config;
        let disks = None;
        Ok(Self { runtime, cgroups, forker, bwrap, bwrap_version, bwrap_lacks, uid_isolation, disks })
    }

    /// Says where sessions' disks are mounted, as [`crate::Disks::ground`] does: no
    /// command's mount namespace then holds those of other sessions.
    pub fn leave_mounts_of(&mut self, disks: Option<PathBuf>) {
        self.disks = disks;
    }

    fn disks_bytes(&self) -> Option<Vec<u8>> {
        self.disks.as_ref().map(|disks| disks.as_os_str().as_bytes().to_vec())
    }

    /// The limits that nothing holds to on this host, or only something weaker.
    #[must_use]
    pub fn limits_not_enforced(&self) -> Vec<NotEnforced> {
        self.cgroups.not_enforced()
    }

    /// The folder of the launcher's cgroup, where it has one.
    #[must_use]
    pub fn cgroup(&self) -> Option<&Path> {
        self.cgroups.folder()
    }

    /// Whose uid commands run under.
    #[must_use]
    pub fn uid_isolation(&self) -> UidIsolation {
        self.uid_isolation
    }

    /// Where bubblewrap is.
    #[must_use]
    pub fn bwrap(&self) -> &Path {
        &self.bwrap
    }

    /// Options that this bubblewrap lacks and that are not needed.
    #[must_use]
    pub fn bwrap_lacks(&self) -> &[&'static str] {
        &self.bwrap_lacks
    }

    /// The version of bubblewrap, as it says it.
    #[must_use]
    pub fn bwrap_version(&self) -> &str {
        &self.bwrap_version
    }

    /// Makes the loopback of a session whose commands run as `ids`. Blocks for
    /// some milliseconds. It lasts until the last clone is dropped and the last
    /// command in it has ended.
    ///
    /// # Errors
    ///
    /// The step that failed.
    pub fn session_net(&self, ids: Option<HostIds>) -> Result<SessionNet, LaunchError> {
        self.check_ids(ids)?;
        let child = self.forker.fork(MODE_HOLD)?;
        start::set_timeouts(&child.socket, HOLD_TIMEOUT)?;
        let plan = HoldPlan { parent: std::process::id(), ids };
        send_frame(child.socket.as_fd(), &plan, &[]).map_err(start::before_start)?;
        match recv_frame(child.socket.as_fd()).map_err(start::before_start)? {
            (Report::Ready, _) => {}
            (Report::Failed { step, cause }, _) => return Err(LaunchError::Step { step, cause }),
            _ => return Err(start::unexpected()),
        }
        // The child is not reaped before its handle is dropped, so its number
        // cannot be another process's.
        let open = |kind| {
            File::open(format!("/proc/{}/ns/{kind}", child.pid()))
                .map(OwnedFd::from)
                .map_err(|source| LaunchError::Descriptor { what: "session namespace", source })
        };
        Ok(SessionNet::new(open("user")?, open("net")?))
    }

    fn check_ids(&self, ids: Option<HostIds>) -> Result<(), LaunchError> {
        let cause = match (self.uid_isolation, ids) {
            (UidIsolation::PerSession, Some(ids)) if ids.uid != 0 && ids.gid != 0 => return Ok(()),
            (UidIsolation::None, None) => return Ok(()),
            (UidIsolation::PerSession, Some(_)) => "a session's uid and gid must not be 0",
            (UidIsolation::PerSession, None) => "the session has no uid of its own",
            (UidIsolation::None, Some(_)) => "the runner cannot change to the session's uid",
        };
        Err(LaunchError::Invalid { cause: cause.to_owned() })
    }
}

/// The version of bubblewrap, if it has all that is needed, and what it lacks
/// of the rest.
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

/// What a program prints about itself. One that does not end within [`ANSWER_WAIT`] is ended; more than
/// a pipe holds is not waited for either.
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
