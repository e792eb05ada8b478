//! The parameters of one launch: the command, its shape, its limits.
//!
//! Must not perform I/O.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use airlock_domain::CommandSpec;
pub use airlock_init::wire::Shell;
use airlock_init::wire::{Rlimits, TerminalSize};

use crate::mask::Mask;

/// The maximum length of a command in bytes: one argument of Linux without its terminator.
pub const MAX_COMMAND: usize = 128 * 1024 - 1;

/// The parameters of a launch that determine bubblewrap's arguments, in addition to profile, session and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Whether workspace, HOME and `/tmp` are mounted read-only. `/var/tmp` is then private.
    pub read_only: bool,
    /// The network of the sandbox.
    pub network: Network,
}

/// The network of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// The session's loopback and no other interface.
    SessionLoopback,
    /// A loopback for this command only.
    Empty,
}

/// The input of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Null,
    /// A pipe. The launch returns its other end.
    Pipe,
    /// A terminal, which is also the command's output, errors and controlling terminal. The launch returns its other
    /// end.
    Terminal(TerminalSize),
}

/// One command.
#[derive(Debug, Clone)]
pub struct LaunchSpec {
    /// The command text: at most [`MAX_COMMAND`] bytes, without NUL.
    pub command: Vec<u8>,
    /// The shell that executes it.
    pub shell: Shell,
    /// The session's shell snapshot, which the shell sources before the command. Never set for a read-only shape.
    pub snapshot: Option<Vec<u8>>,
    /// The source of a shell snapshot, if the command creates one.
    pub shell_init: Option<Vec<u8>>,
    /// The certificate authorities that programs read at [`crate::INSIDE_CERTIFICATES`], in PEM.
    pub certificates: Option<Vec<u8>>,
    /// A program (a path inside the sandbox) and its arguments, before the shell. Empty if the shell is started
    /// directly.
    pub prefix: Vec<Vec<u8>>,
    /// The directory in which it starts, an absolute path inside the sandbox.
    pub cwd: PathBuf,
    /// Its whole environment, from [`crate::env::build_env`].
    pub env: Vec<(OsString, OsString)>,
    /// The mounts' mode and the network.
    pub shape: Shape,
    /// Whether programs may load code only from directories that no command can write. Read-only shapes imply it.
    pub trusted: bool,
    /// Whether stdout and stderr use separate pipes.
    pub separate_stderr: bool,
    /// Its input.
    pub stdin: Stdin,
    /// The masks over the session's directories.
    pub masks: Vec<Mask>,
    /// The umask of the command.
    pub umask: u32,
}

impl Default for LaunchSpec {
    fn default() -> Self {
        Self::of(&CommandSpec::default())
    }
}

impl LaunchSpec {
    /// Returns the launch of a command on read-only mounts, without an environment and without masks.
    ///
    /// The sandbox does not use these fields: the variables, which are an input of [`crate::env::build_env`]; the
    /// timeouts, which the caller enforces; `inline_limit`, which applies to the result; and the network rules, which
    /// the caller's proxy applies.
    #[must_use]
    pub fn of(command: &CommandSpec) -> Self {
        let CommandSpec {
            text,
            shell,
            directory,
            env: _,
            stdin,
            pty,
            separate_stderr,
            timeout: _,
            idle_timeout: _,
            inline_limit: _,
            umask,
            network: _,
        } = command;
        Self {
            command: text.clone(),
            shell: match shell {
                airlock_domain::Shell::Bash => Shell::Bash,
                airlock_domain::Shell::Zsh => Shell::Zsh,
                airlock_domain::Shell::Pwsh => Shell::Pwsh,
            },
            snapshot: None,
            shell_init: None,
            certificates: None,
            prefix: Vec::new(),
            cwd: PathBuf::from(OsString::from_vec(directory.clone())),
            env: Vec::new(),
            shape: Shape { read_only: true, network: Network::Empty },
            trusted: false,
            separate_stderr: *separate_stderr,
            stdin: match pty.as_ref().map(|pty| pty.size) {
                Some(airlock_domain::TerminalSize { rows, cols }) => {
                    Stdin::Terminal(TerminalSize { rows, cols })
                }
                None if *stdin => Stdin::Pipe,
                None => Stdin::Null,
            },
            masks: Vec::new(),
            umask: umask.bits(),
        }
    }
}

/// The limits of one sandbox. The caller enforces the wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open descriptors per process.
    pub nofile: u64,
    /// Processes and threads in the sandbox, counted per user namespace.
    pub nproc: u64,
    /// The largest file that a process may write, in bytes. `None` means no limit.
    pub fsize: Option<u64>,
    /// Memory of the whole sandbox in bytes. Requires the memory controller.
    pub memory: Option<u64>,
    /// Swap in addition to the memory, in bytes.
    pub swap: u64,
    /// Processor time, in thousandths of one processor. Requires the cpu controller.
    pub cpu_millis: Option<u64>,
    /// The size of the private `/var/tmp` of a read-only command, in bytes of memory.
    pub var_tmp: u64,
    /// The size of `/dev/shm`, in bytes of memory.
    pub dev_shm: u64,
    /// The maximum time of a start until the shell exists.
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
