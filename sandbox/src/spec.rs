//! What is asked of one launch: the command, its shape, its limits.
//!
//! Must not do I/O.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

pub use airlock_init::wire::Shell;
use airlock_init::wire::{Rlimits, TerminalSize};

use crate::error::LaunchError;
use crate::mask::{self, Mask};

/// The longest command, in bytes: one argument word of Linux, less its end.
pub const MAX_COMMAND: usize = 128 * 1024 - 1;

/// The most bytes of names and values that can be passed.
const MAX_ENVIRONMENT: usize = 512 << 10;

/// The part of a launch that decides bubblewrap's arguments, beside profile,
/// session and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Workspace, HOME and /tmp are mounted read-only; /var/tmp is private.
    pub read_only: bool,
    /// The network inside.
    pub network: Network,
}

/// The network inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The session's loopback and no other interface.
    SessionLoopback,
    /// A loopback of the command's own.
    Empty,
}

/// What a command has as its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe; the launch returns its other end.
    Pipe,
    /// A terminal of its own, which is its output and its errors too, and its
    /// controlling terminal; the launch returns its other end.
    Terminal(TerminalSize),
}

/// One command.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// The command text, at most [`MAX_COMMAND`] bytes, without NUL.
    pub command: Vec<u8>,
    /// The shell that reads it.
    pub shell: Shell,
    /// The session's shell snapshot, which bash sources before the command; never where
    /// the shape is read-only.
    pub snapshot: Option<Vec<u8>>,
    /// What a shell snapshot is made of, where the command is the one that makes it.
    pub shell_init: Option<Vec<u8>>,
    /// A program, as a path inside, and its words, in front of the shell; empty for none.
    pub prefix: Vec<Vec<u8>>,
    /// The directory it starts in, an absolute path inside.
    pub cwd: PathBuf,
    /// Its whole environment, as [`crate::env::build_env`] makes it.
    pub env: Vec<(OsString, OsString)>,
    /// Read-only or not, and the network.
    pub shape: Shape,
    /// Two pipes instead of one for stdout and stderr.
    pub separate_stderr: bool,
    /// Its input.
    pub stdin: Stdin,
    /// What is laid over the session's folders.
    pub masks: Vec<Mask>,
}

impl LaunchSpec {
    /// Refuses what could not be started as it is written.
    pub(crate) fn check(&self) -> Result<(), LaunchError> {
        let refuse = |cause: &str| Err(LaunchError::Invalid { cause: cause.to_owned() });
        if self.command.len() > MAX_COMMAND {
            return Err(LaunchError::CommandTooLong { bytes: self.command.len() });
        }
        if self.command.contains(&0) {
            return refuse("the command contains a NUL byte");
        }
        if self.prefix.iter().any(|word| word.contains(&0)) {
            return refuse("the prefix contains a NUL byte");
        }
        if self.snapshot.is_some() && (self.shape.read_only || self.shell != Shell::Bash) {
            return refuse("only a writable command of bash gets a shell snapshot");
        }
        if self.separate_stderr && matches!(self.stdin, Stdin::Terminal(_)) {
            return refuse("a terminal has one stream for output and errors");
        }
        if !self.cwd.is_absolute() || self.cwd.as_os_str().as_bytes().contains(&0) {
            return refuse("the directory is not an absolute path");
        }
        let bad = |(name, value): &(OsString, OsString)| {
            let name = name.as_bytes();
            name.is_empty()
                || name.iter().any(|byte| matches!(byte, 0 | b'='))
                || value.as_bytes().contains(&0)
        };
        if self.env.iter().any(bad) {
            return refuse("the environment holds a name or value that cannot be passed");
        }
        let sizes = self.env.iter().map(|(name, value)| name.len() + value.len());
        if sizes.clone().any(|size| size >= MAX_COMMAND) || sizes.sum::<usize>() > MAX_ENVIRONMENT {
            return refuse("the environment is too large");
        }
        mask::check(&self.masks).map_err(|cause| LaunchError::Invalid { cause })
    }
}

/// Limits of one sandbox. Wall time is the caller's to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open descriptors of a process.
    pub nofile: u64,
    /// Processes and threads inside, counted by user namespace.
    pub nproc: u64,
    /// Largest file a process may write, in bytes; `None` sets no limit.
    pub fsize: Option<u64>,
    /// Memory of the whole sandbox, in bytes, where the memory controller is ours.
    pub memory: Option<u64>,
    /// Swap beside it, in bytes.
    pub swap: u64,
    /// Processor time, in thousandths of one processor, where the controller is
    /// ours.
    pub cpu_millis: Option<u64>,
    /// Size of the private /var/tmp of a read-only command, in bytes of memory.
    pub var_tmp: u64,
    /// Size of /dev/shm, in bytes of memory.
    pub dev_shm: u64,
    /// How long a start may take until the shell exists.
    pub start_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nofile: 4096,
            nproc: 1024,
            fsize: None,
            memory: None,
            swap: 0,
            cpu_millis: None,
            var_tmp: 256 << 20,
            dev_shm: 64 << 20,
            start_timeout: Duration::from_secs(10),
        }
    }
}

impl Limits {
    pub(crate) fn rlimits(&self) -> Rlimits {
        Rlimits { nofile: self.nofile, nproc: self.nproc, fsize: self.fsize }
    }
}
