//! The operations of a store, by concern.
//!
//! Every method is one transaction. Every method is cancel-safe: if its future is dropped, the transaction is either
//! complete or rolled back. Every method can fail with [`StoreError::Unavailable`].

use airlock_domain::{ApprovalId, Epoch, ExecutionId, HookAnswer, OutputState, RuleId, RunnerId, SessionId};
use airlock_lifecycle::{OutputBy, Transition};

use super::{
    delivery::{Delivery, TakeDeliveries},
    room::{Created, TakeQueued},
    values::{
        ApprovalAnswer, ApprovalQuery, Cas, ConnectionQuestion, ExecutionQuery, HookQuestion,
        HookQuestionState, MilestoneQuery, Milestones, NewExecution, Page, PageQuery, RuleQuery, RunnerPut,
        SessionChange, SessionQuery, StartClaim, StoreError,
    },
};
use crate::record::{
    AnswerRecord, ApprovalRecord, AuditRecord, ConnectionRecord, ExecutionRecord, ForwardRecord, HookRecord,
    LiveExecution, Micros, NetworkChangeRecord, RememberedRule, RestoreRecord, RunnerRecord, ServerRecord,
    SessionLevels, SessionRecord, StateChange,
};

/// The stored sessions.
#[async_trait::async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session, unless its request ID was used or its tenant has `per_tenant` live sessions. The store sets
    /// `version`, `created` and `last_used`.
    async fn create_session(
        &self,
        session: SessionRecord,
        per_tenant: u64,
    ) -> Result<Created<SessionRecord>, StoreError>;
    /// Returns a session of any tenant.
    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError>;
    /// Lists sessions, newest first.
    async fn sessions(
        &self,
        query: &SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, StoreError>;
    /// Changes a session if its version is still `version`. A use (`last_used`) leaves the version unchanged. A change
    /// of the directory by a result raises it.
    async fn change_session(
        &self,
        id: SessionId,
        version: u64,
        change: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError>;
    /// Sets a session's `last_used` to the current time without raising its version. Does nothing if the session does
    /// not exist.
    async fn touch_session(&self, id: SessionId) -> Result<(), StoreError>;
    /// Returns `OPEN` sessions without a live execution and with an expired idle timeout.
    async fn idle_sessions(&self, at_most: u32) -> Result<Vec<SessionRecord>, StoreError>;
    /// Counts the sessions of all tenants that are not closed or lost.
    async fn session_levels(&self) -> Result<SessionLevels, StoreError>;
}

/// The stored executions and their milestones.
#[async_trait::async_trait]
pub trait ExecutionStore: Send + Sync {
    /// Creates an execution with its audit entry, unless its request ID was used or a limit is reached.
    async fn create_execution(&self, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError>;
    /// Returns the execution that was created with this request ID, if any.
    async fn execution_by_request(
        &self,
        tenant: &str,
        principal: &str,
        request_id: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError>;
    /// Returns an execution of any tenant.
    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError>;
    /// Lists executions, newest first.
    async fn executions(
        &self,
        query: &ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError>;
    /// Returns executions that are not `FINISHED`, of one session or of all, oldest first. Only those after `after`.
    async fn live_executions(
        &self,
        session: Option<SessionId>,
        after: Option<ExecutionId>,
        at_most: u32,
    ) -> Result<Vec<LiveExecution>, StoreError>;
    /// Takes a step if the version is still `version`. Returns [`StoreError::Refused`] if the version matches and the
    /// step is not permitted, or if only one of `FINISHED` and a result is set.
    async fn transition(
        &self,
        id: ExecutionId,
        version: u64,
        step: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError>;
    /// Takes `QUEUED` executions of a runner for placement by this server, whichever server owns them. Takes only
    /// executions that the order of their session lets run now. Tenants are served fairly (see [`crate::fair`]), the
    /// oldest execution of each tenant first. No two servers take the same execution.
    async fn take_queued(&self, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError>;
    /// Renews the lease of every execution that `server_id` owns and that is not `FINISHED`. Returns their number.
    async fn renew_leases(&self, server_id: &str, lease_micros: i64) -> Result<u64, StoreError>;
    /// Returns the steps of an execution after `version`, in order. Returns at most
    /// [`STATE_CHANGES_AT_ONCE`](super::STATE_CHANGES_AT_ONCE); call again with the last version for more.
    async fn state_changes(
        &self,
        id: ExecutionId,
        after_version: u64,
    ) -> Result<Vec<StateChange>, StoreError>;
    /// Returns at most `at_most` milestones after the sequence `after`.
    ///
    /// Each milestone is written in the transaction of its step, and each step has at most one. A lower sequence never
    /// becomes visible after a higher one. A reader that has all milestones up to a sequence therefore never needs
    /// earlier ones. An engine that can commit in another order than it assigns numbers has two options. It assigns the
    /// number last, under a lock that it holds until the commit, or it hides milestones that follow an open
    /// transaction. A sequence is never reused, even after pruning.
    async fn milestones(
        &self,
        query: &MilestoneQuery,
        after: u64,
        at_most: u32,
    ) -> Result<Milestones, StoreError>;
}

/// The states of the outputs of ended executions.
#[async_trait::async_trait]
pub trait OutputStore: Send + Sync {
    /// Changes the state of the output, if `by` may still change it. Returns whether it did. Version and history stay
    /// unchanged.
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError>;
    /// Leases the storing of an output that is `LIVE` or `STORING`, of a `FINISHED` execution. Succeeds if the output
    /// has no lease, or if this server holds the lease, or if it has expired. Returns whether it succeeded. Version and
    /// history stay unchanged.
    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError>;
    /// Returns executions with an output that could be stored and that no server stores: `FINISHED`, `LIVE` or
    /// `STORING`, without a valid lease, on a runner that `server_id` has announced a link to. The oldest of each
    /// runner come first, then the second of each.
    async fn unstored(&self, server_id: &str, at_most: u32) -> Result<Vec<ExecutionRecord>, StoreError>;
    /// Marks `LIVE` or `STORING` outputs without a valid lease as `LOST`. The execution must have ended, and its runner
    /// must have been silent, for more than `away_micros`. Returns the executions, oldest first.
    async fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Result<Vec<ExecutionId>, StoreError>;
    /// Returns executions that ended before `before` and have a `STORED` or `PARTIAL` output, oldest first.
    async fn outputs_ended_before(
        &self,
        before: Micros,
        at_most: u32,
    ) -> Result<Vec<ExecutionId>, StoreError>;
}

/// The stored approvals and remembered rules.
#[async_trait::async_trait]
pub trait ApprovalStore: Send + Sync {
    /// Returns an approval of any tenant.
    async fn approval(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError>;
    /// Lists approvals, oldest first.
    async fn approvals(
        &self,
        query: &ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, StoreError>;
    /// Answers an approval without changing its execution. Returns [`Cas::Stale`] if the approval is no longer open, if
    /// an answer other than `Expired` comes after its expiry, or if `Expired` comes before it. An approval stays `OPEN`
    /// after its expiry until it is answered `Expired`. Returns [`StoreError::Full`] if there would be too many
    /// remembered rules.
    async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError>;
    /// Adds the approval for a connection of an execution on its runner, and an entry to the execution's history. The
    /// store sets `created`, and computes `expires` from `valid_micros`. At most `at_most` such approvals of a tenant are
    /// open. Idempotent by the ID.
    async fn ask_about_connection(
        &self,
        approval: &ApprovalRecord,
        valid_micros: i64,
        at_most: u64,
    ) -> Result<ConnectionQuestion, StoreError>;
    /// Withdraws an open approval for a connection of this execution. Returns whether it was open.
    async fn withdraw_question(
        &self,
        execution: ExecutionId,
        approval: ApprovalId,
    ) -> Result<bool, StoreError>;
    /// Returns open approvals that have expired.
    async fn expired_approvals(&self, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError>;
    /// Returns the rules that apply to a command of this session and profile, oldest first. The rules of a session are
    /// removed when it becomes `CLOSED` or `LOST`.
    async fn rules_in_force(
        &self,
        tenant: &str,
        profile: &str,
        session: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError>;
    /// Lists remembered rules, oldest first.
    async fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Result<Page<RememberedRule>, StoreError>;
    /// Removes a rule of this tenant and records who removed it. Returns `None` if the rule does not exist.
    async fn remove_rule(
        &self,
        tenant: &str,
        id: RuleId,
        by: &str,
    ) -> Result<Option<RememberedRule>, StoreError>;
}

/// The questions to hooks and their answers. Each question is asked once, whichever server handles a repeated request.
#[async_trait::async_trait]
pub trait HookStore: Send + Sync {
    /// Returns the IDs of the execution and the session of a start, before its hooks are asked. Requests with the same key
    /// get the same IDs for an hour. Returns the result of the creation instead if it is known: the key was used, or a
    /// limit is reached.
    async fn claim_start(
        &self,
        claim: &StartClaim,
    ) -> Result<Result<(ExecutionId, SessionId), Created<ExecutionRecord>>, StoreError>;
    /// Records that a question is asked, if it is new. Otherwise returns its state. A question that was not answered in
    /// time gets the answer `Unavailable`: it is never asked again.
    async fn ask_hook(&self, question: &HookQuestion) -> Result<HookQuestionState, StoreError>;
    /// Stores the answer to a question with its audit entry. Returns the answer that counts: the first one.
    async fn answer_hook(
        &self,
        question: &HookQuestion,
        answer: &HookAnswer,
    ) -> Result<HookAnswer, StoreError>;
    /// Returns the answers about an execution, for all bindings.
    async fn hook_answers(&self, id: ExecutionId) -> Result<Vec<HookAnswer>, StoreError>;
    /// Returns the audit entries of answers of hooks in the order in which they were written.
    async fn hook_audit(&self, at_most: u32) -> Result<Vec<HookRecord>, StoreError>;
}

/// The stored runners and the servers that have links to them.
#[async_trait::async_trait]
pub trait RunnerStore: Send + Sync {
    /// Adds or replaces a runner and sets its `last_seen`. A new epoch fences the previous one; the last
    /// [`FENCED_EPOCHS`](super::FENCED_EPOCHS) fenced epochs are kept. The record of a fenced epoch is not written.
    async fn put_runner(&self, runner: &RunnerRecord) -> Result<RunnerPut, StoreError>;
    /// Returns a runner.
    async fn runner(&self, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError>;
    /// Lists runners by ID.
    async fn runners(&self, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError>;
    /// Sets the runner's `last_seen` to the current time.
    async fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError>;
    /// Announces that this server is available for `lease_micros` with exactly these links. A duration of 0 removes the
    /// server. Also removes servers with expired leases.
    async fn announce(&self, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError>;
    /// Lists the servers with valid leases by ID.
    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError>;
}

/// The audit entries.
#[async_trait::async_trait]
pub trait AuditStore: Send + Sync {
    /// Returns audit entries after `after_sequence`, in order. Returns fewer than `at_most` entries if they are large,
    /// and an empty list only at the end.
    async fn audit(&self, after_sequence: i64, at_most: u32) -> Result<Vec<AuditRecord>, StoreError>;
    /// Adds an audit entry for a file that is restored from quarantine. The store sets its time.
    async fn note_restore(&self, entry: &RestoreRecord) -> Result<(), StoreError>;
    /// Returns the audit entries of restored files in the order in which they were written.
    async fn restores(&self, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError>;
    /// Adds an audit entry for a forwarded connection. The store sets its time.
    async fn note_forward(&self, entry: &ForwardRecord) -> Result<(), StoreError>;
    /// Returns the audit entries of forwarded connections in the order in which they were written.
    async fn forwards(&self, at_most: u32) -> Result<Vec<ForwardRecord>, StoreError>;
    /// Returns the audit entries of the connections of an execution in the order in which they were written.
    async fn connections(&self, id: ExecutionId, at_most: u32) -> Result<Vec<ConnectionRecord>, StoreError>;
    /// Returns the audit entries of changed network rules in the order in which they were written. The change of the
    /// session writes them.
    async fn network_changes(&self, at_most: u32) -> Result<Vec<NetworkChangeRecord>, StoreError>;
    /// Returns the audit entries of answers to questions about connections in the order in which they were written. The
    /// answer writes them.
    async fn connection_answers(&self, at_most: u32) -> Result<Vec<AnswerRecord>, StoreError>;
}

/// The results that hooks still have to receive. The step that ends an execution adds a delivery for each hook that was
/// asked about it.
#[async_trait::async_trait]
pub trait DeliveryStore: Send + Sync {
    /// Takes due deliveries to one hook for this server and begins an attempt of each. The longest due delivery of each
    /// tenant comes first, then the second of each. No two servers take the same delivery before the lease expires.
    async fn take_deliveries(&self, take: &TakeDeliveries) -> Result<Vec<Delivery>, StoreError>;
    /// Removes a delivery that the hook has accepted. Returns whether it existed.
    async fn finish_delivery(&self, delivery: &Delivery) -> Result<bool, StoreError>;
    /// Ends an attempt that failed. The next one is due after `delay_micros`. Returns false, and changes nothing, if
    /// another attempt has begun or the delivery no longer exists.
    async fn delay_delivery(&self, delivery: &Delivery, delay_micros: i64) -> Result<bool, StoreError>;
    /// Removes deliveries to all hooks that were created more than `age_micros` ago, the oldest first, except those of
    /// an attempt with a valid lease. Returns them.
    async fn expire_deliveries(&self, age_micros: i64, at_most: u32) -> Result<Vec<Delivery>, StoreError>;
    /// Returns the time at which the oldest delivery to a hook was created. `None`: there is none.
    async fn oldest_delivery(&self, hook: &str) -> Result<Option<Micros>, StoreError>;
}

/// The persistent state of the servers.
#[async_trait::async_trait]
pub trait Store:
    SessionStore
    + ExecutionStore
    + OutputStore
    + ApprovalStore
    + HookStore
    + RunnerStore
    + AuditStore
    + DeliveryStore
{
    /// Returns the time of the store's clock.
    async fn now(&self) -> Result<Micros, StoreError>;
    /// Closes the store after all writes are complete.
    async fn close(&self);
}
