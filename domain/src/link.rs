//! The messages between a runner and a server.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{
    ApprovalId, Cause, Epoch, ExecutionId, Grant, JobReport, NetworkRules, OutputStream, RunnerId,
    SandboxProfile, SessionId, Shell, Signal, TerminalSize,
};

/// Runner to server, on the control stream.
#[derive(Debug, Clone, PartialEq)]
pub enum FromRunner {
    /// The first message.
    Hello(RunnerHello),
    /// Sent at least as often as the server requires.
    Heartbeat {
        /// The runner's monotonic clock in milliseconds, valid within its epoch.
        clock_ms: u64,
        /// The number of running jobs.
        running: u32,
    },
    /// The state of a job.
    Job(JobReport),
    /// Every job that the runner was not told to forget has been reported on this link.
    Reconciled,
    /// The state of a session.
    Session(SessionReport),
    /// The runner accepts no new work.
    Draining {
        /// The runner accepts new work again.
        over: bool,
    },
    /// Every report that was pending when the `Probe` arrived has been sent on this link.
    Probed {
        /// The number from the probe.
        number: u64,
    },
    /// A connection of a running command waits for an answer. Sent again on each new link. Idempotent by approval.
    Asked(ConnectionAsked),
    /// No connection waits for this answer any more. Idempotent.
    Unasked {
        /// The execution.
        execution_id: ExecutionId,
        /// The approval.
        approval_id: ApprovalId,
    },
}

/// A question about a connection of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionAsked {
    /// Chosen by the runner.
    pub approval_id: ApprovalId,
    /// The execution.
    pub execution_id: ExecutionId,
    /// The normalized name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The rule that asks, such as `Network(example.com)`.
    pub rule: String,
    /// The time for which the connection still waits.
    pub wait: Duration,
}

/// The answer to a question about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionAnswer {
    /// The execution may connect to this host and port.
    Allowed,
    /// A person denied it. The execution does not ask again.
    Denied {
        /// The reason, as the second half of a sentence.
        reason: String,
    },
    /// Nobody answers this question. A later connection asks again.
    Unanswered {
        /// The reason, as the second half of a sentence.
        reason: String,
    },
}

/// The identification of a runner.
#[derive(Debug, Clone, PartialEq)]
pub struct RunnerHello {
    /// The version of the link's protocol (`airlock_proto::LINK_PROTOCOL_VERSION`).
    pub protocol_version: u32,
    /// The configured name.
    pub runner_id: RunnerId,
    /// The epoch of this process.
    pub epoch: Epoch,
    /// The version of Airlock, for people.
    pub version: String,
    /// The configured labels.
    pub labels: BTreeMap<String, String>,
    /// The number of commands that can run at the same time.
    pub slots: u32,
    /// The bases that workspaces can be copied from.
    pub bases: Vec<String>,
    /// The capabilities of its host.
    pub capabilities: Vec<Capability>,
    /// The names of its shells with their versions. Empty: unknown.
    pub shells: BTreeMap<String, String>,
    /// The runner's monotonic clock in milliseconds, valid within its epoch.
    pub clock_ms: u64,
    /// Earlier epochs of which all accepted jobs are known, even if the journal is new.
    pub vouched_epochs: Vec<Epoch>,
    /// Whether the runner answers `Probe`.
    pub answers_probes: bool,
}

/// One protection or limit, and whether a runner's host can enforce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// A stable name.
    pub name: String,
    /// Whether it is enforced.
    pub enforced: bool,
    /// The state that was found, and the remedy if something is missing.
    pub detail: String,
}

/// A report of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionReport {
    /// The session.
    pub session_id: SessionId,
    /// The phase of the session.
    pub phase: SessionPhase,
}

