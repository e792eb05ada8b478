//! The values of the operations of a store.

use std::time::Duration;

use airlock_domain::{
    Epoch, ExecutionId, ExecutionState, HookAnswer, HookBinding, Mode, NetworkRules, RunnerId, SessionId,
    SessionSnapshot,
};
use airlock_lifecycle::NotPermitted;

use super::room::Room;
use crate::record::{
    ApprovalRecord, ApprovalState, ExecutionRecord, MilestoneRecord, RememberedRule, SessionRecord,
    SessionState,
};

/// The reason why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is unreachable, was busy for too long, or is full.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The database rolled back the step because of a conflict, or the connection failed before the commit. The store
    /// is unchanged. Implementations retry the step, so callers never see this error.
    #[error("the transaction was rolled back: {0}")]
    Undone(String),
    /// A row that this version of Airlock cannot read, or a failed migration.
    #[error("the store contains invalid data: {0}")]
    Corrupt(String),
    /// A later version of Airlock wrote this store. Reported only when the store is opened.
    #[error(
        "the store has schema {found}, but this version of Airlock supports {known} at most; use a newer version"
    )]
    Newer {
        /// The schema version of the store.
        found: i64,
        /// The latest schema version that this program supports.
        known: i64,
    },
    /// A page token that is malformed or belongs to another query.
    #[error("not a page token of this list")]
    BadPageToken,
    /// A step that is never valid: it is outside the table of state transitions, or violates a constraint of the
    /// record. This is an error of the caller.
    #[error("the store refused the operation: {0}")]
    Refused(String),
    /// A limit is reached.
    #[error("limit `{limit}` of {value} is reached")]
    Full {
        /// The name of the limit.
        limit: &'static str,
        /// The value of the limit.
        value: u64,
    },
}

impl From<NotPermitted> for StoreError {
    fn from(NotPermitted(why): NotPermitted) -> Self {
        Self::Refused(why)
    }
}

/// The failures that a committed step survives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The death of the process.
    #[default]
    Process,
    /// Also the death of the host. Each step waits for the disk.
    Disk,
}

/// The result of a compare-and-set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cas<T> {
    /// The step was taken. Contains the new row.
    Done(T),
    /// The version did not match. Contains the current row.
    Stale(T),
    /// The row does not exist.
    Missing,
}

/// The result of writing a runner's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerPut {
    /// The record was written.
    Taken {
        /// The previous epoch of the runner, if it differs.
        before: Option<Epoch>,
    },
    /// The epoch is fenced, because a later epoch replaced it.
    Fenced,
}

/// A page of a list, newest first unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// At most as many items as were requested.
    pub items: Vec<T>,
    /// The token of the next page, or `None` at the end. Opaque outside the store.
    pub next: Option<String>,
}

/// The position in a list, and the size of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// The maximum number of items, from 1 to [`airlock_domain::limits::PAGE_SIZE_MAX`]; other values are clamped. A
    /// page of very large entries may hold fewer items and still have a next page.
    pub size: u32,
    /// The [`Page::next`] of the previous page.
    pub token: Option<String>,
}

/// A filter for sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only sessions of this tenant. `None` selects all tenants, for the server's own use.
    pub tenant: Option<String>,
    /// Only these states. Empty selects all states except `CLOSED`.
    pub states: Vec<SessionState>,
    /// Only sessions of this principal.
    pub principal: Option<String>,
    /// Only sessions with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only sessions on this runner.
    pub runner_id: Option<RunnerId>,
}

/// A filter for executions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionQuery {
    /// Only executions of this tenant. `None` selects all tenants, for the server's own use.
    pub tenant: Option<String>,
    /// Only executions of this session.
    pub session_id: Option<SessionId>,
    /// Only these states. Empty selects all states.
    pub states: Vec<ExecutionState>,
    /// Only executions of this principal.
    pub principal: Option<String>,
    /// Only executions with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only executions that were offered to this runner.
    pub runner_id: Option<RunnerId>,
    /// Only `FINISHED` executions with an output that is still `LIVE` or `STORING`.
    pub unstored: bool,
}

/// A filter for approvals, which are listed oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    /// Only approvals of this tenant. `None` selects all tenants, for the server's own use.
    pub tenant: Option<String>,
    /// Only approvals of this session.
    pub session_id: Option<SessionId>,
    /// Only these states. Empty selects `OPEN`.
    pub states: Vec<ApprovalState>,
}

/// A new execution. Its row, its first state, its open audit entry and its approval (if it waits for one) are written
/// in one transaction. If it is created as `FINISHED` (denied), its audit entry is opened and closed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExecution {
    /// The record. The store sets `version`, `created`, `queued`, `started` and `ended`.
    pub record: ExecutionRecord,
    /// The network address of the request, for the audit.
    pub peer: String,
    /// The approval of an execution in `PENDING_APPROVAL`. The store sets `created`, and computes `expires` from
    /// `approval_valid_micros`.
    pub approval: Option<ApprovalRecord>,
    /// The time for which the approval stays open, in microseconds.
    pub approval_valid_micros: i64,
    /// A session that is created with the execution, as by [`SessionStore::create_session`](super::SessionStore::create_session).
    pub session: Option<SessionRecord>,
    /// The limits. They are checked in the same transaction, after the request ID.
    pub room: Room,
}

