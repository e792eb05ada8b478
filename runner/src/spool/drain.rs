//! Copies a command's output from its pipe to its spool, at full speed, on a separate thread.
//!
//! No reader, link or server can delay it. It ends when every writer has closed the pipe or terminal. It also ends when
//! the sandbox has ended and the pipe is empty. The job must end even if the command passed a descriptor to another
//! process.

use std::{
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    event::{EventfdFlags, PollFd, PollFlags, eventfd, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use super::stream::{SpoolError, StreamWriter};
use crate::secrets::Redactor;

/// The number of bytes read from the pipe at once.
const BUFFER: usize = 128 << 10;
/// The maximum number of bytes read from the pipe after its sandbox has ended. A pipe holds at most this many bytes.
const REST: usize = 1 << 20;

/// Signals the drains that no process may still write.
#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<OwnedFd>);

impl Stop {
    pub(crate) fn new() -> Result<Self, SpoolError> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| SpoolError::io("create an event")(errno.into()))?;
        Ok(Self(Arc::new(fd)))
    }

    pub(crate) fn signal(&self) {
        // Fails only after 2^64 signals.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// The drain of one stream.
#[derive(Debug)]
pub(crate) struct Drain {
    pub(crate) pipe: OwnedFd,
    pub(crate) writer: StreamWriter,
    pub(crate) stop: Stop,
    /// Replaces secrets, if the profile names any.
    pub(crate) redactor: Option<Redactor>,
}

impl Drain {
    /// Runs to the end. Calls `failed` once, at the first byte that cannot be stored. Later bytes are read and
    /// discarded, so that the command does not block while it is being ended.
    pub(crate) fn run(mut self, failed: impl FnOnce(SpoolError)) {
        let keep =
            SpoolSink { writer: &mut self.writer, redactor: self.redactor.as_mut(), clean: Vec::new() };
        PipeReader { pipe: &self.pipe, stop: &self.stop }.run(keep, failed);
    }
}

/// The source of the bytes.
struct PipeReader<'a> {
    pipe: &'a OwnedFd,
    stop: &'a Stop,
}

/// The destination of the bytes.
struct SpoolSink<'a> {
    writer: &'a mut StreamWriter,
    redactor: Option<&'a mut Redactor>,
    clean: Vec<u8>,
}

impl SpoolSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SpoolError> {
        let Some(redactor) = &mut self.redactor else { return self.writer.write(bytes) };
        self.clean.clear();
        redactor.push(bytes, &mut self.clean);
        self.writer.write(&self.clean)
    }

    fn finish(&mut self) -> Result<(), SpoolError> {
        let Some(redactor) = &mut self.redactor else { return Ok(()) };
        self.clean.clear();
        redactor.finish(&mut self.clean);
        self.writer.write(&self.clean)
    }
}

impl PipeReader<'_> {
    fn run(&self, mut keep: SpoolSink<'_>, failed: impl FnOnce(SpoolError)) {
        let mut failed = Some(failed);
        self.take(|bytes| {
            if let Some(tell) = failed.take() {
                match keep.write(bytes) {
                    Ok(()) => failed = Some(tell),
                    Err(error) => tell(error),
                }
            }
        });
        if let Some(tell) = failed
            && let Err(error) = keep.finish()
        {
            tell(error);
        }
    }

    /// Passes all bytes to `give`, to the end.
    fn take(&self, mut give: impl FnMut(&[u8])) {
        let mut buffer = vec![0; BUFFER];
        let mut rest = None;
        loop {
            if rest.is_none() && self.wait() {
                rest = Some(REST);
                if set_nonblocking(self.pipe).is_err() {
                    return;
                }
            }
            let got = match rustix::io::read(self.pipe, &mut buffer) {
                Ok(0) => return,
                Ok(got) => got,
                Err(Errno::INTR) => continue,
                // A terminal is non-blocking, because its input must not block.
                Err(Errno::AGAIN) if rest.is_none() => continue,
                Err(_) => return,
            };
            give(buffer.get(..got).unwrap_or_default());
            if let Some(left) = &mut rest {
                *left = left.saturating_sub(got);
                if *left == 0 {
                    return;
                }
            }
        }
    }

    /// Waits for bytes or their end. Returns true if stopped.
    fn wait(&self) -> bool {
        let mut fds = [
            PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.stop.0.as_fd(), PollFlags::IN),
        ];
        while poll(&mut fds, None) == Err(Errno::INTR) {}
        let [_, stop] = &fds;
        stop.revents().contains(PollFlags::IN)
    }
}

fn set_nonblocking(pipe: &OwnedFd) -> Result<(), Errno> {
    fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)
}
