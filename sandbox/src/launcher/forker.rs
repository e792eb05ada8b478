//! The one thread that forks. The parent-death signal belongs to the thread
//! that forked, so this one lives as long as the launcher or anything it
//! started.
//!
//! Must not wait for a child: that would hold up every other start.

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

/// Starts that may wait for the thread at once; further callers block.
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
    #[expect(dead_code, reason = "held for its life: the thread ends with the last sender")]
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

/// A child that is not yet a sandbox. Dropped, it is killed and reaped.
#[derive(Debug)]
pub(super) struct Child {
    /// The control socket, its descriptor 0.
    pub(super) socket: UnixStream,
    /// What it writes to its descriptor 2.
    pub(super) diagnostics: OwnedFd,
    process: Process,
    /// The one that it has gone on from, which has ended or is about to.
    before: Option<Process>,
}

#[derive(Debug)]
struct Process {
    pid: i32,
    pidfd: Option<OwnedFd>,
}

/// The parts of a child: socket, diagnostics, number, descriptor.
pub(super) type Parts = (UnixStream, OwnedFd, i32, OwnedFd);

impl Child {
    pub(super) fn pid(&self) -> i32 {
        self.process.pid
    }

    /// The same, from where it has gone on in the process `pid`.
    pub(super) fn gone_on_in(self, pid: i32, pidfd: OwnedFd) -> Self {
        let Self { socket, diagnostics, process: before, .. } = self;
        Self { socket, diagnostics, process: Process { pid, pidfd: Some(pidfd) }, before: Some(before) }
    }

    /// Takes it apart; from then on the caller reaps it.
    pub(super) fn into_parts(self) -> Result<Parts, LaunchError> {
        let Self { socket, diagnostics, mut process, before } = self;
        drop(before);
        let pidfd = process.pidfd.take().ok_or(LaunchError::Closed)?;
        Ok((socket, diagnostics, process.pid, pidfd))
    }

    /// Ends it, and gives what it had to say.
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
        // The one who asked may have given up; then the child goes with the
        // answer.
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
            // Out of descriptors, say. Killed, it is not waited for long.
            let _ = child.kill();
            let _ = child.wait();
            Err(LaunchError::Descriptor { what: "pidfd", source: error.into() })
        }
    }
}
