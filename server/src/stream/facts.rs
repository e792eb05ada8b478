//! What a view must know of a record: whether it has ended, and where its output is. Small, so that a
//! reader that stopped holds no record.

use airlock_proto::domain::{Cause, ExecutionResult, ExecutionState, OutputState, OutputStream};

use crate::{
    api::ApiError,
    model::{ExecutionRecord, Micros},
};

/// Where a stream of output is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Nothing runs yet.
    NotYet,
    /// From the runner.
    Live,
    /// From the output storage.
    Shelf,
    /// From nowhere: there was none, or it is lost.
    Gone {
        /// Of what was written.
        length: u64,
    },
}

/// The part of a record that decides what a view does next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) version: u64,
    pub(super) finished: bool,
    /// A cursor may be past the end without being made up: the latest bytes were lost with a host.
    pub(super) may_be_past_end: bool,
    running: bool,
    started: Option<Micros>,
    output: OutputState,
    separate_stderr: bool,
    stdout_bytes: u64,
    stderr_bytes: u64,
    /// Of stdout and stderr, whether the spool was certainly never cut.
    whole: (bool, bool),
}

impl Facts {
    pub(super) fn of(record: &ExecutionRecord) -> Self {
        let result = record.result.as_ref();
        // Who says that a runner is lost does not know what was cut.
        let vouched = result.filter(|result| result.cause != Cause::RunnerLost);
        let whole = |cut: fn(&ExecutionResult) -> u64| vouched.is_some_and(|result| cut(result) == 0);
        Self {
            version: record.version,
            finished: record.state == ExecutionState::Finished,
            may_be_past_end: result.is_some_and(|result| result.cause == Cause::RunnerLost),
            running: record.state == ExecutionState::Running,
            started: record.started,
            output: record.output,
            separate_stderr: record.spec.separate_stderr,
            stdout_bytes: result.map_or(0, |result| result.stdout_bytes),
            stderr_bytes: result.map_or(0, |result| result.stderr_bytes),
            whole: (whole(|result| result.stdout_cut_bytes), whole(|result| result.stderr_cut_bytes)),
        }
    }

    /// When it began to run, by the store's clock; none while it does not run.
    pub(super) fn running_since(&self) -> Option<Micros> {
        self.started.filter(|_| self.running)
    }

    /// What the result says was written to `stream`.
    pub(super) fn length(&self, stream: OutputStream) -> u64 {
        match stream {
            OutputStream::Stdout => self.stdout_bytes,
            OutputStream::Stderr => self.stderr_bytes,
        }
    }

    /// Whether what was read of `stream` while it was live is what its spool holds now. Of one that was cut a
    /// live reader may have bytes that are not kept, and gaps that have grown since.
    pub(super) fn ring_is_spool(&self, stream: OutputStream) -> bool {
        let whole = match stream {
            OutputStream::Stdout => self.whole.0,
            OutputStream::Stderr => self.whole.1,
        };
        whole || !self.finished
    }

    /// Where `stream` is to be read.
    pub(super) fn source(&self, stream: OutputStream) -> Source {
        match self.output {
            _ if self.running => Source::Live,
            _ if !self.finished => Source::NotYet,
            OutputState::Live | OutputState::Storing => Source::Live,
            OutputState::Stored | OutputState::Partial { .. } => Source::Shelf,
            OutputState::None | OutputState::Lost => Source::Gone { length: self.length(stream) },
        }
    }

    /// Whether a reader at `offset` has had all of `stream`, by what the result says. Then nobody need be
    /// asked for it.
    pub(super) fn is_end(&self, stream: OutputStream, offset: u64) -> bool {
        self.finished && !self.may_be_past_end && offset == self.length(stream)
    }

    /// How long `stream` is, if the result vouches for it.
    pub(super) fn known_length(&self, stream: OutputStream) -> Option<u64> {
        (self.finished && !self.may_be_past_end).then(|| self.length(stream))
    }

    /// Refuses an offset that can be told to be past the end without asking for the output.
    ///
    /// # Errors
    /// [`ApiError::OutOfRange`].
    pub(super) fn check_range(&self, stream: OutputStream, asked: u64) -> Result<(), ApiError> {
        let never_written = stream == OutputStream::Stderr && !self.separate_stderr;
        let end = self.length(stream);
        let known = never_written || (self.finished && !self.may_be_past_end);
        if known && asked > end { Err(ApiError::OutOfRange { stream, asked, end }) } else { Ok(()) }
    }
}