/// The phase of a session on its runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionPhase {
    /// The session is usable.
    Open {
        /// The working directory inside the sandbox.
        directory: Vec<u8>,
        /// The shell snapshot.
        snapshot: SessionSnapshot,
    },
    /// The session could not be created.
    Failed {
        /// A stable name: `no_such_base`, `too_many_sessions`, `disk`, `floor`, ...
        reason: String,
        /// A message for people.
        message: String,
    },
    /// The directories of the session were removed.
    Closed,
}

/// The second line of a snapshot that a shell other than bash sources.
const SNAPSHOT_SHELLS: [(&[u8], Shell); 2] = [(b"# shell=pwsh", Shell::Pwsh), (b"# shell=zsh", Shell::Zsh)];

/// A session's shell snapshot: the aliases, functions, options and PATH that the profile's `shell.init`
/// defines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSnapshot {
    /// The text that commands source. At most [`crate::limits::SNAPSHOT_BYTES`]. Empty: no snapshot.
    pub text: Vec<u8>,
    /// The reason why a required snapshot is missing.
    pub problem: String,
}

impl SessionSnapshot {
    /// Returns an empty snapshot with the reason why it is missing.
    #[must_use]
    pub fn missing(problem: impl Into<String>) -> Self {
        Self { text: Vec::new(), problem: problem.into() }
    }

    /// Returns the shell that can source a snapshot.
    #[must_use]
    pub fn shell(text: &[u8]) -> Shell {
        let second = text.split(|byte| *byte == b'\n').nth(1);
        let found = SNAPSHOT_SHELLS.iter().find(|(line, _)| second == Some(*line));
        found.map_or(Shell::Bash, |(_, shell)| *shell)
    }

    /// Returns the shell that reads a profile's `shell.init`: PowerShell or zsh if its first line names it, otherwise bash.
    #[must_use]
    pub fn shell_of_init(init: &str) -> Shell {
        let line = init.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
        let names =
            |shell: &Shell| line.split_whitespace().any(|word| word.rsplit('/').next() == Some(shell.name()));
        [Shell::Pwsh, Shell::Zsh].into_iter().find(names).unwrap_or(Shell::Bash)
    }

    /// Returns the SHA-256 of the text, or nothing if the text is empty.
    #[must_use]
    pub fn digest(&self) -> Vec<u8> {
        if self.text.is_empty() { Vec::new() } else { Sha256::digest(&self.text).to_vec() }
    }
}

/// Server to runner, on the control stream.
#[derive(Debug, Clone, PartialEq)]
pub enum ToRunner {
    /// The response to `Hello`.
    Welcome {
        /// The server's name.
        server_id: String,
        /// The protocol version of the link.
        protocol_version: u32,
        /// The interval of heartbeats.
        heartbeat_interval: Duration,
        /// The time for which jobs continue while no server can be reached.
        link_grace: Duration,
        /// Whether the server accepts `Asked` and `Unasked`.
        takes_questions: bool,
    },
    /// Creates a session. Idempotent.
    OpenSession {
        /// The session.
        session_id: SessionId,
        /// The base to copy. Empty: none.
        base: String,
        /// The profile for the shell snapshot, if one is required.
        profile: Option<Box<SandboxProfile>>,
    },
    /// Closes a session. Idempotent.
    CloseSession {
        /// The session.
        session_id: SessionId,
    },
    /// Offers a job. Idempotent by execution and attempt.
    StartJob(Box<StartJob>),
    /// Ends a job, or the wait for its start. Idempotent.
    EndJob {
        /// The execution.
        execution_id: ExecutionId,
        /// The cause.
        cause: Cause,
    },
    /// Asks for a `PushOutput` stream.
    OpenOutput {
        /// The execution.
        execution_id: ExecutionId,
        /// Repeated in the stream's first message.
        ticket: String,
    },
    /// Permits the runner to delete the spool and the journal's entry.
    ForgetJob {
        /// The execution.
        execution_id: ExecutionId,
    },
    /// Sends a signal to every process of a job. Ignored if the job does not run.
    SignalJob {
        /// The execution.
        execution_id: ExecutionId,
        /// The signal.
        signal: Signal,
    },
    /// Sets the size of a job's terminal. Ignored if the job does not run or has no terminal. Idempotent.
    ResizeJob {
        /// The execution.
        execution_id: ExecutionId,
        /// The new size.
        size: TerminalSize,
    },
    /// Moves a job to the background. Idempotent.
    DetachJob {
        /// The execution.
        execution_id: ExecutionId,
        /// The timeout, counted from the start of the command.
        timeout: Duration,
    },
    /// Replaces the session's network rules for its jobs that have not ended. Idempotent.
    SetSessionNetwork {
        /// The session.
        session_id: SessionId,
        /// The version of the session. Older messages are ignored.
        version: u64,
        /// The rules. `None`: the session does not narrow the network.
        network: Option<NetworkRules>,
    },
    /// Answers a question about a connection. Ignored if no connection waits for it. Idempotent.
    AnswerConnection {
        /// The execution.
        execution_id: ExecutionId,
        /// The approval.
        approval_id: ApprovalId,
        /// The answer.
        answer: ConnectionAnswer,
    },
    /// Starts or ends a drain. Answered with `Draining`. Idempotent.
    Drain {
        /// Ends the drain.
        undo: bool,
    },
    /// Asks for an `Exchange` stream.
    OpenExchange {
        /// Repeated in the stream's first message.
        ticket: String,
    },
    /// Asks whether all reports were sent. Runners with `answers_probes` respond with `Probed`.
    Probe {
        /// Repeated in the response.
        number: u64,
    },
    /// Sent if no other message is pending, so that the runner can detect a dead link.
    Heartbeat,
}

