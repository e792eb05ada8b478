//! The records that the server keeps: sessions, executions, approvals, runners, audit entries.
//!
//! Plain data. Nothing here reads or writes a store, and no generated protobuf type is used.

mod approval;
mod order;
mod restore;
mod time;

use std::{collections::BTreeMap, time::Duration};

use airlock_proto::domain::{
    ApprovalId, BackgroundedBy, Epoch, ExecutionId, ExecutionResult, ExecutionState, LinkState, Mode,
    OutputState, Pty, RunnerId, SessionId, SessionSnapshot, Shell,
};

pub use approval::{ApprovalRecord, ApprovalState, RememberedRule, RuleScope};
pub use restore::{RestoreRecord, RestoreStep};
pub use time::Micros;

/// What a principal may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Runs commands.
    Executor,
    /// Answers approvals.
    Approver,
    /// Reads the audit.
    Auditor,
    /// Runs the service.
    Admin,
    /// Is a runner.
    Runner,
    /// Is another server of the same store.
    Server,
}

/// Who a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The configured name.
    pub name: String,
    /// Whose executions it sees.
    pub tenant: String,
    /// What it may do; sorted.
    pub roles: Vec<Role>,
    /// The profiles it may use; the first that is not [`ANY_PROFILE`] is its default.
    pub profiles: Vec<String>,
    /// Where it calls from, for the audit.
    pub peer: String,
}

/// Stands for every profile there is, in a principal's profiles.
pub const ANY_PROFILE: &str = "*";

impl Principal {
    /// The profile of this principal's requests that name none.
    #[must_use]
    pub fn default_profile(&self) -> Option<&str> {
        self.profiles.iter().map(String::as_str).find(|name| *name != ANY_PROFILE)
    }

    /// Whether it may use the profile of this name.
    #[must_use]
    pub fn may_use(&self, profile: &str) -> bool {
        self.profiles.iter().any(|own| own == profile || own == ANY_PROFILE)
    }
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Its runner was asked to make it.
    Opening,
    /// Usable.
    Open,
    /// Its commands are being ended.
    Closing,
    /// Gone, as asked.
    Closed,
    /// Gone with its runner.
    Lost,
}

/// How many sessions there are that are not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionLevels {
    /// Their workspaces are being made.
    pub opening: u64,
    /// Commands run in them.
    pub open: u64,
    /// They are being removed.
    pub closing: u64,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Made by the server.
    pub id: SessionId,
    /// Grows by one with each change.
    pub version: u64,
    /// Whose it is.
    pub tenant: String,
    /// Who made it.
    pub principal: String,
    /// The client's key.
    pub request_id: Option<String>,
    /// SHA-256 of the request that made it.
    pub request_hash: [u8; 32],
    /// Where it is in its life.
    pub state: SessionState,
    /// Why it is closed or lost.
    pub state_message: String,
    /// The profile's name.
    pub profile: String,
    /// The loosest mode of its commands.
    pub mode: Mode,
    /// What reads its commands.
    pub shell: Shell,
    /// The current directory, inside the sandbox.
    pub directory: Vec<u8>,
    /// Set in every command.
    pub env: BTreeMap<String, Vec<u8>>,
    /// Where it is.
    pub runner_id: RunnerId,
    /// The base folder it was copied from; empty for none.
    pub base: String,
    /// The client's.
    pub labels: BTreeMap<String, String>,
    /// What its runner must have.
    pub runner_labels: BTreeMap<String, String>,
    /// Closed after so long without a live execution.
    pub idle_timeout: Duration,
    /// Made for one execution.
    pub throwaway: bool,
    /// Its shell snapshot, as its runner reported it when it opened.
    pub snapshot: SessionSnapshot,
    /// When it was made.
    pub created: Micros,
    /// When its last execution was created or ended.
    pub last_used: Micros,
}

