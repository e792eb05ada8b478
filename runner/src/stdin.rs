//! The input of one job. It is written to the command's pipe or terminal in order, each byte once.
//!
//! There is one writer at a time. If a writer disconnects, the input stays open for the next. A writer that takes over
//! ends the current one. No wait outlives the job, and no thread blocks. Must not buffer: every counted byte is in the
//! pipe.

use std::{io, os::fd::OwnedFd, time::Duration};

use airlock_domain::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner};
use futures::StreamExt;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::termios::{LocalModes, SpecialCodeIndex, isatty, tcgetattr};
use tokio::{
    io::Interest,
    net::unix::pipe::Sender,
    sync::{Mutex, MutexGuard, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::exchange::{Incoming, Outgoing, failed};

/// The input of a job. Exists from the acceptance of the job to its end.
#[derive(Debug)]
pub(crate) struct Input {
    /// The time for which a writer waits for the previous one.
    turn: Duration,
    /// Locked by the active writer.
    state: Mutex<State>,
    /// The number of take-overs.
    takes: watch::Sender<u64>,
    /// Cancelled when the job has ended.
    over: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    pipe: Pipe,
    /// The bytes that were written to the pipe.
    accepted: u64,
}

#[derive(Debug, Default)]
enum Pipe {
    /// The command does not run yet.
    #[default]
    Due,
    Open(Sink),
    /// A writer has ended the input.
    Ended,
    /// No process reads the input now.
    Broken,
}

impl Input {
    pub(crate) fn new(turn: Duration) -> Self {
        Self {
            turn,
            state: Mutex::default(),
            takes: watch::Sender::default(),
            over: CancellationToken::new(),
        }
    }

    /// Sets the pipe or terminal of the command, which now runs. Needs a runtime with I/O.
    ///
    /// # Errors
    /// The error of the operating system, if the pipe cannot be polled.
    pub(crate) async fn open(&self, pipe: OwnedFd) -> io::Result<()> {
        let opened = Sink::new(pipe);
        let mut state = self.state.lock().await;
        state.pipe = Pipe::Broken;
        state.pipe = Pipe::Open(opened?);
        Ok(())
    }

    /// Ends every writer and closes the pipe, because the job has ended.
    pub(crate) async fn close(&self) {
        self.over.cancel();
        self.state.lock().await.pipe = Pipe::Broken;
    }

    /// Serves one writer: sends `Ready`, writes its chunks, and sends `Written`. Also sends `Written` if the writer
    /// cannot continue because no process reads the input. If the writer disconnects, its input is in the pipe up to
    /// `accepted`, and the input stays open. With `take_over`, an active or waiting writer is ended first. Cancelled
    /// by dropping.
    pub(crate) async fn serve(
        &self,
        incoming: Incoming,
        outgoing: &Outgoing,
        take_over: bool,
    ) -> Result<(), ExchangeFailed> {
        let mut own = *self.takes.borrow();
        if take_over {
            self.takes.send_modify(|takes| {
                *takes += 1;
                own = *takes;
            });
        }
        let mut takes = self.takes.subscribe();
        let mut begun = false;
        let serve = async {
            let turn = timeout(self.turn, self.state.lock()).await.map_err(|_| busy())?;
            Writer { state: turn }.serve(incoming, outgoing, &mut begun).await
        };
        let serve = async {
            tokio::select! {
                biased;
                () = async { drop(takes.wait_for(|takes| *takes > own).await) } => None,
                served = serve => Some(served),
            }
        };
        let served = self.over.run_until_cancelled(serve).await.unwrap_or_else(|| Some(Err(not_running())));
        // The writer that took over holds the state now.
        let Some(served) = served else { return Err(taken()) };
        if begun && matches!(&served, Err(no) if no.failure == ExchangeFailure::FailedPrecondition) {
            self.state.lock().await.send_written(outgoing).await;
        }
        served
    }
}

impl State {
    async fn send_written(&self, outgoing: &Outgoing) {
        let written =
            ExchangeFromRunner::Written { accepted: self.accepted, ended: matches!(self.pipe, Pipe::Ended) };
        // If the server has disconnected, the message has no recipient.
        let _ = outgoing.send(written).await;
    }
}

/// The active writer.
struct Writer<'a> {
    state: MutexGuard<'a, State>,
}

impl Writer<'_> {
    /// Serves the writer. Sets `begun` once `Ready` was sent.
    async fn serve(
        &mut self,
        mut incoming: Incoming,
        outgoing: &Outgoing,
        begun: &mut bool,
    ) -> Result<(), ExchangeFailed> {
        match self.state.pipe {
            Pipe::Due => return Err(not_running()),
            Pipe::Broken => return Err(closed("the command has closed its input")),
            // A writer that missed the answer to its end may repeat it.
            Pipe::Open(_) | Pipe::Ended => {}
        }
        // A failed send means that the server disconnected. The loop below then ends.
        let _ = outgoing.send(ExchangeFromRunner::Ready { offset: self.state.accepted }).await;
        *begun = true;
        while let Some(message) = incoming.next().await {
            match message {
                ExchangeToRunner::Chunk { offset, data } => self.write(offset, &data).await?,
                ExchangeToRunner::End { close } => {
                    if close && let Pipe::Open(sink) = &mut self.state.pipe {
                        sink.send_end().await;
                        self.state.pipe = Pipe::Ended;
                    }
                    self.state.send_written(outgoing).await;
                    return Ok(());
                }
                ExchangeToRunner::Order(_) => {}
            }
        }
        Ok(())
    }

    /// Writes the part of a chunk that was not written before.
    async fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), ExchangeFailed> {
        let end = self.state.accepted;
        let Some(known) = end.checked_sub(offset) else {
            let message = format!("the input has {end} bytes, but the next chunk begins at {offset}");
            return Err(failed(ExchangeFailure::OutOfRange { end }, "INPUT_GAP", message));
        };
        let mut new = usize::try_from(known).ok().and_then(|known| data.get(known..)).unwrap_or_default();
        while !new.is_empty() {
            let Pipe::Open(sink) = &mut self.state.pipe else {
                return Err(closed("the command's input was ended"));
            };
            let written = match sink.write(new).await {
                Ok(written) => written,
                Err(error) => {
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        tracing::warn!(%error, "cannot write a command's input");
                    }
                    self.state.pipe = Pipe::Broken;
                    return Err(closed("the command has closed its input"));
                }
            };
            self.state.accepted += written as u64;
            new = new.get(written..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The error for a job that does not run yet, or no longer.
pub(crate) fn not_running() -> ExchangeFailed {
    failed(ExchangeFailure::FailedPrecondition, "NOT_RUNNING", "the command does not run")
}

/// The error for an input that cannot be written.
pub(crate) fn closed(message: &str) -> ExchangeFailed {
    failed(ExchangeFailure::FailedPrecondition, "STDIN_CLOSED", message)
}

fn taken() -> ExchangeFailed {
    let message = "another writer has taken over the command's input";
    failed(ExchangeFailure::FailedPrecondition, "STDIN_TAKEN", message)
}

fn busy() -> ExchangeFailed {
    failed(ExchangeFailure::Unavailable, "STDIN_BUSY", "another writer uses the command's input")
}

/// The sink of one command's input.
///
/// The destination of a command's input: the writing end of its pipe, or the controlling end of its terminal.
///
/// Must not block: if a command does not read, only its writer waits.
#[derive(Debug)]
struct Sink {
    /// Waits for room and writes, for a pipe and for a terminal.
    end: Sender,
    /// `None` for a pipe.
    line: Option<Line>,
}

/// The state of a terminal's current input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Begun,
}

impl Sink {
    /// Creates the sink. Needs a runtime with I/O.
    fn new(end: OwnedFd) -> io::Result<Self> {
        fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        let line = isatty(&end).then_some(Line::Empty);
        Ok(Self { end: Sender::from_owned_fd_unchecked(end)?, line })
    }

    /// Writes a part of `data` as soon as there is room. Returns the number of bytes written. Cancel-safe.
    async fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let written = loop {
            let ready = self.end.ready(Interest::WRITABLE).await?;
            match self.end.try_write(data) {
                // A terminal without a reader has no room, but always reports that it is writable.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && ready.is_write_closed() => {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => break other?,
            }
        };
        if let Some(line) = &mut self.line {
            let last = data.get(..written).and_then(<[u8]>::last);
            *line = if matches!(last, Some(b'\n' | b'\r')) { Line::Empty } else { Line::Begun };
        }
        Ok(written)
    }

    /// Signals the end of the input. For a pipe, closing it suffices. For a terminal, writes its end-of-file character,
    /// if it has one. In the middle of a line, writes it twice, because the first one only ends the line.
    async fn send_end(&mut self) {
        let Some(line) = self.line else { return };
        let Ok(modes) = tcgetattr(&self.end) else { return };
        let end = modes.special_codes[SpecialCodeIndex::VEOF];
        if end == 0 {
            return;
        }
        let in_line = line == Line::Begun && modes.local_modes.contains(LocalModes::ICANON);
        for _ in 0..=usize::from(in_line) {
            if let Err(error) = self.write(&[end]).await {
                tracing::debug!(%error, "cannot write the end of a terminal's input");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
