//! What the server remembers.
//!
//! The trait speaks in whole steps, each one transaction: nothing outside the implementations writes
//! SQL, and no step leaves a half-written state behind, whenever the process dies. Times are the
//! store's.

use std::time::Duration;

use airlock_proto::domain::{
    ApprovalId, BackgroundedBy, Epoch, ExecutionId, ExecutionResult, ExecutionState, LinkState, Mode,
    OutputState, RuleId, RunnerId, SessionId, SessionSnapshot,
};

use crate::model::{
    ApprovalRecord, ApprovalState, AuditRecord, DecisionRecord, ExecutionRecord, LiveExecution, Micros,
    MilestoneRecord, RememberedRule, RestoreRecord, RunnerRecord, ServerRecord, SessionLevels, SessionRecord,
    SessionState, StateChange,
};

#[cfg(test)]
pub(crate) mod contract;
pub(crate) mod page;
pub mod postgres;
mod room;
mod sql;
pub mod sqlite;
mod step;

pub use room::{Created, OutputBy, Room, TakeQueued};

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine is gone, busy for too long, or full.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The engine undid a step for the sake of another, or lost the connection before it was committed.
    /// Nothing has happened; implementations try again by themselves, so that no caller sees it.
    #[error("the step was undone: {0}")]
    Undone(String),
    /// A row that this version of Airlock cannot read, or a migration that failed.
    #[error("the store holds something unreadable: {0}")]
    Corrupt(String),
    /// A later version of Airlock wrote this store; only said when it is opened.
    #[error("the store has schema {found}, and this version of airlock knows none later than {known}")]
    Newer {
        /// The store's.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// A page token that was not made by this store, or was made for another query.
    #[error("not a page token of this list")]
    BadPageToken,
    /// A step that can never be taken: outside the closed table of states, or against a record's own
    /// rules. The caller is at fault.
    #[error("the store refuses the step: {0}")]
    Refused(String),
    /// There are as many as there may be.
    #[error("limit `{limit}` of {value} is reached")]
    Full {
        /// Its name.
        limit: &'static str,
        /// Its value.
        value: u64,
    },
}

/// What a committed step survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The death of the process.
    #[default]
    Process,
    /// The death of the host, too; each step waits for the disk.
    Disk,
}

/// What became of a compare-and-set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cas<T> {
    /// Done; the row as it is now.
    Done(T),
    /// The version was another; the row as it is.
    Stale(T),
    /// There is no such row.
    Missing,
}

/// What became of a runner's record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunnerPut {
    /// It was written.
    Taken {
        /// The life that the runner had before, if that was another.
        before: Option<Epoch>,
    },
    /// This life was followed by another.
    Fenced,
}

/// A page of a list, newest first unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// At most as many as were asked for.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end. Opaque outside the store.
    pub next: Option<String>,
}

/// Where in a list, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageQuery {
    /// At least 1; more than [`airlock_proto::limits::PAGE_SIZE_MAX`] gives that many. A page of very
    /// large entries may hold fewer, and then has a next one.
    pub size: u32,
    /// [`Page::next`] of the page before.
    pub token: Option<String>,
}

/// Which sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only this tenant's; all for the server itself.
    pub tenant: Option<String>,
    /// Empty: all but `CLOSED`.
    pub states: Vec<SessionState>,
    /// Only this principal's.
    pub principal: Option<String>,
    /// Only with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only on this runner.
    pub runner_id: Option<RunnerId>,
}

/// Which executions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionQuery {
    /// Only this tenant's; all for the server itself.
    pub tenant: Option<String>,
    /// Only of this session.
    pub session_id: Option<SessionId>,
    /// Empty: all.
    pub states: Vec<ExecutionState>,
    /// Only this principal's.
    pub principal: Option<String>,
    /// Only with all of these labels.
    pub labels: Vec<(String, String)>,
    /// Only offered to this runner.
    pub runner_id: Option<RunnerId>,
    /// Only `FINISHED` ones whose output is still `LIVE` or `STORING`.
    pub unstored: bool,
}

