//! Serves one server's reads of one job's output: a pull protocol in which each read is credit.
//!
//! Reads take turns, a chunk each. What a server asks for can cost it its own stream and nothing else:
//! bounded reads, bounded chunks, no wait without an end. Knows no wire type.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use airlock_proto::{
    domain::{OutputStream, PushFromRunner, PushToRunner},
    limits::{CHUNK_BYTES, READS_AT_ONCE},
};
use futures::{Stream, StreamExt};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use crate::spool::{JobSpool, Piece, SpoolError, StreamSpool, StreamState};

/// How long the end of a growing stream is held back for more, once something of it was sent.
const COALESCE: Duration = Duration::from_millis(5);

/// How often the bytes behind a gap are looked for, which are deleted while they are.
const GAP_TRIES: usize = 16;

/// Why an output stream ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PushEnd {
    /// The server closed it, or went away.
    #[error("the server closed it")]
    Closed,
    /// The output was deleted.
    #[error("the output was deleted")]
    Removed,
    /// The server does not keep to the protocol.
    #[error("the server asked for {0}")]
    Protocol(&'static str),
    /// The disk could not be read.
    #[error(transparent)]
    Spool(#[from] SpoolError),
}

/// One read of the server's.
#[derive(Debug)]
struct Read {
    id: u32,
    stream: OutputStream,
    offset: u64,
    credit: u64,
    follow: bool,
    last_sent: Option<Instant>,
    /// The bytes at `offset`, where they were read together with the gap before them.
    held: Vec<u8>,
}

/// What a read can do now.
#[derive(Debug, PartialEq, Eq)]
enum Ready {
    Now,
    /// Now, unless more comes before.
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

/// Serves until the stream ends. Cancelled by dropping.
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
    /// The read at the front has something to do.
    Serve,
    /// None has, until then or a change.
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
                    return Err(PushEnd::Protocol("two reads under one id"));
                }
                let (id, credit) = (read_id, max_bytes);
                let (last_sent, held) = (None, Vec::new());
                self.reads.push_back(Read { id, stream, offset, credit, follow, last_sent, held });
            }
        }
        Ok(())
    }

    /// Brings the next read that has something to do to the front.
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
            // The sender lives as long as the spool that this server holds.
            std::future::pending::<()>().await;
        }
    }

    /// One answer for the read at the front, which then goes to the back, or is done.
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

/// The answer that ends a read, where the stream is so far.
fn done(read: &Read, StreamState { total, complete }: StreamState) -> PushFromRunner {
    let end = complete && read.offset >= total;
    let offset = if end { total } else { read.offset };
    PushFromRunner::Done { read_id: read.id, offset, end, total }
}

const NOTHING: StreamState = StreamState { total: 0, complete: true };

/// What is next for a read, and behind a gap the bytes that follow it.
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

/// A gap, and the bytes that follow it. The gap of a stream that is written grows with each byte. Its bytes are read at
/// once, as long as they are on the disk: a reader that came back for them would be told of another gap, and of nothing
/// but gaps for as long as the command writes.
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