/// What a client asked to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSpec {
    /// At most [`airlock_proto::limits::COMMAND_BYTES`], without NUL.
    pub command: Vec<u8>,
    /// What reads it.
    pub shell: Shell,
    /// Wall time.
    pub timeout: Duration,
    /// The request gave that time; else it is the profile's default.
    pub timeout_given: bool,
    /// How long it may write nothing; none: for ever.
    pub idle_timeout: Option<Duration>,
    /// In the background from its start.
    pub background: bool,
    /// How long it may stay in the foreground; none: to its end.
    pub yield_after: Option<Duration>,
    /// The agent's words.
    pub description: String,
    /// Wait for a person where policy asks for one; else the request fails.
    pub wait_for_approval: bool,
    /// The session's and the request's, the tighter of the two.
    pub mode: Mode,
    /// The session's and the request's together.
    pub env: BTreeMap<String, Vec<u8>>,
    /// Two streams instead of one.
    pub separate_stderr: bool,
    /// Not in the session's order.
    pub allow_concurrent: bool,
    /// Its input stays open for what is written to it.
    pub stdin: bool,
    /// It asks to run outside the sandbox.
    pub dangerously_disable_sandbox: bool,
    /// Bytes of each stream that the result holds whole, as text.
    pub inline_limit: u32,
    /// It has a terminal.
    pub pty: Option<Pty>,
    /// The client's.
    pub labels: BTreeMap<String, String>,
}

/// What policy said, as it is kept: `verdict` and `read_only` for the server's own use, the whole in
/// the contract's encoding, opaque to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// `ALLOW`, `ASK` or `DENY`.
    pub verdict: Verdict,
    /// The code of the deciding reason.
    pub reason_code: String,
    /// The message of the deciding reason.
    pub reason_message: String,
    /// Where in the command that reason is, from one byte offset up to another, if it is at one place.
    pub reason_span: Option<(u32, u32)>,
    /// Runs on read-only mounts.
    pub read_only: bool,
    /// May run beside the session's other commands.
    pub concurrency_safe: bool,
    /// The rules that decided.
    pub policy_version: Vec<u8>,
    /// `airlock.v1.Decision`, encoded.
    pub encoded: Vec<u8>,
}

impl DecisionRecord {
    /// The deciding reason and its place in the command, on one line. The place comes first, because a long line
    /// is cut at its end.
    #[must_use]
    pub fn explanation(&self) -> String {
        let place =
            self.reason_span.map(|(start, end)| format!(" (bytes {start} to {end})")).unwrap_or_default();
        let message: String = self
            .reason_message
            .chars()
            .map(
                |letter| {
                    if letter.is_control() { letter.escape_default().to_string() } else { letter.into() }
                },
            )
            .collect();
        format!("{}{place}: {message}", self.reason_code)
    }
}

/// Policy's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person must say.
    Ask,
    /// It must not.
    Deny,
}

/// An execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRecord {
    /// Made by the server.
    pub id: ExecutionId,
    /// Grows by one with each change of state.
    pub version: u64,
    /// Where it runs.
    pub session_id: SessionId,
    /// Whose it is.
    pub tenant: String,
    /// Who asked.
    pub principal: String,
    /// The client's key.
    pub request_id: Option<String>,
    /// SHA-256 of every field of the request that changes what runs.
    pub request_hash: [u8; 32],
    /// What was asked for.
    pub spec: ExecutionSpec,
    /// The directory of the latest decision.
    pub directory: Vec<u8>,
    /// Where it is in its life.
    pub state: ExecutionState,
    /// Whether its runner can be reached; none while it is on no runner.
    pub link: Option<LinkState>,
    /// The latest decision.
    pub decision: DecisionRecord,
    /// The runner it was offered to.
    pub runner_id: Option<RunnerId>,
    /// The life of the runner it was offered to.
    pub runner_epoch: Option<Epoch>,
    /// How many times it was offered.
    pub attempt: u32,
    /// The server that drives it.
    pub owner_server: Option<String>,
    /// Until when that server drives it.
    pub lease_until: Micros,
    /// The approval it waits or waited for.
    pub approval_id: Option<ApprovalId>,
    /// Somebody asked for its end before it had one.
    pub cancel_requested: bool,
    /// Who sent it to the background; none for one in the foreground.
    pub backgrounded: Option<BackgroundedBy>,
    /// Where its output is.
    pub output: OutputState,
    /// Exactly when it is `FINISHED`.
    pub result: Option<ExecutionResult>,
    /// W3C trace context of the request.
    pub traceparent: String,
    /// When it was created.
    pub created: Micros,
    /// When it last became `QUEUED`.
    pub queued: Micros,
    /// When it became `RUNNING`.
    pub started: Option<Micros>,
    /// When it became `FINISHED`.
    pub ended: Option<Micros>,
}

