//! Serves one server's reads of one job's output. The protocol is pull: each read grants credit for a number of bytes.
//!
//! Reads take turns, one chunk each. A misbehaving server affects only its own stream: reads and chunks are bounded,
//! and no wait is unbounded. Uses no wire type.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use airlock_domain::{
    OutputStream, PushFromRunner, PushToRunner,
    limits::{CHUNK_BYTES, READS_AT_ONCE},
};
use futures::{Stream, StreamExt};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use crate::spool::{JobSpool, Piece, SpoolError, StreamSpool, StreamState};

/// The time for which the last bytes of a growing stream are held back to join more, after a first chunk was sent.
const COALESCE: Duration = Duration::from_millis(5);

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
    Protocol(&'static str),
    /// The spool could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// One read of the server.
#[derive(Debug)]
struct Read {
    id: u32,
    stream: OutputStream,
    offset: u64,
    credit: u64,
    follow: bool,
    last_sent: Option<Instant>,
    /// The bytes at `offset`, if they were already read together with the gap before them.
    held: Vec<u8>,
}

/// When a read can be served.
#[derive(Debug, PartialEq, Eq)]
enum Ready {
    Now,
    /// At this time, or earlier if more output arrives.
    At(Instant),
    WhenItGrows,
}

impl Read {
    fn ready(&self, state: StreamState) -> Ready {
        let there = state.total.saturating_sub(self.offset);
        if self.credit == 0 || state.complete || !self.follow {
            return Ready::Now;
        }
        if there == 0 {
            return Ready::WhenItGrows;
        }
        let whole = there.min(self.credit) >= (CHUNK_BYTES as u64).min(self.credit);
        match self.last_sent {
            Some(sent) if !whole => Ready::At(sent + COALESCE),
            _ => Ready::Now,
        }
    }
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
        if let Err(end) = server.take(&message) {
            return end;
        }
    }
}

async fn wait_until(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

enum Next {
    /// The read at the front can be served.
    Serve,
    /// No read can be served until this time or a change.
    Wait(Option<Instant>),
}

struct Server {
    spool: Arc<JobSpool>,
    reads: VecDeque<Read>,
    stdout: watch::Receiver<StreamState>,
    stderr: Option<watch::Receiver<StreamState>>,
}

impl Server {
    fn new(spool: Arc<JobSpool>) -> Self {
        let stdout = spool.stdout.watch();
        let stderr = spool.stderr.as_ref().map(|stderr| stderr.watch());
        Self { spool, reads: VecDeque::new(), stdout, stderr }
    }

    fn take(&mut self, message: &PushToRunner) -> Result<(), PushEnd> {
        match *message {
            PushToRunner::Cancel { read_id } => self.reads.retain(|read| read.id != read_id),
            PushToRunner::Read { read_id, stream, offset, max_bytes, follow } => {
                if self.reads.len() >= READS_AT_ONCE {
                    return Err(PushEnd::Protocol("too many reads at once"));
                }
                if self.reads.iter().any(|read| read.id == read_id) {
                    return Err(PushEnd::Protocol("the read id is already in use"));
                }
                let (id, credit) = (read_id, max_bytes);
                let (last_sent, held) = (None, Vec::new());
                self.reads.push_back(Read { id, stream, offset, credit, follow, last_sent, held });
            }
        }
        Ok(())
    }

    /// Moves the next read that can be served to the front.
    fn next(&mut self, now: Instant) -> Next {
        let stdout = *self.stdout.borrow_and_update();
        let stderr = self.stderr.as_mut().map_or(NOTHING, |stderr| *stderr.borrow_and_update());
        let mut wake: Option<Instant> = None;
        for index in 0..self.reads.len() {
            let Some(read) = self.reads.get(index) else { break };
            let state = match read.stream {
                OutputStream::Stdout => stdout,
                OutputStream::Stderr => stderr,
            };
            match read.ready(state) {
                Ready::WhenItGrows => {}
                Ready::At(then) if then > now => {
                    wake = Some(wake.map_or(then, |wake| wake.min(then)));
                }
                Ready::Now | Ready::At(_) => {
                    self.reads.rotate_left(index);
                    return Next::Serve;
                }
            }
        }
        Next::Wait(wake)
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
        let Some(mut read) = self.reads.pop_front() else { return Ok(None) };
        let read_id = read.id;
        let Some(stream) = self.spool.stream(read.stream).cloned() else {
            return Ok(Some(PushFromRunner::Done { read_id, offset: 0, end: true, total: 0 }));
        };
        if read.credit == 0 {
            let state = stream.state();
            return Ok(Some(done(&read, state)));
        }
        let offset = read.offset;
        let piece = match std::mem::take(&mut read.held) {
            held if held.is_empty() => {
                let (piece, behind) = read_piece(stream, &read).await?;
                read.held = behind;
                piece
            }
            held => Piece::Data(held),
        };
        let answer = match piece {
            Piece::Data(data) => {
                let len = data.len() as u64;
                read.offset += len;
                read.credit = read.credit.saturating_sub(len);
                read.last_sent = Some(Instant::now());
                Some(PushFromRunner::Chunk { read_id, offset, data: data.into() })
            }
            Piece::Gap { to } => {
                read.offset = to;
                Some(PushFromRunner::Gap { read_id, from: offset, to })
            }
            Piece::End(state) if state.complete || !read.follow => return Ok(Some(done(&read, state))),
            Piece::End(_) => None,
        };
        self.reads.push_back(read);
        Ok(answer)
    }
}

/// Builds the answer that ends a read, with the stream's current position.
fn done(read: &Read, StreamState { total, complete }: StreamState) -> PushFromRunner {
    let end = complete && read.offset >= total;
    let offset = if end { total } else { read.offset };
    PushFromRunner::Done { read_id: read.id, offset, end, total }
}

const NOTHING: StreamState = StreamState { total: 0, complete: true };

/// Returns the next piece for a read. After a gap, also returns the bytes that follow it.
async fn read_piece(stream: Arc<StreamSpool>, read: &Read) -> Result<(Piece, Vec<u8>), SpoolError> {
    let max = usize::try_from(read.credit).unwrap_or(usize::MAX).min(CHUNK_BYTES);
    let offset = read.offset;
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
/// bytes are therefore read at once. A reader that came back for them would receive another gap, and possibly only
/// gaps for as long as the command writes.
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
