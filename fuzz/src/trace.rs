//! Runs a program and records every program that it and its children start. It does not confine the
//! program: the caller must run inside a sandbox, or must run a program that is known to be
//! harmless.
//!
//! The program starts through a gate, a shell that waits until it is traced and then executes the
//! program. Thus the first `execve` is recorded too. All processes are killed before [`run`]
//! returns. Only one thread of a process may trace.

mod clock;
mod events;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The program to run.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// The program's file.
    pub path: &'a Path,
    /// Its arguments, without `argv[0]`.
    pub args: Vec<Vec<u8>>,
    /// Its whole environment. The gate adds `PWD`.
    pub env: &'a [(OsString, OsString)],
    /// The working directory.
    pub cwd: &'a Path,
}

/// The resource limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time limit. Time spent waiting for a processor does not count.
    pub wall: Duration,
    /// How long processes may run after the program has ended, counted in the same way.
    pub linger: Duration,
    /// The maximum number of processes at the same time.
    pub processes: usize,
    /// The maximum size of a file, in blocks of 512 bytes. The output is not kept.
    pub file_blocks: u64,
    /// The address space limit of each process, in KiB.
    pub memory_kib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(2),
            linger: Duration::from_millis(200),
            processes: 64,
            file_blocks: 2048,
            memory_kib: 512 * 1024,
        }
    }
}

/// A successful `execve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The path given to the kernel; for a script, the script's path.
    pub path: Vec<u8>,
    /// The arguments, including `argv[0]`; for a script, those of its interpreter.
    pub argv: Vec<Vec<u8>>,
    /// The process.
    pub pid: i32,
    /// The parent process.
    pub parent: i32,
    /// Index of the exec that caused this one: the process's previous program, or the parent's
    /// program at the fork. `None` for the program itself.
    pub by: Option<usize>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The program exited with this code.
    Exited(i32),
    /// This signal ended the program.
    Signaled(i32),
    /// The program exceeded the time limit and was killed.
    TimedOut,
    /// The program had too many processes and was killed.
    TooManyProcesses,
}

/// The programs that a run started, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Every program started, in order. The first is the program itself.
    pub execs: Vec<Exec>,
    /// How the program itself ended, or why all processes were killed.
    pub ended: Ended,
    /// Whether processes were still running after it and were killed.
    pub leftovers: bool,
}

/// The gate. It waits for the end of its standard input, which is closed once it is traced.
const GATE: &str =
    "ulimit -f \"$1\"; ulimit -v \"$2\"; ulimit -c 0; shift 2; read -r _; exec \"$@\" </dev/null";

/// Runs the program without input and output, and records the programs that it starts.
///
/// # Errors
///
/// Returns an error if the gate cannot be started or traced, or if the kernel reports an unexpected
/// event. All processes are killed in these cases too.
pub fn run(program: &Program<'_>, limits: &Limits) -> io::Result<Trace> {
    let signals = events::ChildSignals::new()?;
    let mut gate = start_gate(program, limits)?;
    let pid = Pid::from_raw(i32::try_from(gate.id()).map_err(io::Error::other)?);
    let options = Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_EXITKILL;
    if let Err(error) = ptrace::seize(pid, options) {
        gate.kill()?;
        gate.wait()?;
        return Err(error.into());
    }
    // Opens the gate.
    drop(gate.stdin.take());
    events::follow(pid, limits, &signals)
}

fn start_gate(program: &Program<'_>, limits: &Limits) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", GATE, "sh"])
        .args([limits.file_blocks.to_string(), limits.memory_kib.to_string()])
        .arg(program.path)
        .args(program.args.iter().map(|arg| OsStr::from_bytes(arg)))
        .env_clear()
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .current_dir(program.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