/// What must be known of an execution that has not ended to see what is next for it. Small, however
/// large its command is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveExecution {
    /// Made by the server.
    pub id: ExecutionId,
    /// As in [`ExecutionRecord`].
    pub version: u64,
    /// Where it runs.
    pub session_id: SessionId,
    /// Where it is in its life.
    pub state: ExecutionState,
    /// Whether its runner can be reached.
    pub link: Option<LinkState>,
    /// The runner it was offered to.
    pub runner_id: Option<RunnerId>,
    /// How many times it was offered.
    pub attempt: u32,
    /// The server that drives it.
    pub owner_server: Option<String>,
    /// Until when that server drives it.
    pub lease_until: Micros,
    /// The approval it waits or waited for.
    pub approval_id: Option<ApprovalId>,
    /// That approval is no longer open.
    pub is_answered: bool,
    /// Takes its turn in the order of its session.
    pub serial: bool,
    /// Was sent to the background.
    pub backgrounded: bool,
    /// When its time in the foreground is over.
    pub yields_at: Option<Micros>,
    /// When it was created.
    pub created: Micros,
    /// When it last became `QUEUED`.
    pub queued: Micros,
}

impl From<&ExecutionRecord> for LiveExecution {
    /// Of one whose approval is still open, if it has one.
    fn from(record: &ExecutionRecord) -> Self {
        Self {
            id: record.id,
            version: record.version,
            session_id: record.session_id,
            state: record.state,
            link: record.link,
            runner_id: record.runner_id.clone(),
            attempt: record.attempt,
            owner_server: record.owner_server.clone(),
            lease_until: record.lease_until,
            approval_id: record.approval_id,
            is_answered: false,
            serial: record.is_serial(),
            backgrounded: record.backgrounded.is_some(),
            yields_at: record.yields_at(),
            created: record.created,
            queued: record.queued,
        }
    }
}

/// One step in an execution's life, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The execution's version after it.
    pub version: u64,
    /// The state after it.
    pub state: ExecutionState,
    /// The link after it.
    pub link: Option<LinkState>,
    /// When.
    pub at: Micros,
    /// With `PENDING_APPROVAL`.
    pub approval_id: Option<ApprovalId>,
    /// From the step on that sent it to the background.
    pub backgrounded_by: Option<BackgroundedBy>,
}

/// What is told of an execution to those who watch many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Milestone {
    /// It became `RUNNING`.
    Started,
    /// It was sent to the background.
    Backgrounded,
    /// It became `FINISHED`.
    Finished,
}

/// A milestone in the life of one execution, in its place among those of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MilestoneRecord {
    /// Grows from one to the next in the store; there are gaps.
    pub sequence: u64,
    /// Whose.
    pub execution_id: ExecutionId,
    /// Which.
    pub milestone: Milestone,
}

/// A runner as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerRecord {
    /// Its configured name.
    pub id: RunnerId,
    /// Its latest life.
    pub epoch: Epoch,
    /// Takes no new work.
    pub draining: bool,
    /// Airlock's version.
    pub version: String,
    /// Configured.
    pub labels: BTreeMap<String, String>,
    /// Commands at once.
    pub slots: u32,
    /// Base folders it offers.
    pub bases: Vec<String>,
    /// What it can enforce.
    pub capabilities: Vec<CapabilityRecord>,
    /// The names of its shells, with their versions. None at all: they are not known.
    pub shells: BTreeMap<String, String>,
    /// The last time it was heard.
    pub last_seen: Micros,
}

/// A server as the others know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRecord {
    /// Its configured name.
    pub id: String,
    /// Where other servers reach it, as `https://host:port`; none where they cannot.
    pub address: Option<String>,
    /// The runners that it has a link to, each with the life that it is to.
    pub links: Vec<(RunnerId, Epoch)>,
}

/// One thing a runner's host can or cannot enforce.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CapabilityRecord {
    /// A stable name.
    pub name: String,
    /// Whether it holds.
    pub enforced: bool,
    /// What was found.
    pub detail: String,
}

/// An audit entry: opened before a command can start, closed after it ended. Denials have one too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Consecutive within the store.
    pub sequence: i64,
    /// What it is about.
    pub execution_id: ExecutionId,
    /// Whose.
    pub tenant: String,
    /// Who asked.
    pub principal: String,
    /// From where.
    pub peer: String,
    /// What.
    pub command: Vec<u8>,
    /// The decision's verdict.
    pub verdict: Verdict,
    /// The code of its deciding reason.
    pub reason_code: String,
    /// Who approved or denied it, where a person did.
    pub decided_by: String,
    /// Where it ran.
    pub runner_id: Option<RunnerId>,
    /// When it was opened.
    pub opened: Micros,
    /// When it was closed; none while the command may still run.
    pub closed: Option<Micros>,
    /// The cause's name, once closed.
    pub cause: String,
    /// `NO`, `YES` or `UNKNOWN`, once closed.
    pub started: String,
}
