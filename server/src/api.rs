//! What the gRPC edge asks of the engine, and what it gets back: domain requests, events, errors.
//!
//! No generated protobuf type and no `tonic::Status` here; the edge converts both ways.

use std::{collections::BTreeMap, time::Duration};

use airlock_proto::{
    cursor::Cursor,
    domain::{Mode, OutputStream, Pty, SessionId, Shell},
};
use bytes::Bytes;

use crate::{
    exchange::{ClientFault, ExchangeRefusal},
    model::{ExecutionRecord, Milestone, StateChange},
    store::StoreError,
};

/// A new session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateSession {
    /// The client's key.
    pub request_id: Option<String>,
    /// None: the principal's default.
    pub profile: Option<String>,
    /// None: the profile's default.
    pub mode: Option<Mode>,
    /// None: bash.
    pub shell: Option<Shell>,
    /// A base folder of the runner; none: an empty workspace.
    pub base: Option<String>,
    /// Set in every command.
    pub env: BTreeMap<String, Vec<u8>>,
    /// The client's.
    pub labels: BTreeMap<String, String>,
    /// What its runner must have.
    pub runner_labels: BTreeMap<String, String>,
    /// None: the default.
    pub idle_timeout: Option<Duration>,
}

/// A command to run. The edge has checked sizes and forms (every violation at once); the engine checks
/// what needs the session or the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartExecution {
    /// Bytes for the shell.
    pub command: Vec<u8>,
    /// None: the session's.
    pub shell: Option<Shell>,
    /// None: a throw-away session.
    pub session_id: Option<SessionId>,
    /// The client's key.
    pub request_id: Option<String>,
    /// None: the default.
    pub timeout: Option<Duration>,
    /// How long it may write nothing; none: for ever.
    pub idle_timeout: Option<Duration>,
    /// In the background from its start.
    pub background: bool,
    /// How long it may stay in the foreground; none: to its end.
    pub yield_after: Option<Duration>,
    /// The agent's words.
    pub description: String,
    /// Wait for a person where policy asks for one.
    pub wait_for_approval: bool,
    /// None: the session's.
    pub mode: Option<Mode>,
    /// Of this command alone.
    pub env: BTreeMap<String, Vec<u8>>,
    /// Two streams instead of one.
    pub separate_stderr: bool,
    /// For the throw-away session.
    pub profile: Option<String>,
    /// For the throw-away session.
    pub base: Option<String>,
    /// For the throw-away session.
    pub runner_labels: BTreeMap<String, String>,
    /// Not in the session's order.
    pub allow_concurrent: bool,
    /// Its input stays open for what is written to it.
    pub stdin: bool,
    /// Outside the sandbox.
    pub dangerously_disable_sandbox: bool,
    /// Bytes of each stream that the result holds whole; none: the profile's.
    pub inline_limit: Option<u32>,
    /// With a terminal.
    pub pty: Option<Pty>,
    /// The client's.
    pub labels: BTreeMap<String, String>,
    /// W3C trace context to hand on; may be empty.
    pub traceparent: String,
}

/// A change to a session. What is none stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UpdateSession {
    /// The loosest mode of commands that are decided from now on.
    pub mode: Option<Mode>,
    /// Not zero.
    pub idle_timeout: Option<Duration>,
}

/// What to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchExecutions {
    /// None: all executions of the tenant.
    pub session_id: Option<SessionId>,
    /// Of an earlier event; none: from now on.
    pub cursor: Option<Vec<u8>>,
}

/// What a watch tells.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchEvent {
    /// Where the watch is after this event.
    pub cursor: Vec<u8>,
    /// What happened, and the execution as it is now; none in the first event.
    pub what: Option<(Milestone, Box<ExecutionRecord>)>,
}

/// A question to the policy alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckCommand {
    /// Bytes for the shell.
    pub command: Vec<u8>,
    /// None: bash.
    pub shell: Option<Shell>,
    /// As in this session.
    pub session_id: Option<SessionId>,
    /// By this profile.
    pub profile: Option<String>,
    /// Inside the sandbox.
    pub directory: Option<Vec<u8>>,
    /// None: the session's or the profile's.
    pub mode: Option<Mode>,
}

/// Where a reader wants to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachFrom {
    /// After an event.
    Cursor(Cursor),
    /// All states, and output from these offsets on.
    Offsets {
        /// In bytes.
        stdout: u64,
        /// In bytes.
        stderr: u64,
    },
}

/// What a reader of an execution gets, each with the cursor to go on from.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where the reader is after this event.
    pub cursor: Cursor,
    /// The event.
    pub kind: EventKind,
}

