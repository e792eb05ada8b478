//! Runs a program and records every program it and its children start. It judges
//! nothing, and it confines nothing: whoever calls it is inside a sandbox already,
//! or runs what is known to be harmless.
//!
//! The program starts behind a gate, a shell that waits until it is traced and then
//! becomes the program, so that not even the first `execve` is missed. Everything is
//! killed before [`run`] returns. One thread of a process may trace.

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

/// What to run.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// The program's file.
    pub path: &'a Path,
    /// Its arguments, without the zeroth.
    pub args: Vec<Vec<u8>>,
    /// Its whole environment. The gate adds `PWD`.
    pub env: &'a [(OsString, OsString)],
    /// Where it runs.
    pub cwd: &'a Path,
}

/// What a run may use at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long it may take. Time in which it waits for a processor does not count.
    pub wall: Duration,
    /// How long processes that the program started may run after it has ended, counted in the
    /// same way.
    pub linger: Duration,
    /// How many processes there may be at a time.
    pub processes: usize,
    /// How large a file may become, in blocks of 512 bytes. Its output is not kept.
    pub file_blocks: u64,
    /// How much address space each process may have, in KiB.
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

/// One successful `execve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exec {
    /// The path as it was given to the kernel; of a script the script's.
    pub path: Vec<u8>,
    /// The arguments, with the zeroth; of a script the interpreter's.
    pub argv: Vec<Vec<u8>>,
    /// The process.
    pub pid: i32,
    /// The process that forked it.
    pub parent: i32,
    /// Index of the exec whose program did this: what the process ran before, or
    /// what its parent ran when it forked. `None` for the program itself.
    pub by: Option<usize>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It took too long and was killed.
    TimedOut,
    /// It had too many processes and was killed.
    TooManyProcesses,
}

/// What a run started, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Every program started, in order; the first is the program itself.
    pub execs: Vec<Exec>,
    /// How the program itself ended, or why everything was killed.
    pub ended: Ended,
    /// Whether something was still running after it and was killed.
    pub leftovers: bool,
}

/// Waits for the end of its standard input, which comes when it is traced.
const GATE: &str =
    "ulimit -f \"$1\"; ulimit -v \"$2\"; ulimit -c 0; shift 2; read -r _; exec \"$@\" </dev/null";

/// Runs the program with no input and no output, and records what it starts.
///
/// # Errors
///
/// Where the gate cannot be started or traced, or the kernel reports what cannot be
/// understood; everything is killed then, too.
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
    // The gate opens.
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
