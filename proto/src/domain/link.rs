//! The messages between a runner and a server.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{
    Cause, Epoch, ExecutionId, Grant, JobReport, OutputStream, RunnerId, SandboxProfile, SessionId, Signal,
    TerminalSize,
};

/// Runner to server, on the control stream.
#[derive(Debug, Clone, PartialEq)]
pub enum FromRunner {
    /// Always first.
    Hello(RunnerHello),
    /// At least as often as the server asked for.
    Heartbeat {
        /// Milliseconds of the runner's monotonic clock, within its epoch.
        clock_ms: u64,
        /// Jobs that run.
        running: u32,
    },
    /// What is known of a job.
    Job(JobReport),
    /// Every job that the runner has not been told to forget has been reported on this link.
    Reconciled,
    /// What became of a session.
    Session(SessionReport),
    /// No new work, please.
    Draining {
        /// New work again.
        over: bool,
    },
    /// Everything that was known when a `Probe` came has been said on this link.
    Probed {
        /// The probe's.
        number: u64,
    },
}

/// How a runner introduces itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerHello {
    /// See [`crate::LINK_PROTOCOL_VERSION`].
    pub protocol_version: u32,
    /// Configured.
    pub runner_id: RunnerId,
    /// This life of the process.
    pub epoch: Epoch,
    /// Airlock's version, for people.
    pub version: String,
    /// Configured.
    pub labels: BTreeMap<String, String>,
    /// Commands at once.
    pub slots: u32,
    /// Base folders it offers.
    pub bases: Vec<String>,
    /// What its host can enforce.
    pub capabilities: Vec<Capability>,
    /// The names of its shells, with their versions. None at all: they are not known.
    pub shells: BTreeMap<String, String>,
    /// Milliseconds of the runner's monotonic clock, within its epoch.
    pub clock_ms: u64,
    /// Earlier lives of which it knows everything that they accepted, even where its journal is new.
    pub vouched_epochs: Vec<Epoch>,
    /// Whether it answers `Probe`.
    pub answers_probes: bool,
}

/// One thing a runner's host can or cannot enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// A stable name.
    pub name: String,
    /// Whether it holds.
    pub enforced: bool,
    /// What was found, and what to do where something is missing.
    pub detail: String,
}

/// What became of a session on its runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReport {
    /// Which.
    pub session_id: SessionId,
    /// What became of it.
    pub phase: SessionPhase,
}

/// What became of a session on its runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionPhase {
    /// Usable, with this current directory (inside the sandbox).
    Open {
        /// Inside the sandbox.
        directory: Vec<u8>,
        /// Its shell snapshot.
        snapshot: SessionSnapshot,
    },
    /// It could not be made.
    Failed {
        /// A stable name: `no_such_base`, `too_many_sessions`, `disk`, `floor`, ...
        reason: String,
        /// For people.
        message: String,
    },
    /// Its folders are gone.
    Closed,
}

/// A session's shell snapshot: what the profile's `shell.init` made of aliases, functions, options and PATH.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSnapshot {
    /// As commands source it, at most [`crate::limits::SNAPSHOT_BYTES`]; empty: there is none.
    pub text: Vec<u8>,
    /// Why there is none, though one was to be made.
    pub problem: String,
}

impl SessionSnapshot {
    /// One that could not be made, or is lost.
    #[must_use]
    pub fn missing(problem: impl Into<String>) -> Self {
        Self { text: Vec::new(), problem: problem.into() }
    }

    /// SHA-256 of its text; empty where there is none.
    #[must_use]
    pub fn digest(&self) -> Vec<u8> {
        if self.text.is_empty() { Vec::new() } else { Sha256::digest(&self.text).to_vec() }
    }
}