/// What a reader of an execution gets.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// First in every view; not a part of the history.
    Opened(Box<ExecutionRecord>),
    /// A step in its life, `FINISHED` excepted.
    StateChanged(StateChange),
    /// Bytes.
    Output {
        /// Of which stream.
        stream: OutputStream,
        /// Of the first byte.
        offset: u64,
        /// At most [`airlock_proto::limits::CHUNK_BYTES`].
        data: Bytes,
    },
    /// Bytes that are no longer held.
    Gap {
        /// Of which stream.
        stream: OutputStream,
        /// The first missing byte.
        from: u64,
        /// The first byte after them.
        to: u64,
    },
    /// How far the running command is: a remark of the view, not a part of the history.
    Progress(Progress),
    /// The end of the execution and of the view.
    Finished(Box<ExecutionRecord>),
    /// The end of a view that was opened in the foreground: the command runs on in the background.
    Backgrounded(Box<ExecutionRecord>),
}

/// How far a running command is, as a view sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Since it began to run.
    pub elapsed: Duration,
    /// Of both streams, as far as the server knows.
    pub total_bytes: u64,
    /// In what the view gave out.
    pub total_lines: u64,
    /// The last of those; at most [`airlock_proto::limits::PROGRESS_LINES`] of
    /// [`airlock_proto::limits::PROGRESS_LINE_BYTES`].
    pub last_lines: Vec<String>,
    /// The view gave out all that the server knows of, from the first byte on.
    pub complete: bool,
}

/// One bad field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// Its path in the request, such as `spec.timeout`.
    pub field: String,
    /// What is wrong and what would be right.
    pub description: String,
}

/// Why a request was not done. One file (`status.rs`) maps it to a gRPC status.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// Bad fields, all of them.
    #[error("the request has {} bad fields", .0.len())]
    Invalid(Vec<FieldViolation>),
    /// No such thing, or another tenant's.
    #[error("no such {what}: `{id}`")]
    NotFound {
        /// `session`, `execution`, `approval`, `profile`.
        what: &'static str,
        /// As given.
        id: String,
    },
    /// The key was used for another request.
    #[error("request_id `{request_id}` was used for another request")]
    AlreadyExists {
        /// As given.
        request_id: String,
    },
    /// Policy said no, or said ask and the request did not want to wait. The execution is there, and
    /// `FINISHED`.
    #[error(
        "{}, {}",
        if *approval_required { "the command needs a person's approval" } else { "the command was not allowed" },
        execution.decision.explanation(),
    )]
    Denied {
        /// The finished execution.
        execution: Box<ExecutionRecord>,
        /// Policy left it open, and nobody was to be asked.
        approval_required: bool,
    },
    /// The principal may not do this.
    #[error("{message}")]
    Forbidden {
        /// Which role or rule is missing.
        message: String,
    },
    /// It cannot be done to this thing in its state.
    #[error("{message}")]
    FailedPrecondition {
        /// A stable name, upper case.
        reason: &'static str,
        /// What and why.
        message: String,
    },
    /// A named limit is reached.
    #[error("limit `{limit}` of {value} is reached")]
    Exhausted {
        /// The limit's name in the configuration.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// When to try again.
        retry_after: Duration,
    },
    /// Not now: no runner, shutting down, store away.
    #[error("{message}")]
    Unavailable {
        /// A stable name, upper case.
        reason: &'static str,
        /// What and why.
        message: String,
        /// When to try again.
        retry_after: Duration,
    },
    /// Offsets past the end of a finished output.
    #[error("offset {asked} is past the end of {}, which has {end} bytes", stream_name(*stream))]
    OutOfRange {
        /// Which stream.
        stream: OutputStream,
        /// As given.
        asked: u64,
        /// Its length.
        end: u64,
    },
    /// Work on files or input was refused, by the runner or for what came for it.
    #[error(transparent)]
    Exchange(ExchangeRefusal),
    /// What a client streams cannot be taken.
    #[error(transparent)]
    ClientStream(ClientFault),
    /// A watch cannot go on after its cursor.
    #[error("{message}")]
    CursorOutOfRange {
        /// Why, and what to do.
        message: &'static str,
    },
    /// A fault of the server's own; logged in full, shown without detail.
    #[error("internal error")]
    Internal(String),
}

impl ApiError {
    /// The answer of a server that stops: to be asked again, there or elsewhere.
    #[must_use]
    pub fn shutting_down() -> Self {
        Self::Unavailable {
            reason: "SHUTTING_DOWN",
            message: "the server is shutting down; try again".to_owned(),
            retry_after: Duration::from_secs(1),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) | StoreError::Undone(_) => Self::Unavailable {
                reason: "STORE_UNAVAILABLE",
                message: "the store cannot be reached just now".to_owned(),
                retry_after: Duration::from_secs(1),
            },
            StoreError::BadPageToken => Self::Invalid(vec![FieldViolation {
                field: "page.page_token".to_owned(),
                description: "not a token of this list; use the one of the page before, with the same filter"
                    .to_owned(),
            }]),
            StoreError::Full { limit, value } => {
                Self::Exhausted { limit, value, retry_after: Duration::from_secs(60) }
            }
            error @ (StoreError::Corrupt(_) | StoreError::Newer { .. } | StoreError::Refused(_)) => {
                Self::Internal(error.to_string())
            }
        }
    }
}

fn stream_name(stream: OutputStream) -> &'static str {
    match stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
    }
}
