//! The records that the server stores: sessions, executions, approvals, runners and audit entries.
//!
//! Plain data. This module must not access a store or use generated protobuf types.

mod approval;
mod decision;
mod order;
mod restore;
mod time;

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    ApprovalId, BackgroundedBy, CommandSpec, Epoch, ExecutionId, ExecutionResult, ExecutionState, Given,
    LinkState, Mode, OutputState, RunnerId, SessionId, SessionSnapshot, Shell,
};

pub use approval::{ApprovalRecord, ApprovalState, RememberedRule, RuleScope};
pub use decision::{DecisionRecord, Verdict};
pub use restore::{RestoreRecord, RestoreStep};
pub use time::Micros;

/// A permission of a principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Runs commands.
    Executor,
    /// Answers approvals.
    Approver,
    /// Reads the audit.
    Auditor,
    /// Operates the service.
    Admin,
    /// Is a runner.
    Runner,
    /// Is another server of the same store.
    Server,
}

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The configured name.
    pub name: String,
    /// Its tenant. It sees the executions of this tenant.
    pub tenant: String,
    /// Its roles, sorted.
    pub roles: Vec<Role>,
    /// The profiles it may use. The first that is not [`ANY_PROFILE`] is its default.
    pub profiles: Vec<String>,
    /// Its network address, for the audit.
    pub peer: String,
}

/// The entry in a principal's profiles that matches every profile.
pub const ANY_PROFILE: &str = "*";

impl Principal {
    /// Returns the profile of requests that do not name one.
    #[must_use]
    pub fn default_profile(&self) -> Option<&str> {
        self.profiles.iter().map(String::as_str).find(|name| *name != ANY_PROFILE)
    }

    /// Reports whether the principal may use the profile with this name.
    #[must_use]
    pub fn may_use(&self, profile: &str) -> bool {
        self.profiles.iter().any(|own| own == profile || own == ANY_PROFILE)
    }
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Its runner was asked to create it.
    Opening,
    /// Usable.
    Open,
    /// Its commands are being ended.
    Closing,
    /// Closed on request.
    Closed,
    /// Lost with its runner.
    Lost,
}

/// The numbers of sessions that have not ended, by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionLevels {
    /// Sessions with a workspace that is being created.
    pub opening: u64,
    /// Usable sessions.
    pub open: u64,
    /// Sessions that are being removed.
    pub closing: u64,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// Created by the server.
    pub id: SessionId,
    /// Increases by one with each change.
    pub version: u64,
    /// Its tenant.
    pub tenant: String,
    /// The principal that created it.
    pub principal: String,
    /// The client's key.
    pub request_id: Option<String>,
    /// SHA-256 of the request that created it.
    pub request_hash: [u8; 32],
    /// Its state.
    pub state: SessionState,
    /// The reason why it is closed or lost.
    pub state_message: String,
    /// The profile's name.
    pub profile: String,
    /// The loosest mode of its commands.
    pub mode: Mode,
    /// The shell that reads its commands.
    pub shell: Shell,
    /// The working directory inside the sandbox.
    pub directory: Vec<u8>,
    /// Environment variables of every command.
    pub env: BTreeMap<String, Vec<u8>>,
    /// Its runner.
    pub runner_id: RunnerId,
    /// The base of its workspace. Empty: none.
    pub base: String,
    /// Labels from the client.
    pub labels: BTreeMap<String, String>,
    /// Labels that its runner must have.
    pub runner_labels: BTreeMap<String, String>,
    /// It is closed after this time without a live execution.
    pub idle_timeout: Duration,
    /// Created for a single execution.
    pub throwaway: bool,
    /// Its shell snapshot, as the runner reported it.
    pub snapshot: SessionSnapshot,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which its last execution was created or ended.
    pub last_used: Micros,
}

/// The specification of an execution: its command, and how the server treats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSpec {
    /// What runs, and how. Its directory is that of the latest decision.
    pub command: CommandSpec,
    /// The fields of `command` that the client set.
    pub given: Given,
    /// Runs in the background from the start.
    pub background: bool,
    /// The maximum time in the foreground. `None`: until the end.
    pub yield_after: Option<Duration>,
    /// The agent's description.
    pub description: String,
    /// Waits for an approver if policy asks. If false, the request fails.
    pub wait_for_approval: bool,
    /// The tighter of the session's mode and the request's.
    pub mode: Mode,
    /// Does not wait for other commands of the session.
    pub allow_concurrent: bool,
    /// Requests a run outside the sandbox.
    pub dangerously_disable_sandbox: bool,
    /// Labels from the client.
    pub labels: BTreeMap<String, String>,
}