/// Which approvals, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalQuery {
    /// Only this tenant's; all for the server itself.
    pub tenant: Option<String>,
    /// Only of this session.
    pub session_id: Option<SessionId>,
    /// Empty: `OPEN`.
    pub states: Vec<ApprovalState>,
}

/// A new execution: its row, its first state, its open audit entry and, if it waits for a person, its
/// approval are written in one transaction. One that is created `FINISHED` (denied) has its audit
/// entry opened and closed at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExecution {
    /// `version`, `created`, `queued`, `started` and `ended` are set by the store.
    pub record: ExecutionRecord,
    /// Where the request came from, for the audit.
    pub peer: String,
    /// With `PENDING_APPROVAL`; `created` and `expires` are set by the store, `expires` from
    /// `approval_valid_micros`.
    pub approval: Option<ApprovalRecord>,
    /// How long the approval stays open.
    pub approval_valid_micros: i64,
    /// The session that is made for it and with it, as in [`Store::create_session`].
    pub session: Option<SessionRecord>,
    /// Checked in the same transaction, after the key.
    pub room: Room,
}

/// A step in an execution's life. `None` leaves a field as it is.
///
/// The version grows by one, and the history by one entry, with a change of state or link, an offer, a
/// new approval, a change of owner, and when it is sent to the background. A renewed lease of the same owner, a decision, a request to
/// end, and the place of the output alone leave the version as it is: each is set by itself, so that
/// none can be lost to another. Outside `STARTING` and `RUNNING` there is no link. Whatever leaves
/// `PENDING_APPROVAL` withdraws an approval that is still open. An offer and `STARTING` go together. A
/// `FINISHED` execution takes only a lease and an output. Only what is `RUNNING` and stays so is sent to
/// the background, once; from then on it is not serial. The result of what does not move its session
/// (`ExecutionRecord::moves_session`) says of its directory that it was not kept, whatever its runner said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transition {
    /// The new state; must be one that may follow, or equal for a change of link alone.
    pub state: Option<ExecutionState>,
    /// The new link.
    pub link: Option<Option<LinkState>>,
    /// The runner and its epoch, when it is offered; also raises `attempt` by one.
    pub offer: Option<(RunnerId, Epoch)>,
    /// The driving server, and for how long.
    pub lease: Option<(String, i64)>,
    /// A new decision, and the directory it was made for.
    pub decision: Option<(DecisionRecord, Vec<u8>)>,
    /// A new approval, when it (again) waits for a person.
    pub approval: Option<(ApprovalRecord, i64)>,
    /// Somebody asked for its end.
    pub cancel_requested: Option<bool>,
    /// Somebody sends it to the background.
    pub backgrounded: Option<BackgroundedBy>,
    /// Where the output is.
    pub output: Option<OutputState>,
    /// With `FINISHED`: the result; closes the audit entry, withdraws an open approval, touches the
    /// session, and (where the result's directory was kept) moves its current directory.
    pub result: Option<ExecutionResult>,
}

/// An answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalAnswer {
    /// `Allowed`, `Denied` or `Expired`.
    pub state: ApprovalState,
    /// Who; empty for an expiry.
    pub decided_by: String,
    /// What they wrote.
    pub reason: String,
    /// With `Allowed`: what is remembered in the same transaction.
    pub remember: Option<Remember>,
}

/// Rules to remember. Those that are there already stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    /// All of one scope; `created` is set by the store.
    pub rules: Vec<RememberedRule>,
    /// The name of the limit.
    pub limit: &'static str,
    /// How many there may be of that tenant or session.
    pub at_most: u64,
}

/// Which remembered rules, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleQuery {
    /// Only this tenant's.
    pub tenant: String,
    /// Only of this session.
    pub session_id: Option<SessionId>,
}

/// A change to a session. `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChange {
    /// The new state and why.
    pub state: Option<(SessionState, String)>,
    /// The new current directory.
    pub directory: Option<Vec<u8>>,
    /// Another runner, before it was opened.
    pub runner_id: Option<RunnerId>,
    /// Its shell snapshot, or why it has none any more.
    pub snapshot: Option<SessionSnapshot>,
    /// The new loosest mode of its commands.
    pub mode: Option<Mode>,
    /// Closed after so long without a live execution.
    pub idle_timeout: Option<Duration>,
    /// This is a use of it.
    pub used: bool,
}

