//! Runs writing commands as if they were read-only. They run in Airlock's own sandbox for read-only commands, on a
//! workspace with files, links and a repository. The mounts must hold regardless of the policy: the workspace, HOME and
//! /tmp stay unchanged.
//!
//! This module makes no decision, and no part of a command runs outside the sandbox.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use airlock_sandbox::env::{EnvRequest, build_env};
use airlock_sandbox::{
    Cause, CgroupConfig, Config, HostIds, LaunchError, LaunchSpec, Launcher, Limits, Network, Profile,
    Running, Session, SessionDirectories, Shape, UidIsolation, WORKSPACE,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::snapshot::Snapshot;

/// The script that makes the files that must not change.
const TREE: &str = include_str!("../../canary/tree.sh");
/// The maximum output to read from one command, in bytes. Then its pipe is closed.
const OUTPUT: usize = 1 << 20;
/// Host uids for these sessions: 16 for each process. Linux has at most 2^22 process ids, so that the last
/// uid is below 2,075,000,000.
const FIRST_UID: u32 = 2_005_000_000;
const UIDS: u32 = 16;
/// The time limit for making the tree and for starting a sandbox.
const MAKING: Duration = Duration::from_secs(120);

/// A session with the tree, in which commands are tried.
#[derive(Debug)]
pub struct Forced {
    launcher: Launcher,
    profile: Profile,
    session: Session,
    limits: Limits,
    wall: Duration,
    before: Snapshot,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// It exited, or a signal that it caused itself ended it.
    Ended,
    /// It exceeded the time limit and was killed.
    Killed,
    /// It did not start.
    NotStarted,
}

/// The reason why no command can be tried.
#[derive(Debug, thiserror::Error)]
pub enum ForcedError {
    /// The sandbox failed.
    #[error("the sandbox does not start: {0}")]
    Sandbox(#[from] LaunchError),
    /// A file operation on the host failed.
    #[error("{0}")]
    Files(#[from] io::Error),
    /// The tree was not made.
    #[error("the tree was not made: {0}")]
    Tree(String),
}

impl Forced {
    /// Creates the session below `directory`, which must be empty. `number` distinguishes sessions that exist
    /// at the same time. `wall` is the time limit of each command.
    ///
    /// # Errors
    ///
    /// Returns an error if no sandbox starts or the files cannot be made.
    pub fn new(directory: &Path, number: u32, wall: Duration) -> Result<Self, ForcedError> {
        let launcher = Launcher::new(Config {
            bwrap: "/usr/bin/bwrap".into(),
            state: directory.join("state"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })?;
        let id = FIRST_UID + std::process::id() * UIDS + number % UIDS;
        let ids =
            (launcher.uid_isolation() == UidIsolation::PerSession).then_some(HostIds { uid: id, gid: id });
        let directories = SessionDirectories::create(directory, ids)
            .map_err(|error| ForcedError::Tree(error.to_string()))?;
        let session = Session { directories, ids, net: Some(launcher.session_net(ids)?) };
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

    /// Returns how many names are watched.
    #[must_use]
    pub fn names(&self) -> usize {
        self.before.len()
    }

    /// Runs a command as if it were read-only, and returns every change. The list is empty if the mounts
    /// hold.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    pub fn try_one(&self, command: &str) -> Result<(Tried, Vec<String>), ForcedError> {
        let tried = match self.run(command, true) {
            Ok((Cause::Killed, _)) => Tried::Killed,
            Ok(_) => Tried::Ended,
            Err(_) => Tried::NotStarted,
        };
        Ok((tried, self.before.differences(&self.look()?)))
    }

    /// Runs the command on writable mounts, as a control. This consumes the session.
    ///
    /// # Errors
    ///
    /// Returns an error if the command does not start or the files cannot be read.
    pub fn try_writable(self, command: &str) -> Result<Vec<String>, ForcedError> {
        self.run(command, false)?;
        Ok(self.before.differences(&self.look()?))
    }

    fn look(&self) -> io::Result<Snapshot> {
        let SessionDirectories { workspace, home, tmp, .. } = &self.session.directories;
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
            cwd: WORKSPACE.into(),
            // The request contains only Airlock's own variables, so that it cannot be refused.
            env: env.unwrap_or_default(),
            shape: Shape { read_only, network },
            ..LaunchSpec::default()
        };
        let running = self.launcher.start(&self.profile, &self.session, &self.limits, &spec)?;
        Ok(self.attend(running))
    }

    /// Reads the output until the command ends or its timeout expires.
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

/// Reads some bytes. Returns whether to read more.
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