/// An execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionRecord {
    /// Created by the server.
    pub id: ExecutionId,
    /// Increases by one with each change of state.
    pub version: u64,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted it.
    pub principal: String,
    /// The client's key.
    pub request_id: Option<String>,
    /// SHA-256 of every field of the request that influences what runs.
    pub request_hash: [u8; 32],
    /// Its specification.
    pub spec: ExecutionSpec,
    /// Its state.
    pub state: ExecutionState,
    /// Whether its runner can be reached. `None` if it is not on a runner.
    pub link: Option<LinkState>,
    /// The latest decision.
    pub decision: DecisionRecord,
    /// The runner that it was offered to.
    pub runner_id: Option<RunnerId>,
    /// The epoch that it was offered to.
    pub runner_epoch: Option<Epoch>,
    /// The number of offers.
    pub attempt: u32,
    /// The server that controls it.
    pub owner_server: Option<String>,
    /// The deadline of that server's lease.
    pub lease_until: Micros,
    /// The latest approval.
    pub approval_id: Option<ApprovalId>,
    /// A cancellation was requested.
    pub cancel_requested: bool,
    /// The reason why it runs in the background. `None` in the foreground.
    pub backgrounded: Option<BackgroundedBy>,
    /// The place of its output.
    pub output: OutputState,
    /// Set if and only if the state is `FINISHED`.
    pub result: Option<ExecutionResult>,
    /// The W3C trace context of the request.
    pub traceparent: String,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it last became `QUEUED`.
    pub queued: Micros,
    /// The time at which it became `RUNNING`.
    pub started: Option<Micros>,
    /// The time at which it became `FINISHED`.
    pub ended: Option<Micros>,
}

/// The fields of an unfinished execution that determine its next step. Small regardless of the size of the
/// command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveExecution {
    /// Created by the server.
    pub id: ExecutionId,
    /// As in [`ExecutionRecord`].
    pub version: u64,
    /// Its session.
    pub session_id: SessionId,
    /// Its state.
    pub state: ExecutionState,
    /// Whether its runner can be reached.
    pub link: Option<LinkState>,
    /// The runner that it was offered to.
    pub runner_id: Option<RunnerId>,
    /// The number of offers.
    pub attempt: u32,
    /// The server that controls it.
    pub owner_server: Option<String>,
    /// The deadline of that server's lease.
    pub lease_until: Micros,
    /// The latest approval.
    pub approval_id: Option<ApprovalId>,
    /// That approval is no longer open.
    pub is_answered: bool,
    /// Waits for earlier commands of its session.
    pub serial: bool,
    /// Runs in the background.
    pub backgrounded: bool,
    /// The time at which it moves to the background.
    pub yields_at: Option<Micros>,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which it last became `QUEUED`.
    pub queued: Micros,
}

impl From<&ExecutionRecord> for LiveExecution {
    /// Assumes that the execution's approval, if there is one, is still open.
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

/// A change of state, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateChange {
    /// The execution's version after it.
    pub version: u64,
    /// The state after it.
    pub state: ExecutionState,
    /// The link after it.
    pub link: Option<LinkState>,
    /// The time of the change.
    pub at: Micros,
    /// Set with `PENDING_APPROVAL`.
    pub approval_id: Option<ApprovalId>,
    /// Set from the step that moved the execution to the background.
    pub backgrounded_by: Option<BackgroundedBy>,
}

/// A step of an execution that watches report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Milestone {
    /// It became `RUNNING`.
    Started,
    /// It moved to the background.
    Backgrounded,
    /// It became `FINISHED`.
    Finished,
}

/// A milestone of one execution, with its position in the store's sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MilestoneRecord {
    /// Increases over the whole store, with gaps.
    pub sequence: u64,
    /// The execution.
    pub execution_id: ExecutionId,
    /// The milestone.
    pub milestone: Milestone,
}

/// A runner in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerRecord {
    /// Its configured name.
    pub id: RunnerId,
    /// Its latest epoch.
    pub epoch: Epoch,
    /// Accepts no new work.
    pub draining: bool,
    /// The version of Airlock.
    pub version: String,
    /// The configured labels.
    pub labels: BTreeMap<String, String>,
    /// The number of commands that can run at the same time.
    pub slots: u32,
    /// The bases that it offers.
    pub bases: Vec<String>,
    /// Its capabilities.
    pub capabilities: Vec<CapabilityRecord>,
    /// The names of its shells with their versions. Empty: unknown.
    pub shells: BTreeMap<String, String>,
    /// The time of its last message.
    pub last_seen: Micros,
}

/// A server in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRecord {
    /// Its configured name.
    pub id: String,
    /// The address at which other servers reach it, as `https://host:port`. `None`: it cannot be reached.
    pub address: Option<String>,
    /// The runners that it has a link to, with their epochs.
    pub links: Vec<(RunnerId, Epoch)>,
}

/// One protection or limit, and whether a runner's host can enforce it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CapabilityRecord {
    /// A stable name.
    pub name: String,
    /// Whether it is enforced.
    pub enforced: bool,
    /// The state that was found.
    pub detail: String,
}

/// An audit entry. It is opened before the command can start, and closed after its end. A denial also has
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Consecutive within the store.
    pub sequence: i64,
    /// The execution.
    pub execution_id: ExecutionId,
    /// The tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// Its network address.
    pub peer: String,
    /// The command.
    pub command: Vec<u8>,
    /// The verdict of the decision.
    pub verdict: Verdict,
    /// The code of the deciding reason.
    pub reason_code: String,
    /// The person who approved or denied it. Empty if no person did.
    pub decided_by: String,
    /// The runner.
    pub runner_id: Option<RunnerId>,
    /// The time at which it was opened.
    pub opened: Micros,
    /// The time at which it was closed. `None` while the command may still run.
    pub closed: Option<Micros>,
    /// The name of the cause. Set when the entry is closed.
    pub cause: String,
    /// `NO`, `YES` or `UNKNOWN`. Set when the entry is closed.
    pub started: String,
}