/// Server to runner, on the control stream.
#[derive(Debug, Clone, PartialEq)]
pub enum ToRunner {
    /// The answer to `Hello`.
    Welcome {
        /// The server's name.
        server_id: String,
        /// The version both will speak.
        protocol_version: u32,
        /// How often to send heartbeats.
        heartbeat_interval: Duration,
        /// How long jobs go on while no server can be reached.
        link_grace: Duration,
    },
    /// Idempotent.
    OpenSession {
        /// Which.
        session_id: SessionId,
        /// The base folder to copy; empty for none.
        base: String,
        /// What a shell snapshot is to be made by, where one is.
        profile: Option<Box<SandboxProfile>>,
    },
    /// Idempotent.
    CloseSession {
        /// Which.
        session_id: SessionId,
    },
    /// Idempotent by execution and attempt.
    StartJob(Box<StartJob>),
    /// Ends a job, or the wait for its start. Idempotent.
    EndJob {
        /// Which.
        execution_id: ExecutionId,
        /// Why.
        cause: Cause,
    },
    /// Asks for a `PushOutput` stream.
    OpenOutput {
        /// Of which execution.
        execution_id: ExecutionId,
        /// To be repeated there.
        ticket: String,
    },
    /// The spool and the journal's entry may go.
    ForgetJob {
        /// Which.
        execution_id: ExecutionId,
    },
    /// Sends a signal to every process of a job; does nothing unless it runs.
    SignalJob {
        /// Which.
        execution_id: ExecutionId,
        /// What.
        signal: Signal,
    },
    /// Changes the size of a job's terminal; does nothing unless it runs and has one. Idempotent.
    ResizeJob {
        /// Which.
        execution_id: ExecutionId,
        /// From now on.
        size: TerminalSize,
    },
    /// Sends a job to the background. Idempotent.
    DetachJob {
        /// Which.
        execution_id: ExecutionId,
        /// Its wall time from its start.
        timeout: Duration,
    },
    /// Take no new work, or take it again. Answered `Draining`. Idempotent.
    Drain {
        /// Take it again.
        undo: bool,
    },
    /// Asks for an `Exchange` stream.
    OpenExchange {
        /// To be repeated there.
        ticket: String,
    },
    /// Asks whether everything was said. Answered `Probed`, by runners that say that they do.
    Probe {
        /// To be repeated in the answer.
        number: u64,
    },
    /// Sent when there is nothing else to say, so that a runner can tell a dead link.
    Heartbeat,
}

/// One offer of an execution to a runner.
#[derive(Debug, Clone, PartialEq)]
pub struct StartJob {
    /// Which.
    pub execution_id: ExecutionId,
    /// Which offer of it.
    pub attempt: u32,
    /// The epoch that it is meant for.
    pub epoch: Epoch,
    /// Refused after this time of that epoch's monotonic clock, in milliseconds.
    pub not_after_clock_ms: u64,
    /// What was decided, as the server says.
    pub grant: Grant,
    /// The hash that the decision is bound to; the runner computes it again.
    pub binding: [u8; 32],
    /// W3C trace context of the request; may be empty.
    pub traceparent: String,
}

/// Runner to server, on an output stream.
#[derive(Debug, Clone, PartialEq)]
pub enum PushFromRunner {
    /// Always first.
    Hello {
        /// Who.
        runner_id: RunnerId,
        /// Whose output.
        execution_id: ExecutionId,
        /// From `OpenOutput`.
        ticket: String,
        /// Nothing is held for it.
        missing: bool,
    },
    /// Bytes, at most [`crate::limits::CHUNK_BYTES`].
    Chunk {
        /// Of which read.
        read_id: u32,
        /// Of the first byte.
        offset: u64,
        /// The bytes.
        data: Bytes,
    },
    /// Bytes that were cut or lost; the read goes on after them.
    Gap {
        /// Of which read.
        read_id: u32,
        /// The first missing byte.
        from: u64,
        /// The first byte after them.
        to: u64,
    },
    /// The read has used its credit or reached the end.
    Done {
        /// Which read.
        read_id: u32,
        /// Where the next would begin.
        offset: u64,
        /// The stream is complete, and was read to its end.
        end: bool,
        /// Length of the stream as it is now.
        total: u64,
    },
}

/// Server to runner, on an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushToRunner {
    /// Credit for so many bytes.
    Read {
        /// Chosen by the server, unique in the stream.
        read_id: u32,
        /// Of which output.
        stream: OutputStream,
        /// From where.
        offset: u64,
        /// At most so many bytes.
        max_bytes: u64,
        /// Wait for bytes that are not written yet.
        follow: bool,
    },
    /// Forget the read.
    Cancel {
        /// Which.
        read_id: u32,
    },
}
