//! Serves one server's reads of one job's output. The protocol is pull: each read grants credit for a number of bytes.
//!
//! `airlock_runner_lifecycle::output::Reads` keeps the reads and their credit; this is the loop around it. A
//! misbehaving server affects only its own stream: reads and chunks are bounded, and no wait is unbounded. Uses no wire
//! type.

use std::sync::Arc;

use airlock_domain::{PushFromRunner, PushToRunner};
use airlock_runner_lifecycle::output::{Found, Need, Next, ReadError, Reads};
use futures::{Stream, StreamExt};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use crate::spool::{JobSpool, Piece, SpoolError, StreamSpool, StreamState};

/// The number of attempts to read the bytes after a gap while the writer deletes segments.
const GAP_TRIES: usize = 16;

/// The reason why an output stream ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushEnd {
    /// The server closed the stream or disconnected.
    #[error("the server closed it")]
    Closed,
    /// The output was deleted.
    #[error("the output was deleted")]
    Removed,
    /// The server violated the protocol.
    #[error("the server asked for {0}")]
    Protocol(#[from] ReadError),
    /// The spool could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// Serves reads until the stream ends. Cancelled by dropping.
pub(crate) async fn serve(
    spool: Arc<JobSpool>,
    mut incoming: impl Stream<Item = PushToRunner> + Unpin,
    outgoing: mpsc::Sender<PushFromRunner>,
) -> PushEnd {
    let mut server = Server::new(Arc::clone(&spool));
    loop {
        let next = server.next(Instant::now());
        let message = match next {
            Next::Serve => tokio::select! {
                biased;
                () = spool.removed.cancelled() => return PushEnd::Removed,
                message = incoming.next() => message,
                permit = outgoing.reserve() => {
                    let Ok(permit) = permit else { return PushEnd::Closed };
                    match server.step().await {
                        // The read can have found that files are missing, which would look like a gap.
                        _ if spool.removed.is_cancelled() => return PushEnd::Removed,
                        Ok(Some(answer)) => permit.send(answer),
                        Ok(None) => {}
                        Err(error) => return error.into(),
                    }
                    continue;
                }
            },
            Next::Wait(until) => tokio::select! {
                () = spool.removed.cancelled() => return PushEnd::Removed,
                message = incoming.next() => message,
                () = outgoing.closed() => return PushEnd::Closed,
                () = server.changed() => continue,
                () = wait_until(until) => continue,
            },
        };
        let Some(message) = message else { return PushEnd::Closed };
        if let Err(error) = server.reads.take(&message) {
            return error.into();
        }
    }
}

async fn wait_until(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

struct Server {
    spool: Arc<JobSpool>,
    reads: Reads<Instant>,
    stdout: watch::Receiver<StreamState>,
    stderr: Option<watch::Receiver<StreamState>>,
}

impl Server {
    fn new(spool: Arc<JobSpool>) -> Self {
        let stdout = spool.stdout.watch();
        let stderr = spool.stderr.as_ref().map(|stderr| stderr.watch());
        Self { spool, reads: Reads::default(), stdout, stderr }
    }

    /// Moves the next read that can be served to the front.
    fn next(&mut self, now: Instant) -> Next<Instant> {
        let stdout = *self.stdout.borrow_and_update();
        let stderr = self.stderr.as_mut().map_or(NOTHING, |stderr| *stderr.borrow_and_update());
        self.reads.next(now, stdout, stderr)
    }

    async fn changed(&mut self) {
        let stderr = async {
            match &mut self.stderr {
                Some(stderr) => stderr.changed().await.is_ok(),
                None => false,
            }
        };
        let changed = tokio::select! {
            changed = self.stdout.changed() => changed.is_ok(),
            true = stderr => true,
        };
        if !changed {
            // Not reached while this server holds the spool: the spool owns the sender.
            std::future::pending::<()>().await;
        }
    }

    /// Produces one answer for the read at the front. The read then moves to the back, or is done.
    async fn step(&mut self) -> Result<Option<PushFromRunner>, SpoolError> {
        let Some((stream, need)) = self.reads.front() else { return Ok(None) };
        let found = match (self.spool.stream(stream).cloned(), need) {
            (None, _) => Found::NoStream,
            (Some(stream), Need::State) => Found::State(stream.state()),
            (Some(_), Need::Nothing) => Found::Before,
            (Some(stream), Need::Piece { offset, max }) => {
                let (piece, behind) = read_piece(stream, offset, max).await?;
                Found::Piece(piece, behind)
            }
        };
        Ok(self.reads.answer(found, Instant::now()))
    }
}

const NOTHING: StreamState = StreamState { total: 0, complete: true };

/// Returns the piece at `offset`. After a gap, also returns the bytes that follow it.
async fn read_piece(
    stream: Arc<StreamSpool>,
    offset: u64,
    max: usize,
) -> Result<(Piece, Vec<u8>), SpoolError> {
    let piece = move || match stream.read(offset, max)? {
        Piece::Gap { to } => behind(&stream, to, max),
        piece => Ok((piece, Vec::new())),
    };
    tokio::task::spawn_blocking(piece).await.unwrap_or_else(|panicked| {
        let source = std::io::Error::other(panicked);
        Err(SpoolError::Io { action: "read kept output", source })
    })
}

/// Returns a gap together with the bytes that follow it. While a stream is written, its gap grows with each byte. The
/// bytes are therefore read at once. A later read of them would return another gap, and possibly only gaps for as long
/// as the command writes.
fn behind(stream: &StreamSpool, mut to: u64, max: usize) -> Result<(Piece, Vec<u8>), SpoolError> {
    for _ in 0..GAP_TRIES {
        let data = stream.still_there(to, max)?;
        if !data.is_empty() {
            return Ok((Piece::Gap { to }, data));
        }
        match stream.read(to, max)? {
            Piece::Data(data) => return Ok((Piece::Gap { to }, data)),
            Piece::Gap { to: further } => to = further,
            Piece::End(_) => break,
        }
    }
    Ok((Piece::Gap { to }, Vec::new()))
}

#[cfg(test)]
mod tests;
