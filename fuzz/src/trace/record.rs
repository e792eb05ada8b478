//! The limits and the records of a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The gate. It waits for the end of its standard input, which is closed once it is traced.
pub(super) const GATE: &str =
    "ulimit -f \"$1\"; ulimit -v \"$2\"; ulimit -c 0; shift 2; read -r _; exec \"$@\" </dev/null";

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
