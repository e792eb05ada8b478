//! The records of a store: sessions, executions, approvals, remembered rules, runners, audit entries, restores and
//! forwarded connections.
//!
//! Plain data. The records of executions and approvals are those of the state machine in `airlock_lifecycle`. This
//! module must not access a store or use generated protobuf types.

use std::{collections::BTreeMap, time::Duration};

use airlock_domain::{
    ApprovalId, Epoch, ExecutionId, ForwardId, HookAnswer, Mode, NetworkRules, RuleId, RunnerId, SessionId,
    SessionSnapshot, Shell,
};

pub use airlock_lifecycle::record::{
    ApprovalRecord, ApprovalState, AskedConnection, DecisionRecord, ExecutionRecord, ExecutionSpec,
    LiveExecution, Micros, Milestone, StateChange, Verdict,
};

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// The runner has been asked to create the session.
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
    /// The rules that narrow the profile's network. `None`: it is not narrowed.
    pub network: Option<NetworkRules>,
    /// The time of its creation.
    pub created: Micros,
    /// The time at which its last execution was created or ended.
    pub last_used: Micros,
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

/// A step of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreStep {
    /// Written before the request to the runner.
    Begun,
    /// The runner has restored the file.
    Restored,
    /// The runner refused or did not respond.
    Failed,
}

/// An audit entry of a restore. Each restore has two entries: one before and one after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRecord {
    /// The session of the file.
    pub session_id: SessionId,
    /// The tenant of the session.
    pub tenant: String,
    /// The principal that restores the file.
    pub principal: String,
    /// Its network address.
    pub peer: String,
    /// The ID of the quarantined file.
    pub quarantine_id: String,
    /// The execution that created the file, if it is known.
    pub execution_id: Option<ExecutionId>,
    /// The original path inside the sandbox. After the restore, the actual path.
    pub path: Vec<u8>,
    /// The step.
    pub step: RestoreStep,
    /// The time. Set by the store.
    pub at: Micros,
}

/// A step of a forwarded connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardStep {
    /// Written before the request to the runner.
    Begun,
    /// Both directions have ended.
    Ended,
    /// The connection was not created, or was cut.
    Failed,
    /// The profile does not permit the port.
    Refused,
}

/// An audit entry of a client's connection to a port of a session. Each connection has two entries, one before and one
/// after it, or one if it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForwardRecord {
    /// The connection. Both entries have the same ID.
    pub id: ForwardId,
    /// The session.
    pub session_id: SessionId,
    /// The tenant of the session.
    pub tenant: String,
    /// The principal that opened the connection.
    pub principal: String,
    /// Its network address.
    pub peer: String,
    /// The port of the session's loopback.
    pub port: u16,
    /// The step.
    pub step: ForwardStep,
    /// The reason code of a failure or refusal. Empty otherwise.
    pub reason: String,
    /// Bytes from the client to the program.
    pub sent: u64,
    /// Bytes from the program to the client.
    pub received: u64,
    /// The duration of the connection in microseconds.
    pub duration_micros: i64,
    /// The time. Set by the store.
    pub at: Micros,
}

/// An audit entry of a change of a session's network rules. The rules are bounded by the limits of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkChangeRecord {
    /// The session.
    pub session_id: SessionId,
    /// The tenant of the session.
    pub tenant: String,
    /// The principal that changed the rules.
    pub principal: String,
    /// Its network address.
    pub peer: String,
    /// The rules before the change. `None`: the session did not narrow the profile's network.
    pub old: Option<NetworkRules>,
    /// The rules after the change.
    pub new: Option<NetworkRules>,
    /// The time. Set by the store.
    pub at: Micros,
}

/// An audit entry of an answer to a question about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRecord {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The execution whose connection waited.
    pub execution_id: ExecutionId,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The connection.
    pub connection: AskedConnection,
    /// `Allowed`, `Denied` or `Expired`.
    pub answer: ApprovalState,
    /// The approver. Empty for `Expired`.
    pub principal: String,
    /// The approver's reason.
    pub reason: String,
    /// The time of the answer.
    pub at: Micros,
}

/// An audit entry of the answer of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRecord {
    /// The execution. It does not exist if the client did not complete its start.
    pub execution_id: ExecutionId,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// The answer.
    pub answer: HookAnswer,
    /// The time of the answer.
    pub at: Micros,
}

/// An audit entry of a connection of a command to another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The tenant of the execution.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// The name or address that the command asked for.
    pub host: String,
    /// The port.
    pub port: i64,
    /// `http`, `connect` or `socks`.
    pub protocol: String,
    /// `allowed`, `warned`, `refused` or `failed`.
    pub verdict: String,
    /// The entry that decided. Empty if none did.
    pub rule: String,
    /// The first layer that refused it, or that warned about it. Empty if none did.
    pub layer: String,
    /// The other layers, with commas between them. Empty in entries of earlier versions.
    pub other_layers: String,
    /// The kind of the address that was refused, such as `private`. Empty if none was, and in entries of earlier versions.
    pub address_kind: String,
    /// Bytes to the host.
    pub bytes_up: i64,
    /// Bytes from the host.
    pub bytes_down: i64,
    /// The start by the runner's clock.
    pub started: Micros,
    /// In microseconds.
    pub duration: i64,
}

/// The scope of a remembered rule, ordered from narrow to wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleScope {
    /// The session of the approved command.
    Session,
    /// The tenant's sessions with the same profile.
    Tenant,
}

impl RuleScope {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Tenant => "tenant",
        }
    }
}

/// A rule that an approver added with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedRule {
    /// Created by the server.
    pub id: RuleId,
    /// Its tenant.
    pub tenant: String,
    /// The session that it applies to. `None`: all of the tenant's sessions with its profile.
    pub session_id: Option<SessionId>,
    /// The profile that it applies to.
    pub profile: String,
    /// The rule, in the syntax of a profile.
    pub rule: String,
    /// The approval that it was added with.
    pub approval_id: ApprovalId,
    /// The approver.
    pub decided_by: String,
    /// The time of its creation.
    pub created: Micros,
}

impl RememberedRule {
    /// Returns its scope.
    #[must_use]
    pub fn scope(&self) -> RuleScope {
        if self.session_id.is_some() { RuleScope::Session } else { RuleScope::Tenant }
    }
}
