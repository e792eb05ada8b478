//! A store that measures each operation and otherwise passes it on unchanged.

use std::{future::Future, sync::Arc, time::Instant};

use airlock_domain::{ApprovalId, Epoch, ExecutionId, OutputState, RuleId, RunnerId, SessionId};
use airlock_faults::{Point, hit};
use airlock_store::{
    ApprovalAnswer, ApprovalQuery, ApprovalStore, AuditStore, Cas, Created, ExecutionQuery, ExecutionStore,
    MilestoneQuery, Milestones, NewExecution, OutputBy, OutputStore, Page, PageQuery, RuleQuery, RunnerPut,
    RunnerStore, SessionChange, SessionQuery, SessionStore, Store, StoreError, TakeQueued, Transition,
    record::{
        ApprovalRecord, AuditRecord, ExecutionRecord, LiveExecution, Micros, RememberedRule, RestoreRecord,
        RunnerRecord, ServerRecord, SessionLevels, SessionRecord, StateChange,
    },
};
use tracing::{Instrument as _, Span};

use super::{Metrics, fail};

/// The operations that traces show: those that change an object of a client.
const TRACED: [&str; 8] = [
    "create_session",
    "change_session",
    "create_execution",
    "transition",
    "set_output",
    "answer_approval",
    "remove_rule",
    "note_restore",
];

/// Further operations that write on behalf of a runner.
const OF_RUNNERS: [&str; 3] = ["put_runner", "take_queued", "take_storing"];

/// Operations that only a timer causes.
const ROUNDS: [&str; 2] = ["announce", "renew_leases"];

/// Returns the fault points before and after an operation.
fn points(operation: &str) -> Option<(Point, Point)> {
    if TRACED.contains(&operation) || OF_RUNNERS.contains(&operation) {
        return Some((Point::BeforeStoreWrite, Point::AfterStoreWrite));
    }
    ROUNDS.contains(&operation).then_some((Point::BeforeRound, Point::AfterRound))
}

/// A store that measures its operations.
pub struct MeasuredStore {
    inner: Arc<dyn Store>,
    metrics: Metrics,
}

impl MeasuredStore {
    /// Measures the operations of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, metrics: Metrics) -> Self {
        Self { inner, metrics }
    }

    async fn step<T>(
        &self,
        operation: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        // The periodic operations of the services belong to no trace, and reads would dominate the trace of a long
        // view.
        let traced = TRACED.contains(&operation) && !Span::current().is_none();
        let span = if traced { tracing::info_span!("store", operation) } else { Span::none() };
        let points = points(operation);
        if let Some((before, _)) = points {
            hit(before, &operation);
        }
        let result = match airlock_faults::is_away() {
            true => Err(StoreError::Unavailable("a test has it away".to_owned())),
            false => step.instrument(span.clone()).await,
        };
        if let Some((_, after)) = points {
            hit(after, &operation);
        }
        let outcome = match &result {
            Ok(_) => "ok",
            Err(StoreError::Unavailable(_)) => "unavailable",
            Err(_) => "error",
        };
        if result.is_err() {
            fail(&span, outcome);
        }
        self.metrics.store_step(operation, outcome, began.elapsed());
        result
    }
}

macro_rules! measured {
    ($($group:ident { $(fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)+ })+) => {
        $(#[async_trait::async_trait]
        impl $group for MeasuredStore {
            $(async fn $name(&self $(, $argument: $type)*) -> Result<$result, StoreError> {
                self.step(stringify!($name), self.inner.$name($($argument),*)).await
            })+
        })+
    };
}

#[async_trait::async_trait]
impl Store for MeasuredStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        self.step("now", self.inner.now()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

measured! {
    SessionStore {
        fn create_session(&self, session: SessionRecord, per_tenant: u64) -> Created<SessionRecord>;
        fn session(&self, id: SessionId) -> Option<SessionRecord>;
        fn sessions(&self, query: &SessionQuery, page: &PageQuery) -> Page<SessionRecord>;
        fn change_session(&self, id: SessionId, version: u64, change: &SessionChange) -> Cas<SessionRecord>;
        fn touch_session(&self, id: SessionId) -> ();
        fn idle_sessions(&self, at_most: u32) -> Vec<SessionRecord>;
        fn session_levels(&self) -> SessionLevels;
    }
    ExecutionStore {
        fn create_execution(&self, new: NewExecution) -> Created<ExecutionRecord>;
        fn execution_by_request(&self, tenant: &str, principal: &str, request_id: &str) -> Option<ExecutionRecord>;
        fn execution(&self, id: ExecutionId) -> Option<ExecutionRecord>;
        fn executions(&self, query: &ExecutionQuery, page: &PageQuery) -> Page<ExecutionRecord>;
        fn live_executions(&self, session: Option<SessionId>, after: Option<ExecutionId>, at_most: u32) -> Vec<LiveExecution>;
        fn transition(&self, id: ExecutionId, version: u64, step: &Transition) -> Cas<ExecutionRecord>;
        fn take_queued(&self, take: &TakeQueued) -> Vec<(ExecutionId, SessionId)>;
        fn renew_leases(&self, server_id: &str, lease_micros: i64) -> u64;
        fn state_changes(&self, id: ExecutionId, after_version: u64) -> Vec<StateChange>;
        fn milestones(&self, query: &MilestoneQuery, after: u64, at_most: u32) -> Milestones;
    }
    OutputStore {
        fn set_output(&self, id: ExecutionId, output: OutputState, by: OutputBy<'_>) -> bool;
        fn take_storing(&self, id: ExecutionId, server_id: &str, lease_micros: i64) -> bool;
        fn unstored(&self, server_id: &str, at_most: u32) -> Vec<ExecutionRecord>;
        fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Vec<ExecutionId>;
        fn outputs_ended_before(&self, before: Micros, at_most: u32) -> Vec<ExecutionId>;
    }
    ApprovalStore {
        fn approval(&self, id: ApprovalId) -> Option<ApprovalRecord>;
        fn approvals(&self, query: &ApprovalQuery, page: &PageQuery) -> Page<ApprovalRecord>;
        fn answer_approval(&self, id: ApprovalId, answer: &ApprovalAnswer) -> Cas<ApprovalRecord>;
        fn expired_approvals(&self, at_most: u32) -> Vec<ApprovalRecord>;
        fn rules_in_force(&self, tenant: &str, profile: &str, session: SessionId) -> Vec<RememberedRule>;
        fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Page<RememberedRule>;
        fn remove_rule(&self, tenant: &str, id: RuleId, by: &str) -> Option<RememberedRule>;
    }
    RunnerStore {
        fn put_runner(&self, runner: &RunnerRecord) -> RunnerPut;
        fn runner(&self, id: &RunnerId) -> Option<RunnerRecord>;
        fn runners(&self, page: &PageQuery) -> Page<RunnerRecord>;
        fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> ();
        fn announce(&self, server: &ServerRecord, lease_micros: i64) -> ();
        fn servers(&self) -> Vec<ServerRecord>;
    }
    AuditStore {
        fn audit(&self, after_sequence: i64, at_most: u32) -> Vec<AuditRecord>;
        fn note_restore(&self, entry: &RestoreRecord) -> ();
        fn restores(&self, at_most: u32) -> Vec<RestoreRecord>;
    }
}
