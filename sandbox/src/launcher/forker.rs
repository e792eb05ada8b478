//! The thread that forks all sandboxes. The parent-death signal is tied to the thread that forked. This thread
//! therefore lives as long as the launcher or any of its children.
//!
//! Must not wait for a child, because that would delay every other start.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use airlock_init::sys::wait_for;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::error::LaunchError;

/// The maximum number of queued starts. Further callers block.
const WAITING_STARTS: usize = 64;

#[derive(Debug)]
struct Request {
    mode: &'static str,
    socket: UnixStream,
    errors: OwnedFd,
    answer: SyncSender<Result<Process, LaunchError>>,
}

/// Keeps the thread alive.
#[derive(Debug, Clone)]
pub(crate) struct Tie {
    #[expect(dead_code, reason = "keeps the thread alive: it ends with the last sender")]
    requests: SyncSender<Request>,
}

#[derive(Debug)]
pub(super) struct Forker {
    requests: SyncSender<Request>,
}

impl Forker {
    pub(super) fn start(init: PathBuf) -> Result<Self, LaunchError> {
        let (requests, received) = sync_channel(WAITING_STARTS);
        thread::Builder::new()
            .name("airlock-launcher".to_owned())
            .spawn(move || serve(&init, &received))
            .map_err(|source| LaunchError::Descriptor { what: "launcher thread", source })?;
        Ok(Self { requests })
    }

    pub(super) fn tie(&self) -> Tie {
        Tie { requests: self.requests.clone() }
    }

    /// Executes `airlock-init` in a mode, as a child of the thread.
    pub(super) fn fork(&self, mode: &'static str) -> Result<Child, LaunchError> {
        let (ours, theirs) = UnixStream::pair()
            .map_err(|source| LaunchError::Descriptor { what: "control socket", source })?;
        let (errors_read, errors_write) = pipe_with(PipeFlags::CLOEXEC)
            .map_err(|error| LaunchError::Descriptor { what: "pipe", source: error.into() })?;
        let (answer, answered) = sync_channel(1);
        let request = Request { mode, socket: theirs, errors: errors_write, answer };
        self.requests.send(request).map_err(|_| LaunchError::Closed)?;
        let process = answered.recv().map_err(|_| LaunchError::Closed)??;
        Ok(Child { socket: ours, diagnostics: errors_read, process, before: None })
    }
}

/// A child that is not yet a sandbox. Dropping it kills and reaps it.
#[derive(Debug)]
pub(super) struct Child {
    /// The control socket, its descriptor 0.
    pub(super) socket: UnixStream,
    /// Reads its descriptor 2.
    pub(super) diagnostics: OwnedFd,
    process: Process,
    /// The previous process from which the child continued. It has ended or is about to.
    before: Option<Process>,
}

#[derive(Debug)]
struct Process {
    pid: i32,
    pidfd: Option<OwnedFd>,
}

/// The parts of a child: socket, diagnostics, pid, pidfd.
pub(super) type Parts = (UnixStream, OwnedFd, i32, OwnedFd);

impl Child {
    pub(super) fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Returns the same child after it has continued in the process `pid`.
    pub(super) fn gone_on_in(self, pid: i32, pidfd: OwnedFd) -> Self {
        let Self { socket, diagnostics, process: before, .. } = self;
        Self { socket, diagnostics, process: Process { pid, pidfd: Some(pidfd) }, before: Some(before) }
    }

    /// Returns the parts. The caller must reap the process.
    pub(super) fn into_parts(self) -> Result<Parts, LaunchError> {
        let Self { socket, diagnostics, mut process, before } = self;
        drop(before);
        let pidfd = process.pidfd.take().ok_or(LaunchError::Closed)?;
        Ok((socket, diagnostics, process.pid, pidfd))
    }

    /// Ends the child, and returns its diagnostics.
    pub(super) fn last_words(self) -> OwnedFd {
        self.diagnostics
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(pidfd) = &self.pidfd {
            let _ = pidfd_send_signal(pidfd, Signal::KILL);
            let _ = wait_for(self.pid);
        }
    }
}

fn serve(init: &Path, requests: &Receiver<Request>) {
    for request in requests {
        let Request { mode, socket, errors, answer } = request;
        // The requester may no longer wait. The child is then dropped with the answer.
        let _ = answer.send(fork(init, mode, socket, errors));
    }
}

fn fork(init: &Path, mode: &str, socket: UnixStream, errors: OwnedFd) -> Result<Process, LaunchError> {
    let mut child = Command::new(init)
        .arg(mode)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::null())
        .stderr(Stdio::from(errors))
        .spawn()
        .map_err(|source| LaunchError::Spawn { source })?;
    let pid = i32::try_from(child.id()).unwrap_or(0);
    let pidfd = Pid::from_raw(pid).ok_or(Errno::SRCH).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
    match pidfd {
        Ok(pidfd) => Ok(Process { pid, pidfd: Some(pidfd) }),
        Err(error) => {
            // For example, no descriptors are free. A killed child ends soon.
            let _ = child.kill();
            let _ = child.wait();
            Err(LaunchError::Descriptor { what: "pidfd", source: error.into() })
        }
    }
}
