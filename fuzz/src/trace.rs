//! Runs a program and records every program that it and its children start. It does not confine the
//! program: the caller must run inside a sandbox, or must run a program that is known to be
//! harmless.
//!
//! The program starts through a gate, a shell that waits until it is traced and then executes the
//! program. Thus the first `execve` is recorded too. All processes are killed before [`run`]
//! returns. Only one thread of a process may trace.

mod clock;
mod events;
mod record;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use record::GATE;
pub use record::{Ended, Exec, Limits, Trace};

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