/// One offer of an execution to a runner.
#[derive(Debug, Clone, PartialEq)]
pub struct StartJob {
    /// The execution.
    pub execution_id: ExecutionId,
    /// The number of the offer.
    pub attempt: u32,
    /// The epoch to which the offer is addressed.
    pub epoch: Epoch,
    /// The deadline on that epoch's monotonic clock, in milliseconds. The runner refuses the offer after it.
    pub not_after_clock_ms: u64,
    /// The subject of the decision.
    pub grant: Grant,
    /// The hash that the decision is bound to. The runner recomputes it.
    pub binding: [u8; 32],
    /// The W3C trace context of the request. Can be empty.
    pub traceparent: String,
}

/// Runner to server, on an output stream.
#[derive(Debug, Clone, PartialEq)]
pub enum PushFromRunner {
    /// The first message.
    Hello {
        /// The runner.
        runner_id: RunnerId,
        /// The execution.
        execution_id: ExecutionId,
        /// The ticket from `OpenOutput`.
        ticket: String,
        /// The runner holds no output of the execution.
        missing: bool,
    },
    /// A chunk of at most [`crate::limits::CHUNK_BYTES`].
    Chunk {
        /// The read that it belongs to.
        read_id: u32,
        /// The offset of the first byte.
        offset: u64,
        /// The bytes.
        data: Bytes,
    },
    /// Bytes that were cut or lost. The read continues after them.
    Gap {
        /// The read that it belongs to.
        read_id: u32,
        /// The first missing byte.
        from: u64,
        /// The first byte after the gap.
        to: u64,
    },
    /// The read used its credit or reached the end.
    Done {
        /// The read.
        read_id: u32,
        /// The offset at which the next read begins.
        offset: u64,
        /// The stream is complete, and the read reached its end.
        end: bool,
        /// The current length of the stream in bytes.
        total: u64,
    },
}

/// Server to runner, on an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushToRunner {
    /// A read, which grants credit.
    Read {
        /// Chosen by the server, unique within the stream.
        read_id: u32,
        /// The stream to read.
        stream: OutputStream,
        /// The offset to begin at.
        offset: u64,
        /// The maximum number of bytes.
        max_bytes: u64,
        /// Waits for bytes that are not yet written.
        follow: bool,
    },
    /// Cancels a read.
    Cancel {
        /// The read.
        read_id: u32,
    },
}
