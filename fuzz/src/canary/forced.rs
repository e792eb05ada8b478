//! Commands that write, run all the same as if they were read-only: in Airlock's own sandbox for a
//! read-only command, by its library, on a workspace with files, links and a repository. Whatever the
//! policy would say of them, the mounts hold: workspace, HOME and /tmp are as they were.
//!
//! Nothing here decides, and nothing of a command runs outside the sandbox.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use airlock_sandbox::env::{EnvRequest, build_env};
use airlock_sandbox::{
    Cause, CgroupConfig, Config, Folders, HostIds, LaunchError, LaunchSpec, Launcher, Limits, Network,
    Profile, Running, Session, Shape, Shell, Stdin, UidIsolation, WORKSPACE,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::snapshot::Snapshot;

/// Makes the files that must not change.
const TREE: &str = include_str!("../../canary/tree.sh");
/// Output that is read of one command, in bytes; then its pipe is closed.
const OUTPUT: usize = 1 << 20;
/// Host uids of these sessions: some for each process, one after another.
/// Linux has at most 2^22 process numbers: the last is below 2,075,000,000.
const FIRST_UID: u32 = 2_005_000_000;
const UIDS: u32 = 16;
/// How long the making of the tree, and the start of a sandbox, may take.
const MAKING: Duration = Duration::from_secs(120);

/// A session with the tree in it, which commands are tried on.
#[derive(Debug)]
pub struct Forced {
    launcher: Launcher,
    profile: Profile,
    session: Session,
    limits: Limits,
    wall: Duration,
    before: Snapshot,
}

/// How a command that was tried ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// By itself.
    Ended,
    /// It took longer than it may and was killed.
    Killed,
    /// It was never started.
    NotStarted,
}

/// Why nothing can be tried.
#[derive(Debug, thiserror::Error)]
pub enum ForcedError {
    /// The sandbox.
    #[error("the sandbox does not start: {0}")]
    Sandbox(#[from] LaunchError),
    /// Files of the host.
    #[error("{0}")]
    Files(#[from] io::Error),
    /// What was to be tried on is not there.
    #[error("the tree was not made: {0}")]
    Tree(String),
}

impl Forced {
    /// Makes the session below `folder`, which must be empty. `number` tells those apart that work at one
    /// time; each command may take `wall`.
    ///
    /// # Errors
    ///
    /// Where no sandbox starts or the files cannot be made.
    pub fn new(folder: &Path, number: u32, wall: Duration) -> Result<Self, ForcedError> {
        let launcher = Launcher::new(Config {
            bwrap: "/usr/bin/bwrap".into(),
            state: folder.join("state"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })?;
        let id = FIRST_UID + std::process::id() * UIDS + number % UIDS;
        let ids =
            (launcher.uid_isolation() == UidIsolation::PerSession).then_some(HostIds { uid: id, gid: id });
        let folders = Folders::create(folder, ids).map_err(|error| ForcedError::Tree(error.to_string()))?;
        let session = Session { folders, ids, net: Some(launcher.session_net(ids)?) };
        let limits = Limits { nproc: 256, fsize: Some(64 << 20), start_timeout: MAKING, ..Limits::default() };
        let (profile, before) = (Profile::minimal(), Snapshot::default());
        let mut forced = Self { launcher, profile, session, limits, wall: MAKING, before };
        let (cause, said) = forced.run(TREE, false)?;
        if cause != Cause::Exited(0) {
            return Err(ForcedError::Tree(format!("{cause:?}: {}", String::from_utf8_lossy(&said).trim())));
        }
        forced.before = forced.look()?;
        forced.wall = wall;
        Ok(forced)
    }

    /// How many names are watched.
    #[must_use]
    pub fn names(&self) -> usize {
        self.before.len()
    }

    /// Runs a command as if it were read-only, and says what is not as it was: nothing, if the mounts hold.
    ///
    /// # Errors
    ///
    /// Where the files cannot be looked at.
    pub fn try_one(&self, command: &str) -> Result<(Tried, Vec<String>), ForcedError> {
        let tried = match self.run(command, true) {
            Ok((Cause::Killed, _)) => Tried::Killed,
            Ok(_) => Tried::Ended,
            Err(_) => Tried::NotStarted,
        };
        Ok((tried, self.before.differences(&self.look()?)))
    }

    /// The control: the same command on writable mounts. Nothing is tried after it.
    ///
    /// # Errors
    ///
    /// Where it does not start, or the files cannot be looked at.
    pub fn try_writable(self, command: &str) -> Result<Vec<String>, ForcedError> {
        self.run(command, false)?;
        Ok(self.before.differences(&self.look()?))
    }

    fn look(&self) -> io::Result<Snapshot> {
        let Folders { workspace, home, tmp, .. } = &self.session.folders;
        Snapshot::take(&[workspace, home, tmp], true)
    }

    fn run(&self, command: &str, read_only: bool) -> Result<(Cause, Vec<u8>), LaunchError> {
        let network = if read_only { Network::Empty } else { Network::SessionLoopback };
        let env = build_env(&EnvRequest {
            profile: &self.profile,
            session_id: "canary",
            passed: &[],
            session: &[],
            request: &[],
            traceparent: None,
            read_only,
            unsandboxed: false,
        });
        let spec = LaunchSpec {
            command: command.as_bytes().to_vec(),
            shell: Shell::Bash,
            snapshot: None,
            shell_init: None,
            prefix: Vec::new(),
            cwd: WORKSPACE.into(),
            // Nothing is asked for beyond Airlock's own variables, so nothing can be refused.
            env: env.unwrap_or_default(),
            shape: Shape { read_only, network },
            separate_stderr: false,
            stdin: Stdin::Null,
            masks: Vec::new(),
        };
        let running = self.launcher.start(&self.profile, &self.session, &self.limits, &spec)?;
        Ok(self.attend(running))
    }

    /// Reads what it writes until it ends or its time is over.
    fn attend(&self, running: Running) -> (Cause, Vec<u8>) {
        let Running { streams, control, waiter, .. } = running;
        let deadline = Instant::now() + self.wall;
        let (mut said, mut pipe) = (Vec::new(), Some(File::from(streams.stdout)));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                control.kill();
                break;
            }
            let ended = PollFd::new(control.ended(), PollFlags::POLLIN);
            let output = pipe.as_ref().map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN));
            let mut fds: Vec<PollFd<'_>> = std::iter::once(ended).chain(output).collect();
            let wait = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            if poll(&mut fds, wait).is_err() {
                continue;
            }
            let has_ended = fds.first().and_then(PollFd::any) == Some(true);
            let has_output = fds.get(1).and_then(PollFd::any) == Some(true);
            drop(fds);
            if has_output {
                pipe = pipe.filter(|pipe| read_some(pipe, &mut said));
            } else if has_ended {
                break;
            }
        }
        (waiter.wait().cause, said)
    }
}

/// Whether there may be more that is wanted.
fn read_some(mut pipe: &File, said: &mut Vec<u8>) -> bool {
    let mut some = [0; 16 << 10];
    match pipe.read(&mut some) {
        Ok(0) | Err(_) => false,
        Ok(got) => {
            said.extend_from_slice(some.get(..got).unwrap_or_default());
            said.len() < OUTPUT
        }
    }
}
