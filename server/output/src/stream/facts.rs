//! The part of a record that a view needs: whether it has ended, and where its output is. It is small, so an
//! idle reader does not hold a whole record. The readers of an execution share one read of its record.

use std::sync::Arc;

use airlock_domain::{Cause, ExecutionId, ExecutionResult, ExecutionState, OutputState, OutputStream};
use airlock_store::{
    Store,
    record::{ExecutionRecord, Micros},
};
use tokio::{sync::Mutex, time::Instant};

use super::error::StreamError;

/// The location from which a stream of output must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// No location yet, because the command does not run.
    NotYet,
    /// The runner.
    Live,
    /// The output storage.
    Shelf,
    /// No location, because there was no output or it is lost.
    Gone {
        /// The number of bytes that were written.
        length: u64,
    },
}

/// The part of a record that determines the next step of a view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) version: u64,
    pub(super) finished: bool,
    /// Whether a valid cursor can be past the end, because the latest bytes were lost with a host.
    pub(super) may_be_past_end: bool,
    running: bool,
    started: Option<Micros>,
    output: OutputState,
    separate_stderr: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    /// Whether the spools of stdout and stderr are known to have no gaps.
    whole: (bool, bool),
}

impl Facts {
    pub(super) fn of(record: &ExecutionRecord) -> Self {
        let result = record.result.as_ref();
        // The server reports `RUNNER_LOST` without information about gaps.
        let vouched = result.filter(|result| result.cause != Cause::RunnerLost);
        let whole = |cut: fn(&ExecutionResult) -> u64| vouched.is_some_and(|result| cut(result) == 0);
        Self {
            version: record.version,
            finished: record.state == ExecutionState::Finished,
            may_be_past_end: result.is_some_and(|result| result.cause == Cause::RunnerLost),
            running: record.state == ExecutionState::Running,
            started: record.started,
            output: record.output,
            separate_stderr: record.spec.command.separate_stderr,
            stdout_bytes: result.map_or(0, |result| result.stdout_bytes),
            stderr_bytes: result.map_or(0, |result| result.stderr_bytes),
            whole: (whole(|result| result.stdout_cut_bytes), whole(|result| result.stderr_cut_bytes)),
        }
    }

    /// Returns when the command started, by the store's clock. Returns `None` unless it is running.
    pub(super) fn running_since(&self) -> Option<Micros> {
        self.started.filter(|_| self.running)
    }

    /// Returns the length of `stream` according to the result, in bytes.
    pub(super) fn length(&self, stream: OutputStream) -> u64 {
        match stream {
            OutputStream::Stdout => self.stdout_bytes,
            OutputStream::Stderr => self.stderr_bytes,
        }
    }

    /// Returns whether live reads of `stream` match its current spool. If the stream has a gap, a live reader may have
    /// bytes that are no longer kept. The gap can also have grown since.
    pub(super) fn ring_is_spool(&self, stream: OutputStream) -> bool {
        let whole = match stream {
            OutputStream::Stdout => self.whole.0,
            OutputStream::Stderr => self.whole.1,
        };
        whole || !self.finished
    }

    /// Returns where `stream` must be read from.
    pub(super) fn source(&self, stream: OutputStream) -> Source {
        match self.output {
            _ if self.running => Source::Live,
            _ if !self.finished => Source::NotYet,
            OutputState::Live | OutputState::Storing => Source::Live,
            OutputState::Stored | OutputState::Partial { .. } => Source::Shelf,
            OutputState::None | OutputState::Lost => Source::Gone { length: self.length(stream) },
        }
    }

    /// Returns whether a reader at `offset` has all of `stream` according to the result, so that no request
    /// is needed.
    pub(super) fn is_end(&self, stream: OutputStream, offset: u64) -> bool {
        self.finished && !self.may_be_past_end && offset == self.length(stream)
    }

    /// Returns the length of `stream` if the result is authoritative.
    pub(super) fn known_length(&self, stream: OutputStream) -> Option<u64> {
        (self.finished && !self.may_be_past_end).then(|| self.length(stream))
    }

    /// Rejects an offset that is known to be past the end without a request for the output.
    ///
    /// # Errors
    /// [`StreamError::PastEnd`].
    pub(super) fn check_range(&self, stream: OutputStream, asked: u64) -> Result<(), StreamError> {
        let never_written = stream == OutputStream::Stderr && !self.separate_stderr;
        let end = self.length(stream);
        let known = never_written || (self.finished && !self.may_be_past_end);
        if known && asked > end { Err(StreamError::PastEnd { stream, asked, end }) } else { Ok(()) }
    }
}

/// The latest record, and when it was read.
#[derive(Debug, Default)]
pub(super) struct Feed {
    latest: Mutex<Option<(Instant, Arc<ExecutionRecord>)>>,
}

impl Feed {
    /// Returns the record as of `not_before` or later.
    ///
    /// # Errors
    /// If the store cannot be read, or no longer contains the execution.
    pub(super) async fn record(
        &self,
        store: &dyn Store,
        id: ExecutionId,
        not_before: Instant,
    ) -> Result<Arc<ExecutionRecord>, StreamError> {
        let mut latest = self.latest.lock().await;
        if let Some((read, record)) = latest.as_ref()
            && *read >= not_before
        {
            return Ok(Arc::clone(record));
        }
        let read = Instant::now();
        let Some(record) = store.execution(id).await? else {
            return Err(StreamError::NoExecution(id));
        };
        let record = Arc::new(record);
        *latest = Some((read, Arc::clone(&record)));
        Ok(record)
    }
}
