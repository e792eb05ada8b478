//! A store that measures each operation and otherwise passes it on unchanged.

use std::{future::Future, sync::Arc, time::Instant};

use airlock_domain::{ApprovalId, Epoch, ExecutionId, HookAnswer, OutputState, RuleId, RunnerId, SessionId};
use airlock_faults::{Point, hit};
use airlock_store::{
    ApprovalAnswer, ApprovalQuery, ApprovalStore, AuditStore, Cas, ConnectionQuestion, Created, Delivery,
    DeliveryStore, ExecutionQuery, ExecutionStore, HookQuestion, HookQuestionState, HookStore,
    MilestoneQuery, Milestones, NewExecution, OutputBy, OutputStore, Page, PageQuery, RuleQuery, RunnerPut,
    RunnerStore, SessionChange, SessionQuery, SessionStore, StartClaim, Store, StoreError, TakeDeliveries,
    TakeQueued, Transition,
    record::{
        AnswerRecord, ApprovalRecord, AuditRecord, ConnectionRecord, ExecutionRecord, ForwardRecord,
        HookRecord, LiveExecution, Micros, NetworkChangeRecord, RememberedRule, RestoreRecord, RunnerRecord,
        ServerRecord, SessionLevels, SessionRecord, StateChange,
    },
};
use tracing::{Instrument as _, Span};

use super::{Metrics, fail};

/// The kind of an operation. It determines what traces show, and where a test can stop the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Changes an object of a client. Only these operations are in traces: the periodic operations of the services
    /// belong to no trace, and reads would dominate the trace of a long view.
    Change,
    /// Writes on behalf of a runner or a hook.
    OfRunner,
    /// Only a timer causes it.
    Round,
    /// Has no fault point.
    Other,
}

impl Kind {
    /// Returns the fault points before and after an operation.
    fn points(self) -> Option<(Point, Point)> {
        match self {
            Self::Change | Self::OfRunner => Some((Point::BeforeStoreWrite, Point::AfterStoreWrite)),
            Self::Round => Some((Point::BeforeRound, Point::AfterRound)),
            Self::Other => None,
        }
    }
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
        kind: Kind,
        operation: &'static str,
        step: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let began = Instant::now();
        let traced = kind == Kind::Change && !Span::current().is_none();
        let span = if traced { tracing::info_span!("store", operation) } else { Span::none() };
        let points = kind.points();
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
    ($($group:ident { $($kind:ident fn $name:ident(&self $(, $argument:ident: $type:ty)*) -> $result:ty;)+ })+) => {
        $(#[async_trait::async_trait]
        impl $group for MeasuredStore {
            $(async fn $name(&self $(, $argument: $type)*) -> Result<$result, StoreError> {
                self.step(Kind::$kind, stringify!($name), self.inner.$name($($argument),*)).await
            })+
        })+
    };
}

