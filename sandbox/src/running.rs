//! A started sandbox, in parts that different threads can hold: its pipes, the
//! means to end it, and the wait for its end.
//!
//! Must not say that it ended while anything of it is left, nor that it ended
//! well when the two reports differ.

mod end;

pub(crate) use end::read_rest;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use airlock_init::frame::send_frame;
use airlock_init::wire::{self, Landlock, ToInit};
use rustix::process::{Signal, pidfd_send_signal};

use crate::cgroup::Cgroup;
use crate::launcher::Tie;

/// A started sandbox.
#[derive(Debug)]
pub struct Running {
    /// Its pipes.
    pub streams: Streams,
    /// The means to end it.
    pub control: Control,
    /// The wait for its end. Dropped without a wait, it kills the sandbox.
    pub waiter: Waiter,
    /// When the shell was known to run.
    pub started_at: Instant,
    /// What of Landlock is around it.
    pub landlock: Landlock,
}

/// The runner's ends of the pipes, all close-on-exec and blocking. Where the
/// command has a terminal, `stdin` and `stdout` are both the controlling end of it:
/// what makes one of them non-blocking makes both so.
#[derive(Debug)]
pub struct Streams {
    /// The write end of its input, where it has one.
    pub stdin: Option<OwnedFd>,
    /// Its output, with its errors in true order unless they are separate. A
    /// terminal's ends with EIO.
    pub stdout: OwnedFd,
    /// Its errors, where they are separate.
    pub stderr: Option<OwnedFd>,
}

/// The means to end a sandbox. Clones refer to the same one.
#[derive(Debug, Clone)]
pub struct Control(pub(crate) Arc<Handles>);

#[derive(Debug)]
pub(crate) struct Handles {
    /// To pid 1. Writers take turns.
    pub(crate) socket: Mutex<UnixStream>,
    /// Pid 1 of the sandbox.
    pub(crate) init: OwnedFd,
    /// bubblewrap, our child.
    pub(crate) child: OwnedFd,
    pub(crate) killed: AtomicBool,
    /// What everything of the sandbox is in, bubblewrap too.
    pub(crate) cgroup: Option<Cgroup>,
}

impl Handles {
    /// Kills every process of the sandbox that there is now.
    fn kill(&self) {
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // Both answers but success mean that it has ended.
        let _ = pidfd_send_signal(&self.init, Signal::KILL);
    }
}

impl Control {
    /// Sends SIGTERM to every process inside but pid 1. Does nothing when the
    /// sandbox has ended; what ignores the signal goes on.
    pub fn terminate(&self) {
        self.tell(&ToInit::Terminate);
    }

    /// Sends a signal to every process inside but pid 1. Does nothing when the
    /// sandbox has ended.
    pub fn signal(&self, signal: wire::Signal) {
        self.tell(&ToInit::Signal(signal));
    }

    fn tell(&self, message: &ToInit) {
        let socket = self.0.socket.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed socket means that it has ended.
        let _ = send_frame(socket.as_fd(), message, &[]);
    }

    /// Kills every process inside, from outside. Does nothing when the sandbox
    /// has ended. The end itself is what [`Waiter::wait`] waits for.
    pub fn kill(&self) {
        self.0.killed.store(true, Ordering::SeqCst);
        self.0.kill();
    }

    /// A descriptor that polls readable once the sandbox has ended; then
    /// [`Waiter::wait`] returns without delay.
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
    /// What bubblewrap says of the end; without one it is the kernel that says it.
    pub(crate) status: Option<OwnedFd>,
    pub(crate) diagnostics: OwnedFd,
    pub(crate) started_at: Instant,
    pub(crate) waited: bool,
    /// Keeps the thread alive that forked the sandbox: with it, it would end.
    #[expect(dead_code, reason = "held for its life")]
    pub(crate) tie: Tie,
}

/// How a command ended. Nothing of its sandbox is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Why.
    pub cause: Cause,
    /// The shell's last directory inside, if it said one. It is the command's
    /// claim: absolute, at most 4,096 bytes, and nothing more is known of it.
    pub cwd: Option<PathBuf>,
    /// A child outlived the shell and was killed.
    pub leftovers: bool,
    /// User CPU time, as the host saw it.
    pub user: Duration,
    /// System CPU time, as the host saw it, with that of making the sandbox.
    pub system: Duration,
    /// The most memory; `None` where it is not counted, or pid 1 did not live to
    /// report it.
    pub peak_memory: Option<PeakMemory>,
    /// From the start of the shell to the end of everything.
    pub elapsed: Duration,
}

/// The most memory that a command had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakMemory {
    /// In bytes.
    pub bytes: u64,
    /// What was counted.
    pub source: PeakSource,
}

/// What is counted as memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeakSource {
    /// Everything in the sandbox's cgroup at once, caches of files included.
    Cgroup,
    /// The largest resident set of any one process.
    LargestProcess,
}

/// Why a command ended.
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
    /// It needed more memory than its limit, or than the host had, and the kernel
    /// ended all of it.
    OomKilled,
    /// How it ended is not known: a report is missing, or two differ.
    SandboxFailed {
        /// The part that failed, as a stable lower-case name.
        step: &'static str,
        /// In one line, what was seen.
        detail: String,
    },
}
