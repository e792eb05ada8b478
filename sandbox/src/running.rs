//! A started sandbox, in parts that different threads can hold: its pipes, the control to end it, and the wait for its
//! end.
//!
//! Must not report the end while a process remains. Must not report a normal end if the two reports differ.

mod end;
mod peer;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use airlock_init::frame::send_frame;
use airlock_init::ledger::Ledger;
use airlock_init::wire::{self, Landlock, ToInit};
use rustix::process::{Signal, pidfd_send_signal};

use crate::cgroup::Cgroup;
use crate::launcher::Tie;
use crate::seccomp::RefusedCall;

/// A started sandbox.
#[derive(Debug)]
pub struct Running {
    /// Its pipes.
    pub streams: Streams,
    /// The control to end it.
    pub control: Control,
    /// The wait for its end. Dropping it without a wait kills the sandbox.
    pub waiter: Waiter,
    /// The time at which the start of the shell was confirmed.
    pub started_at: Instant,
    /// The active Landlock restrictions.
    pub landlock: Landlock,
}

/// The runner's ends of the pipes. All are close-on-exec and blocking. If the command has a terminal, `stdin` and
/// `stdout` are both its controlling end, and making one non-blocking makes both non-blocking.
#[derive(Debug)]
pub struct Streams {
    /// The write end of its input, if it has one.
    pub stdin: Option<OwnedFd>,
    /// Its output, which includes its errors in the original order unless they are separate. A terminal's output ends
    /// with EIO.
    pub stdout: OwnedFd,
    /// Its errors, if they are separate.
    pub stderr: Option<OwnedFd>,
}

/// Ends a sandbox. Clones refer to the same one.
#[derive(Debug, Clone)]
pub struct Control(pub(crate) Arc<Handles>);

#[derive(Debug)]
pub(crate) struct Handles {
    /// The socket to process 1. Writers take turns.
    pub(crate) socket: Mutex<UnixStream>,
    /// Process 1 of the sandbox.
    pub(crate) init: OwnedFd,
    /// bubblewrap, a child of this process.
    pub(crate) child: OwnedFd,
    pub(crate) killed: AtomicBool,
    /// The cgroup with all processes of the sandbox, including bubblewrap.
    pub(crate) cgroup: Option<Cgroup>,
}

impl Handles {
    /// Kills every process that currently exists in the sandbox.
    fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // Any error means that it has ended.
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
    }
}

impl Control {
    /// Sends SIGTERM to every process in the sandbox except process 1. Does nothing if the sandbox has ended. A process
    /// that ignores the signal continues.
    pub fn terminate(&self) {
        self.tell(&ToInit::Terminate);
    }

    /// Sends a signal to every process in the sandbox except process 1. Does nothing if the sandbox has ended.
    pub fn signal(&self, signal: wire::Signal) {
        self.tell(&ToInit::Signal(signal));
    }

    fn tell(&self, message: &ToInit) {
        let socket = self.0.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed socket means that it has ended.
        let _ = send_frame(socket.as_fd(), message, &[]);
    }

    /// Kills every process in the sandbox, from the host. Does nothing if the sandbox has ended. [`Waiter::wait`] waits
    /// for the end itself.
    pub fn kill(&self) {
        self.0.killed.store(true, Ordering::SeqCst);
        self.0.kill();
    }

    /// Returns a descriptor that becomes readable when the sandbox has ended. [`Waiter::wait`] then returns without
    /// delay.
    #[must_use]
    pub fn ended(&self) -> BorrowedFd<'_> {
        self.0.child.as_fd()
    }
}

/// The wait for a sandbox's end.
#[derive(Debug)]
pub struct Waiter {
    pub(crate) handles: Arc<Handles>,
    pub(crate) pid: i32,
    /// bubblewrap's report of the end. Without it, the kernel reports the end.
    pub(crate) status: Option<OwnedFd>,
    pub(crate) diagnostics: OwnedFd,
    pub(crate) started_at: Instant,
    pub(crate) waited: bool,
    /// The count of refused system calls. `None` outside a sandbox.
    pub(crate) ledger: Option<Ledger>,
    /// Keeps the thread that forked the sandbox alive. The sandbox ends with this thread.
    #[expect(dead_code, reason = "held for its life")]
    pub(crate) tie: Tie,
}

impl Waiter {
    /// Reports whether system calls that the filter refuses are counted.
    #[must_use]
    pub fn counts_refused_calls(&self) -> bool {
        self.ledger.as_ref().is_some_and(Ledger::counts_refusals)
    }
}

/// The end of a command. All processes of its sandbox have ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The cause.
    pub cause: Cause,
    /// The shell's last directory inside the sandbox, if it reported one. This is a claim of the command: an absolute
    /// path of at most 4,096 bytes that was not checked.
    pub cwd: Option<PathBuf>,
    /// Whether a child outlived the shell and was killed.
    pub leftovers: bool,
    /// The user CPU time, measured on the host.
    pub user: Duration,
    /// The system CPU time, measured on the host, including the creation of the sandbox.
    pub system: Duration,
    /// The peak memory. `None` if it is not counted, or if process 1 died before it could report it.
    pub peak_memory: Option<PeakMemory>,
    /// The time from the start of the shell to the end of all processes.
    pub elapsed: Duration,
    /// The system calls that the filter refused, as far as they are counted. Known for killed commands too.
    pub refused_calls: Vec<RefusedCall>,
    /// How often the limit of processes prevented a new one. 0 if the cgroup does not count them.
    pub processes_refused: u64,
}

/// The peak memory of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakMemory {
    /// In bytes.
    pub bytes: u64,
    /// The kind of measurement.
    pub source: PeakSource,
}

/// The kind of a memory measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeakSource {
    /// The whole cgroup of the sandbox, including file caches.
    Cgroup,
    /// The largest resident set of any single process.
    LargestProcess,
}

/// The cause for which a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The shell exited with this code.
    Exited(u8),
    /// A signal ended the shell.
    Signaled {
        /// The signal's number.
        signal: u8,
        /// Whether a core was dumped.
        core: bool,
    },
    /// [`Control::kill`] ended it before the shell's end was known.
    Killed,
    /// It exceeded its memory limit or the host's memory, and the kernel killed the whole sandbox.
    OomKilled,
    /// The end is unknown: a report is missing, or two reports differ.
    SandboxFailed {
        /// The part that failed, as a stable lower-case name.
        step: &'static str,
        /// The observation, in one line.
        detail: String,
    },
}