/// The start of an execution whose hooks are about to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartClaim {
    /// The tenant.
    pub tenant: String,
    /// The principal that submits the command.
    pub principal: String,
    /// The client's key. `None`: the request cannot be repeated.
    pub request_id: Option<String>,
    /// SHA-256 of the request.
    pub request_hash: [u8; 32],
    /// The ID of the execution, unless an earlier request with this key has one.
    pub execution_id: ExecutionId,
    /// The session, or the ID of the session that is created with the execution.
    pub session_id: SessionId,
    /// The limits of the creation.
    pub room: Room,
}

/// A question to a hook. Execution, hook and binding identify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookQuestion {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Its session.
    pub session_id: SessionId,
    /// Its tenant.
    pub tenant: String,
    /// The principal that submitted the command.
    pub principal: String,
    /// The hook.
    pub hook: String,
    /// The hash that the answer is bound to.
    pub binding: HookBinding,
    /// The profile requires the hook.
    pub required: bool,
    /// The time after which a question without an answer counts as unanswered, in microseconds.
    pub wait_micros: i64,
}

/// The state of a question to a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookQuestionState {
    /// The caller must ask the hook.
    New,
    /// Another call asks the hook.
    Asked {
        /// The time after which the question counts as unanswered, in microseconds.
        wait_micros: i64,
    },
    /// The question has an answer.
    Answered(HookAnswer),
}

/// An answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// `Allowed`, `Denied` or `Expired`.
    pub state: ApprovalState,
    /// The name of the approver. Empty for `Expired`.
    pub decided_by: String,
    /// The approver's reason.
    pub reason: String,
    /// The rules to remember in the same transaction, only with `Allowed`.
    pub remember: Option<Remember>,
}

/// The outcome of a question about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionQuestion {
    /// The approval was created.
    Asked,
    /// It exists already. This is its present record.
    Known(Box<ApprovalRecord>),
    /// The execution does not run, or the ID belongs to another approval.
    Over,
    /// Too many questions of the tenant are open.
    Full,
}

/// Rules to remember. Existing rules stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// The rules, all of one scope. The store sets `created`.
    pub rules: Vec<RememberedRule>,
    /// The name of the limit.
    pub limit: &'static str,
    /// The maximum number of rules of the tenant or session.
    pub at_most: u64,
}

/// A filter for remembered rules, which are listed oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleQuery {
    /// Only rules of this tenant.
    pub tenant: String,
    /// Only rules of this session.
    pub session_id: Option<SessionId>,
}

/// A change to a session. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChange {
    /// The new state and its reason.
    pub state: Option<(SessionState, String)>,
    /// The new current directory.
    pub directory: Option<Vec<u8>>,
    /// Another runner, for a session that is not open yet.
    pub runner_id: Option<RunnerId>,
    /// The shell snapshot, or the reason why the session no longer has one.
    pub snapshot: Option<SessionSnapshot>,
    /// The new least strict mode of the session's commands.
    pub mode: Option<Mode>,
    /// The time without a live execution after which the session is closed.
    pub idle_timeout: Option<Duration>,
    /// The new network rules.
    pub network: Option<NetworkChange>,
    /// The author of a change of the network rules. The audit entry is written with the change.
    pub by: Option<ChangedBy>,
    /// Whether the change counts as a use of the session.
    pub used: bool,
}

/// The author of a change, for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedBy {
    /// The principal.
    pub principal: String,
    /// Its network address.
    pub peer: String,
}

/// A change of a session's network rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkChange {
    /// The session no longer narrows the profile's network.
    Reset,
    /// These rules narrow it.
    Set(NetworkRules),
}

impl NetworkChange {
    /// Returns the session's rules after the change.
    #[must_use]
    pub fn rules(&self) -> Option<&NetworkRules> {
        match self {
            Self::Reset => None,
            Self::Set(rules) => Some(rules),
        }
    }
}

/// A filter for milestones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MilestoneQuery {
    /// Only milestones of this tenant's executions.
    pub tenant: String,
    /// Only milestones of this session's executions.
    pub session_id: Option<SessionId>,
}

/// Milestones and the range of sequences in the store, from one consistent snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestones {
    /// The random ID of the store, created with it.
    pub store: [u8; 16],
    /// The lowest sequence that is still held. Lower ones may have been pruned.
    pub oldest: u64,
    /// The highest sequence that was ever assigned, or 0.
    pub latest: u64,
    /// The milestones in ascending order of their sequences.
    pub found: Vec<MilestoneRecord>,
}

/// The number of fenced epochs that are kept per runner.
pub const FENCED_EPOCHS: usize = 16;
/// The maximum number of results of [`ExecutionStore::state_changes`](super::ExecutionStore::state_changes).
pub const STATE_CHANGES_AT_ONCE: usize = 1024;