#[async_trait::async_trait]
impl Store for MeasuredStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        self.step(Kind::Other, "now", self.inner.now()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

measured! {
    SessionStore {
        Change fn create_session(&self, session: SessionRecord, per_tenant: u64) -> Created<SessionRecord>;
        Other fn session(&self, id: SessionId) -> Option<SessionRecord>;
        Other fn sessions(&self, query: &SessionQuery, page: &PageQuery) -> Page<SessionRecord>;
        Change fn change_session(&self, id: SessionId, version: u64, change: &SessionChange) -> Cas<SessionRecord>;
        Other fn touch_session(&self, id: SessionId) -> ();
        Other fn idle_sessions(&self, at_most: u32) -> Vec<SessionRecord>;
        Other fn session_levels(&self) -> SessionLevels;
    }
    ExecutionStore {
        Change fn create_execution(&self, new: NewExecution) -> Created<ExecutionRecord>;
        Other fn execution_by_request(&self, tenant: &str, principal: &str, request_id: &str) -> Option<ExecutionRecord>;
        Other fn execution(&self, id: ExecutionId) -> Option<ExecutionRecord>;
        Other fn executions(&self, query: &ExecutionQuery, page: &PageQuery) -> Page<ExecutionRecord>;
        Other fn live_executions(&self, session: Option<SessionId>, after: Option<ExecutionId>, at_most: u32) -> Vec<LiveExecution>;
        Change fn transition(&self, id: ExecutionId, version: u64, step: &Transition) -> Cas<ExecutionRecord>;
        OfRunner fn take_queued(&self, take: &TakeQueued) -> Vec<(ExecutionId, SessionId)>;
        Round fn renew_leases(&self, server_id: &str, lease_micros: i64) -> u64;
        Other fn state_changes(&self, id: ExecutionId, after_version: u64) -> Vec<StateChange>;
        Other fn milestones(&self, query: &MilestoneQuery, after: u64, at_most: u32) -> Milestones;
    }
    OutputStore {
        Change fn set_output(&self, id: ExecutionId, output: OutputState, by: OutputBy<'_>) -> bool;
        OfRunner fn take_storing(&self, id: ExecutionId, server_id: &str, lease_micros: i64) -> bool;
        Other fn unstored(&self, server_id: &str, at_most: u32) -> Vec<ExecutionRecord>;
        Other fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Vec<ExecutionId>;
        Other fn outputs_ended_before(&self, before: Micros, at_most: u32) -> Vec<ExecutionId>;
    }
    ApprovalStore {
        Other fn approval(&self, id: ApprovalId) -> Option<ApprovalRecord>;
        Other fn approvals(&self, query: &ApprovalQuery, page: &PageQuery) -> Page<ApprovalRecord>;
        Change fn answer_approval(&self, id: ApprovalId, answer: &ApprovalAnswer) -> Cas<ApprovalRecord>;
        OfRunner fn ask_about_connection(&self, approval: &ApprovalRecord, valid_micros: i64, at_most: u64) -> ConnectionQuestion;
        OfRunner fn withdraw_question(&self, execution: ExecutionId, approval: ApprovalId) -> bool;
        Other fn expired_approvals(&self, at_most: u32) -> Vec<ApprovalRecord>;
        Other fn rules_in_force(&self, tenant: &str, profile: &str, session: SessionId) -> Vec<RememberedRule>;
        Other fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Page<RememberedRule>;
        Change fn remove_rule(&self, tenant: &str, id: RuleId, by: &str) -> Option<RememberedRule>;
    }
    HookStore {
        Change fn claim_start(&self, claim: &StartClaim) -> Result<(ExecutionId, SessionId), Created<ExecutionRecord>>;
        Change fn ask_hook(&self, question: &HookQuestion) -> HookQuestionState;
        Change fn answer_hook(&self, question: &HookQuestion, answer: &HookAnswer) -> HookAnswer;
        Other fn hook_answers(&self, id: ExecutionId) -> Vec<HookAnswer>;
        Other fn hook_audit(&self, at_most: u32) -> Vec<HookRecord>;
    }
    RunnerStore {
        OfRunner fn put_runner(&self, runner: &RunnerRecord) -> RunnerPut;
        Other fn runner(&self, id: &RunnerId) -> Option<RunnerRecord>;
        Other fn runners(&self, page: &PageQuery) -> Page<RunnerRecord>;
        Other fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> ();
        Round fn announce(&self, server: &ServerRecord, lease_micros: i64) -> ();
        Other fn servers(&self) -> Vec<ServerRecord>;
    }
    AuditStore {
        Other fn audit(&self, after_sequence: i64, at_most: u32) -> Vec<AuditRecord>;
        Change fn note_restore(&self, entry: &RestoreRecord) -> ();
        Other fn restores(&self, at_most: u32) -> Vec<RestoreRecord>;
        Change fn note_forward(&self, entry: &ForwardRecord) -> ();
        Other fn forwards(&self, at_most: u32) -> Vec<ForwardRecord>;
        Other fn connections(&self, id: ExecutionId, at_most: u32) -> Vec<ConnectionRecord>;
        Other fn network_changes(&self, at_most: u32) -> Vec<NetworkChangeRecord>;
        Other fn connection_answers(&self, at_most: u32) -> Vec<AnswerRecord>;
    }
    DeliveryStore {
        Round fn take_deliveries(&self, take: &TakeDeliveries) -> Vec<Delivery>;
        OfRunner fn finish_delivery(&self, delivery: &Delivery) -> bool;
        OfRunner fn delay_delivery(&self, delivery: &Delivery, delay_micros: i64) -> bool;
        Other fn expire_deliveries(&self, age_micros: i64, at_most: u32) -> Vec<Delivery>;
        Other fn oldest_delivery(&self, hook: &str) -> Option<Micros>;
    }
}
