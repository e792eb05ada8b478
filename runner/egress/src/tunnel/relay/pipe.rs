//! The pipe of a busy direction (splice(2)). It belongs to one direction, and is dropped as soon as that is quiet.

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice},
};
use tokio::{
    io::Interest,
    net::TcpStream,
    sync::{Semaphore, SemaphorePermit},
    task::coop,
    time,
};

/// The size of a pipe in bytes, if each of its slots has one page. A small pipe takes more calls: 256 KiB cost a fifth of
/// the throughput on loopback. The slots take 10 KiB of kernel memory; the pages are those of the sockets.
const SIZE: usize = 1024 * 1024;
/// The maximum number of bytes that one call moves. A slot can refer to more than a page of a socket's buffer.
const MOST: usize = 4 * SIZE;
/// The time without bytes after which a direction is quiet.
const QUIET: Duration = Duration::from_millis(200);
const FLAGS: SpliceFlags = SpliceFlags::MOVE.union(SpliceFlags::NONBLOCK);

/// Why a direction stopped using its pipe. The pipe is empty then.
pub(super) enum Moved {
    /// No bytes have arrived for a while.
    Quiet,
    /// The sender has ended the direction.
    Ended,
    /// The kernel does not move bytes between these sockets.
    Unsupported,
}

/// The pipe of one direction, and the permit for it.
pub(super) struct Pipe<'a> {
    read: OwnedFd,
    write: OwnedFd,
    _permit: SemaphorePermit<'a>,
}

impl<'a> Pipe<'a> {
    /// Creates a pipe. `None` if all permits are in use, or if the process has no descriptors left.
    pub(super) fn new(pipes: &'a Semaphore) -> Option<Self> {
        let permit = pipes.try_acquire().ok()?;
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // A user without privileges may get less, which only takes more calls.
        let _ = fcntl_setpipe_size(&write, SIZE);
        Some(Self { read, write, _permit: permit })
    }

    /// Moves bytes until the direction is quiet or has ended.
    pub(super) async fn run(
        &self,
        from: &TcpStream,
        to: &TcpStream,
        count: &impl Fn(usize) -> bool,
    ) -> io::Result<Moved> {
        loop {
            let bytes = match time::timeout(QUIET, self.fill(from)).await {
                Ok(Ok(0)) => return Ok(Moved::Ended),
                Ok(Ok(bytes)) => bytes,
                Ok(Err(error)) if is_unsupported(&error) => return Ok(Moved::Unsupported),
                Ok(Err(error)) => return Err(error),
                Err(_) => return Ok(Moved::Quiet),
            };
            within(count(bytes))?;
            self.empty(to, bytes).await?;
            coop::consume_budget().await;
        }
    }

    /// Fills the empty pipe with what has arrived.
    async fn fill(&self, from: &TcpStream) -> io::Result<usize> {
        loop {
            from.readable().await?;
            let moved =
                from.try_io(Interest::READABLE, || Ok(splice(from, None, &self.write, None, MOST, FLAGS)?));
            if !is_early(&moved) {
                return moved;
            }
        }
    }

    /// Moves all bytes of the pipe on.
    async fn empty(&self, to: &TcpStream, mut bytes: usize) -> io::Result<()> {
        while bytes > 0 {
            to.writable().await?;
            let moved =
                to.try_io(Interest::WRITABLE, || Ok(splice(&self.read, None, to, None, bytes, FLAGS)?));
            if !is_early(&moved) {
                match moved? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => bytes = bytes.saturating_sub(count),
                }
            }
        }
        Ok(())
    }
}

/// Returns whether the socket was not ready.
fn is_early(moved: &io::Result<usize>) -> bool {
    moved
        .as_ref()
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted))
}

fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];
    Errno::from_io_error(error).is_some_and(|errno| unsupported.contains(&errno))
}

/// Fails if the connection has transferred too much.
pub(super) fn within(counted: bool) -> io::Result<()> {
    if counted { Ok(()) } else { Err(io::ErrorKind::QuotaExceeded.into()) }
}
