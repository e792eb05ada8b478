//! The input of one job: what came for it, in order and once, on its way into the command's pipe or terminal.
//!
//! One writer at a time; a cut one leaves the input open for the next, and one that takes over ends the one
//! before it. Nothing waits longer than the job lives, and no thread waits at all. Must not hold bytes back: what
//! is counted is in the pipe.

mod sink;

use std::{io, os::fd::OwnedFd, time::Duration};

use airlock_proto::domain::{ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner};
use futures::StreamExt;
use tokio::{
    sync::{Mutex, MutexGuard, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use crate::exchange::{Incoming, Outgoing, failed};

use sink::Sink;

/// The input of a job. Lives from the job's acceptance to its end.
#[derive(Debug)]
pub(crate) struct Input {
    /// How long a writer waits for the one before it.
    turn: Duration,
    /// Held by the writer whose turn it is.
    state: Mutex<State>,
    /// How often it was taken over.
    takes: watch::Sender<u64>,
    /// The job has ended.
    over: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    pipe: Pipe,
    /// Bytes that are in the pipe, or were read from it.
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
    /// Nobody reads it any more.
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

    /// The command runs, and reads from the other end of this pipe or terminal. Needs a runtime with I/O.
    ///
    /// # Errors
    /// The system's, if the pipe cannot be waited for.
    pub(crate) async fn open(&self, pipe: OwnedFd) -> io::Result<()> {
        let opened = Sink::new(pipe);
        let mut state = self.state.lock().await;
        state.pipe = Pipe::Broken;
        state.pipe = Pipe::Open(opened?);
        Ok(())
    }

    /// The job has ended: ends whoever writes, and closes the pipe.
    pub(crate) async fn close(&self) {
        self.over.cancel();
        self.state.lock().await.pipe = Pipe::Broken;
    }

    /// Serves one writer to its end: `Ready`, its chunks, `Written`; the last also where it goes no further
    /// because nobody reads. If the writer is cut, what it sent is in the pipe up to `accepted`, and the
    /// input stays open. With `take_over` a writer that is there, or waits, is ended first. Cancelled by
    /// dropping.
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
        // Whoever took over has the state now.
        let Some(served) = served else { return Err(taken()) };
        if begun && matches!(&served, Err(no) if no.failure == ExchangeFailure::FailedPrecondition) {
            self.state.lock().await.say_written(outgoing).await;
        }
        served
    }
}

impl State {
    async fn say_written(&self, outgoing: &Outgoing) {
        let written =
            ExchangeFromRunner::Written { accepted: self.accepted, ended: matches!(self.pipe, Pipe::Ended) };
        // Without the server nobody wants to know.
        let _ = outgoing.send(written).await;
    }
}

/// The writer whose turn it is.
struct Writer<'a> {
    state: MutexGuard<'a, State>,
}

impl Writer<'_> {
    /// Notes in `begun` that `Ready` was said.
    async fn serve(
        &mut self,
        mut incoming: Incoming,
        outgoing: &Outgoing,
        begun: &mut bool,
    ) -> Result<(), ExchangeFailed> {
        match self.state.pipe {
            Pipe::Due => return Err(not_running()),
            Pipe::Broken => return Err(closed("the command has closed its input")),
            // A writer that did not hear of its end may ask again.
            Pipe::Open(_) | Pipe::Ended => {}
        }
        // Without the server there is nobody to go on for.
        let _ = outgoing.send(ExchangeFromRunner::Ready { offset: self.state.accepted }).await;
        *begun = true;
        while let Some(message) = incoming.next().await {
            match message {
                ExchangeToRunner::Chunk { offset, data } => self.write(offset, &data).await?,
                ExchangeToRunner::End { close } => {
                    if close && let Pipe::Open(sink) = &mut self.state.pipe {
                        sink.say_end().await;
                        self.state.pipe = Pipe::Ended;
                    }
                    self.state.say_written(outgoing).await;
                    return Ok(());
                }
                ExchangeToRunner::Order(_) => {}
            }
        }
        Ok(())
    }

    /// Writes what of a chunk is new.
    async fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), ExchangeFailed> {
        let end = self.state.accepted;
        let Some(known) = end.checked_sub(offset) else {
            let message = format!("the input has {end} bytes, and more comes at {offset}");
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
                        tracing::warn!(%error, "a command's input cannot be written");
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

/// The job is not there yet, or no longer.
pub(crate) fn not_running() -> ExchangeFailed {
    failed(ExchangeFailure::FailedPrecondition, "NOT_RUNNING", "the command does not run")
}

/// Nothing can be written to it.
pub(crate) fn closed(message: &str) -> ExchangeFailed {
    failed(ExchangeFailure::FailedPrecondition, "STDIN_CLOSED", message)
}

fn taken() -> ExchangeFailed {
    let message = "another writer has taken the command's input over";
    failed(ExchangeFailure::FailedPrecondition, "STDIN_TAKEN", message)
}

fn busy() -> ExchangeFailed {
    failed(ExchangeFailure::Unavailable, "STDIN_BUSY", "another writer is at the command's input")
}

#[cfg(test)]
mod tests;