/// Whose milestones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MilestoneQuery {
    /// Only of this tenant's executions.
    pub tenant: String,
    /// Only of this session's.
    pub session_id: Option<SessionId>,
}

/// Milestones, and the range that the store has. All of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Milestones {
    /// Of the store: random, made with it.
    pub store: [u8; 16],
    /// Sequences before this one may have been pruned.
    pub oldest: u64,
    /// The highest sequence that was ever given; 0 before the first.
    pub latest: u64,
    /// In the order of their sequences.
    pub found: Vec<MilestoneRecord>,
}

/// Lives of one runner that are remembered as fenced.
pub const FENCED_EPOCHS: usize = 16;
/// Of [`Store::state_changes`].
pub const STATE_CHANGES_AT_ONCE: usize = 1024;

/// What the server remembers. Every method is one transaction and cancel-safe: dropped midway, it has
/// happened or it has not. All can fail with [`StoreError::Unavailable`].
#[async_trait::async_trait]
pub trait Store: Send + Sync {
    /// The store's clock.
    async fn now(&self) -> Result<Micros, StoreError>;

    /// Adds a session (`version`, `created`, `last_used` are set here), unless its key was used or its
    /// tenant has `per_tenant` that are live.
    async fn create_session(
        &self,
        session: SessionRecord,
        per_tenant: u64,
    ) -> Result<Created<SessionRecord>, StoreError>;
    /// One session, of any tenant.
    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError>;
    /// Sessions, newest first.
    async fn sessions(
        &self,
        query: &SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, StoreError>;
    /// Changes a session if its version is still `version`. A use (`last_used`) leaves the version as
    /// it is; a directory that a result moves raises it.
    async fn change_session(
        &self,
        id: SessionId,
        version: u64,
        change: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError>;
    /// Notes that a session is used just now; not a change of it. Nothing happens without such a row.
    async fn touch_session(&self, id: SessionId) -> Result<(), StoreError>;
    /// `OPEN` sessions without a live execution whose idle time-out is over.
    async fn idle_sessions(&self, at_most: u32) -> Result<Vec<SessionRecord>, StoreError>;
    /// How many sessions of all tenants are not over.
    async fn session_levels(&self) -> Result<SessionLevels, StoreError>;

    /// Adds an execution with its audit entry, unless its key was used or there is no room for it.
    async fn create_execution(&self, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError>;
    /// The execution made with this key, if any.
    async fn execution_by_request(
        &self,
        tenant: &str,
        principal: &str,
        request_id: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError>;
    /// One execution, of any tenant.
    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError>;
    /// Executions, newest first.
    async fn executions(
        &self,
        query: &ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError>;
    /// Executions that are not `FINISHED`, of one session or of all, oldest first; those after `after`.
    async fn live_executions(
        &self,
        session: Option<SessionId>,
        after: Option<ExecutionId>,
        at_most: u32,
    ) -> Result<Vec<LiveExecution>, StoreError>;
    /// Takes a step if the version is still `version`. [`StoreError::Refused`] if the version is right
    /// and the step is not one of the closed table, or `FINISHED` and a result do not come together.
    async fn transition(
        &self,
        id: ExecutionId,
        version: u64,
        step: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError>;
    /// Takes what is `QUEUED` for a runner, whichever server drives it, for this server to place: only what its
    /// session's order lets run now, fairly between tenants (see [`crate::fair`]), those first that have waited longest
    /// of each. No two servers take the same.
    async fn take_queued(&self, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError>;
    /// Changes only where the output is, if `by` still has a say in that; whether it did. Not a step: version and
    /// history stay.
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError>;
    /// Takes the storing of a `FINISHED` execution's output, which is `LIVE` or `STORING`, for so long: from nobody,
    /// from itself, or from a server whose lease is over. Whether it did. Not a step: version and history stay.
    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError>;
    /// Executions whose output nobody stores, though it could be: `FINISHED`, `LIVE` or `STORING`, without a lease, on
    /// a runner that `server_id` has announced a link to. The oldest of each runner first, then the next of each.
    async fn unstored(&self, server_id: &str, at_most: u32) -> Result<Vec<ExecutionRecord>, StoreError>;
    /// Says of outputs that are `LIVE` or `STORING` without a lease that they are `LOST`, where the execution ended and its
    /// runner was last heard more than `away_micros` ago; of which executions, oldest first.
    async fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Result<Vec<ExecutionId>, StoreError>;
    /// Executions that ended before `before` and whose output is `STORED` or `PARTIAL`, oldest first.
    async fn outputs_ended_before(
        &self,
        before: Micros,
        at_most: u32,
    ) -> Result<Vec<ExecutionId>, StoreError>;
    /// Renews the lease of every execution that `server_id` drives and that is not `FINISHED`; how many.
    async fn renew_leases(&self, server_id: &str, lease_micros: i64) -> Result<u64, StoreError>;
    /// The steps of an execution's life after `version`, in order; at most
    /// [`STATE_CHANGES_AT_ONCE`], so ask again after the last.
    async fn state_changes(
        &self,
        id: ExecutionId,
        after_version: u64,
    ) -> Result<Vec<StateChange>, StoreError>;

    /// The milestones of executions after `after`, at most `at_most`.
    ///
    /// Each is written in the transaction of its step, and each step has at most one. Whoever has seen all
    /// up to a sequence never has to look back: none with a lower one may become visible after a higher one
    /// was. An engine whose transactions commit in another order than they take their numbers must give
    /// the number as the last thing before the commit, under a lock that it holds until then, or hide what
    /// has a transaction in flight before it. A sequence is never given twice, even after pruning.
    async fn milestones(
        &self,
        query: &MilestoneQuery,
        after: u64,
        at_most: u32,
    ) -> Result<Milestones, StoreError>;

    /// One approval, of any tenant.
    async fn approval(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError>;
    /// Approvals, oldest first.
    async fn approvals(
        &self,
        query: &ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, StoreError>;
    /// Answers an approval; the execution is not touched. [`Cas::Stale`] if it is no longer open, if it
    /// is allowed or denied after its time (it is `OPEN` then, until somebody answers `Expired`), or if
    /// it is answered `Expired` before. [`StoreError::Full`] with more rules to remember than there may be.
    async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError>;
    /// Open approvals whose time is over.
    async fn expired_approvals(&self, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError>;
    /// The rules that count for a command of this session and profile, oldest first. Those of a session go when it
    /// becomes `CLOSED` or `LOST`.
    async fn rules_in_force(
        &self,
        tenant: &str,
        profile: &str,
        session: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError>;
    /// Remembered rules, oldest first.
    async fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Result<Page<RememberedRule>, StoreError>;
    /// Removes a rule of this tenant, and notes by whom; none if there is no such rule.
    async fn remove_rule(
        &self,
        tenant: &str,
        id: RuleId,
        by: &str,
    ) -> Result<Option<RememberedRule>, StoreError>;

    /// Adds or replaces a runner (`last_seen` is set here). Another epoch than the one that is there fences that
    /// one for good; a fenced one is not written.
    async fn put_runner(&self, runner: &RunnerRecord) -> Result<RunnerPut, StoreError>;
    /// One runner.
    async fn runner(&self, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError>;
    /// Runners by id.
    async fn runners(&self, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError>;
    /// Notes that a runner was heard just now.
    async fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError>;

    /// Notes that this server is there for so long, with these links and no others. With no time it leaves. Servers
    /// whose time is over go with it.
    async fn announce(&self, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError>;
    /// The servers that are there, by id.
    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError>;

    /// Audit entries in order, those after `after_sequence`. Fewer than `at_most` where they are large;
    /// none only at the end.
    async fn audit(&self, after_sequence: i64, at_most: u32) -> Result<Vec<AuditRecord>, StoreError>;
    /// Adds an audit entry of something that is given back from quarantine; its time is set here.
    async fn note_restore(&self, entry: &RestoreRecord) -> Result<(), StoreError>;
    /// Those entries, in the order in which they were written.
    async fn restores(&self, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError>;
    /// Ends with everything written.
    async fn close(&self);
}
