//! The driver's side of a worker: starts its sandbox, sends it commands, and starts a new one if a
//! command ended it.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::sandbox::{self, RunMode};
use super::worker;
use crate::trace::{Ended, Trace};

/// The time limit for a worker's answer, in milliseconds. The worker's own limit is far shorter,
/// even on a busy host.
const LONGEST: u16 = 60_000;
/// How many workers may end in succession before the run fails.
const MOST_LOST: usize = 5;
const PLAIN: RunMode = RunMode { read_only: false, snapshot: false };

pub(super) struct Worker {
    program: PathBuf,
    root: PathBuf,
    running: Running,
}

struct Running {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Worker {
    pub(super) fn start(program: &Path, root: &Path) -> io::Result<Self> {
        let (program, root) = (program.to_owned(), root.to_owned());
        let mut worker = Self { running: Running::start(&program, &root)?, program, root };
        let trace = worker.run(b"alpha hello", PLAIN)?;
        let hello =
            trace.execs.last().is_some_and(|exec| exec.argv == [b"alpha".to_vec(), b"hello".to_vec()]);
        if hello {
            Ok(worker)
        } else {
            Err(io::Error::other(format!("the worker saw no program start: {trace:?}")))
        }
    }

    /// Returns the programs that the command started, or an empty trace if it ended the worker.
    pub(super) fn run(&mut self, command: &[u8], mode: RunMode) -> io::Result<Trace> {
        for _ in 0..MOST_LOST {
            match self.running.ask(command, mode) {
                Ok(Some(answer)) => return worker::decode(&answer),
                Ok(None) | Err(_) => {
                    self.running.end();
                    self.running = Running::start(&self.program, &self.root)?;
                    // If the new worker runs a harmless command, the previous command ended the old
                    // one.
                    if self.running.ask(b"alpha", PLAIN)?.is_some() {
                        return Ok(Trace { execs: Vec::new(), ended: Ended::TimedOut, leftovers: true });
                    }
                }
            }
        }
        Err(io::Error::other("one worker after the other ends"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.running.end();
    }
}

impl Running {
    fn start(program: &Path, root: &Path) -> io::Result<Self> {
        let mut child = sandbox::worker(program, root)?.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("`bwrap` cannot be started: {error}; install bubblewrap"))
        })?;
        let ends = child.stdin.take().zip(child.stdout.take());
        let (input, output) = ends.ok_or_else(|| io::Error::other("the worker has no pipes"))?;
        Ok(Self { child, input, output })
    }

    fn ask(&mut self, command: &[u8], mode: RunMode) -> io::Result<Option<Vec<u8>>> {
        worker::write_frame(&mut self.input, &worker::order(command, mode)?)?;
        self.input.flush()?;
        let mut fds = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::from(LONGEST))? == 0 {
            return Ok(None);
        }
        worker::read_frame(&mut self.output)
    }

    fn end(&mut self) {
        // The child may have ended already. Its sandbox ends with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
