//! A store in memory with the methods that the streams use.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use airlock_domain::{
    ApprovalId, BackgroundedBy, Epoch, ExecutionId, ExecutionResult, ExecutionState, HookAnswer, OutputState,
    RuleId, RunnerId, SessionId,
};
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

type Row = (ExecutionRecord, Vec<StateChange>);

/// Executions and their history.
#[derive(Default)]
pub(super) struct MemoryStore {
    rows: Mutex<HashMap<ExecutionId, Row>>,
    /// Whether every call fails.
    pub(super) away: AtomicBool,
    /// The number of calls.
    pub(super) questions: AtomicUsize,
}

impl MemoryStore {
    /// Adds an execution with a history of these states.
    pub(super) fn add(&self, record: ExecutionRecord, states: &[ExecutionState]) {
        let id = record.id;
        self.rows.lock().unwrap().insert(id, (record, Vec::new()));
        states.iter().for_each(|state| self.step(id, *state, None));
    }

    /// Takes a step.
    pub(super) fn step(&self, id: ExecutionId, state: ExecutionState, result: Option<ExecutionResult>) {
        let mut rows = self.rows.lock().unwrap();
        let (record, changes) = rows.get_mut(&id).unwrap();
        record.version += 1;
        record.state = state;
        if state == ExecutionState::Running {
            record.output = OutputState::Live;
        }
        record.result = result;
        let version = record.version;
        let backgrounded_by = record.backgrounded;
        changes.push(StateChange {
            version,
            state,
            link: None,
            at: Micros(0),
            approval_id: None,
            backgrounded_by,
        });
    }

    /// Moves a running execution to the background.
    pub(super) fn send_to_background(&self, id: ExecutionId) {
        self.rows.lock().unwrap().get_mut(&id).unwrap().0.backgrounded = Some(BackgroundedBy::Client);
        self.step(id, ExecutionState::Running, None);
    }

    /// Sets the state of an output and the server that stores it.
    pub(super) fn put_output(&self, id: ExecutionId, output: OutputState, server: &str) {
        let mut rows = self.rows.lock().unwrap();
        let (record, _) = rows.get_mut(&id).unwrap();
        record.output = output;
        record.owner_server = Some(server.to_owned());
    }

    pub(super) fn record(&self, id: ExecutionId) -> ExecutionRecord {
        self.rows.lock().unwrap()[&id].0.clone()
    }

    fn take(&self, id: ExecutionId, server_id: &str, keeps: bool) -> bool {
        let mut rows = self.rows.lock().unwrap();
        let Some((record, _)) = rows.get_mut(&id) else { return false };
        let is_unstored = record.state == ExecutionState::Finished
            && matches!(record.output, OutputState::Live | OutputState::Storing);
        let is_free = record.owner_server.as_deref().is_none_or(|owner| owner == server_id);
        if is_unstored && is_free {
            record.owner_server = keeps.then(|| server_id.to_owned());
        }
        is_unstored && is_free
    }

    fn ask(&self) -> Result<(), StoreError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        if self.away.load(Ordering::Relaxed) { not_here() } else { Ok(()) }
    }
}

fn not_here<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("not here".to_owned()))
}

#[async_trait::async_trait]
impl Store for MemoryStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        Ok(Micros(0))
    }
    async fn close(&self) {}
}

#[async_trait::async_trait]
impl SessionStore for MemoryStore {
    async fn create_session(&self, _: SessionRecord, _: u64) -> Result<Created<SessionRecord>, StoreError> {
        not_here()
    }
    async fn session(&self, _: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        not_here()
    }
    async fn sessions(&self, _: &SessionQuery, _: &PageQuery) -> Result<Page<SessionRecord>, StoreError> {
        not_here()
    }
    async fn change_session(
        &self,
        _: SessionId,
        _: u64,
        _: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError> {
        not_here()
    }
    async fn touch_session(&self, _: SessionId) -> Result<(), StoreError> {
        not_here()
    }
    async fn idle_sessions(&self, _: u32) -> Result<Vec<SessionRecord>, StoreError> {
        not_here()
    }
    async fn session_levels(&self) -> Result<SessionLevels, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl ExecutionStore for MemoryStore {
    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError> {
        self.ask()?;
        Ok(self.rows.lock().unwrap().get(&id).map(|(record, _)| record.clone()))
    }
    async fn executions(
        &self,
        query: &ExecutionQuery,
        _: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError> {
        self.ask()?;
        assert!(query.unstored, "the streams use no other method");
        let rows = self.rows.lock().unwrap();
        let unstored = |record: &ExecutionRecord| {
            record.state == ExecutionState::Finished
                && matches!(record.output, OutputState::Live | OutputState::Storing)
        };
        let records = rows.values().map(|(record, _)| record);
        let items = records.filter(|record| unstored(record)).cloned().collect();
        Ok(Page { items, next: None })
    }
    async fn state_changes(&self, id: ExecutionId, after: u64) -> Result<Vec<StateChange>, StoreError> {
        self.ask()?;
        let rows = self.rows.lock().unwrap();
        let changes = rows.get(&id).map(|(_, changes)| changes.clone()).unwrap_or_default();
        Ok(changes.into_iter().filter(|change| change.version > after).collect())
    }
    async fn create_execution(&self, _: NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
        not_here()
    }
    async fn execution_by_request(
        &self,
        _: &str,
        _: &str,
        _: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        not_here()
    }
    async fn live_executions(
        &self,
        _: Option<SessionId>,
        _: Option<ExecutionId>,
        _: u32,
    ) -> Result<Vec<LiveExecution>, StoreError> {
        not_here()
    }
    async fn transition(
        &self,
        _: ExecutionId,
        _: u64,
        _: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError> {
        not_here()
    }
    async fn take_queued(&self, _: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
        not_here()
    }
    async fn renew_leases(&self, _: &str, _: i64) -> Result<u64, StoreError> {
        not_here()
    }
    async fn milestones(&self, _: &MilestoneQuery, _: u64, _: u32) -> Result<Milestones, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl OutputStore for MemoryStore {
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError> {
        self.ask()?;
        let OutputBy::Keeper(server) = by else { panic!("the streams remove nothing") };
        let mut rows = self.rows.lock().unwrap();
        let Some((record, _)) = rows.get_mut(&id) else { return Ok(false) };
        let is_unstored = matches!(record.output, OutputState::Live | OutputState::Storing);
        let may = is_unstored && record.owner_server.as_deref() == Some(server);
        if may {
            record.output = output;
        }
        Ok(may)
    }
    async fn lose_outputs(&self, _: i64, _: u32) -> Result<Vec<ExecutionId>, StoreError> {
        not_here()
    }
    async fn outputs_ended_before(&self, _: Micros, _: u32) -> Result<Vec<ExecutionId>, StoreError> {
        not_here()
    }
    async fn unstored(&self, _: &str, _: u32) -> Result<Vec<ExecutionRecord>, StoreError> {
        not_here()
    }
    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError> {
        self.ask()?;
        Ok(self.take(id, server_id, lease_micros > 0))
    }
}

#[async_trait::async_trait]
impl ApprovalStore for MemoryStore {
    async fn rules_in_force(
        &self,
        _: &str,
        _: &str,
        _: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError> {
        not_here()
    }
    async fn rules(&self, _: &RuleQuery, _: &PageQuery) -> Result<Page<RememberedRule>, StoreError> {
        not_here()
    }
    async fn remove_rule(&self, _: &str, _: RuleId, _: &str) -> Result<Option<RememberedRule>, StoreError> {
        not_here()
    }
    async fn approval(&self, _: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        not_here()
    }
    async fn approvals(&self, _: &ApprovalQuery, _: &PageQuery) -> Result<Page<ApprovalRecord>, StoreError> {
        not_here()
    }
    async fn answer_approval(
        &self,
        _: ApprovalId,
        _: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError> {
        not_here()
    }
    async fn ask_about_connection(
        &self,
        _: &ApprovalRecord,
        _: i64,
        _: u64,
    ) -> Result<ConnectionQuestion, StoreError> {
        not_here()
    }
    async fn withdraw_question(&self, _: ExecutionId, _: ApprovalId) -> Result<bool, StoreError> {
        not_here()
    }
    async fn expired_approvals(&self, _: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl HookStore for MemoryStore {
    async fn claim_start(
        &self,
        _: &StartClaim,
    ) -> Result<Result<(ExecutionId, SessionId), Created<ExecutionRecord>>, StoreError> {
        not_here()
    }

    async fn ask_hook(&self, _: &HookQuestion) -> Result<HookQuestionState, StoreError> {
        not_here()
    }

    async fn answer_hook(&self, _: &HookQuestion, _: &HookAnswer) -> Result<HookAnswer, StoreError> {
        not_here()
    }

    async fn hook_answers(&self, _: ExecutionId) -> Result<Vec<HookAnswer>, StoreError> {
        not_here()
    }

    async fn hook_audit(&self, _: u32) -> Result<Vec<HookRecord>, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl RunnerStore for MemoryStore {
    async fn put_runner(&self, _: &RunnerRecord) -> Result<RunnerPut, StoreError> {
        not_here()
    }
    async fn runner(&self, _: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
        not_here()
    }
    async fn runners(&self, _: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
        not_here()
    }
    async fn touch_runner(&self, _: &RunnerId, _: Epoch) -> Result<(), StoreError> {
        not_here()
    }
    async fn announce(&self, _: &ServerRecord, _: i64) -> Result<(), StoreError> {
        not_here()
    }
    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl AuditStore for MemoryStore {
    async fn audit(&self, _: i64, _: u32) -> Result<Vec<AuditRecord>, StoreError> {
        not_here()
    }
    async fn note_restore(&self, _: &RestoreRecord) -> Result<(), StoreError> {
        not_here()
    }
    async fn restores(&self, _: u32) -> Result<Vec<RestoreRecord>, StoreError> {
        not_here()
    }

    async fn note_forward(&self, _: &ForwardRecord) -> Result<(), StoreError> {
        not_here()
    }

    async fn forwards(&self, _: u32) -> Result<Vec<ForwardRecord>, StoreError> {
        not_here()
    }

    async fn connections(&self, _: ExecutionId, _: u32) -> Result<Vec<ConnectionRecord>, StoreError> {
        not_here()
    }

    async fn network_changes(&self, _: u32) -> Result<Vec<NetworkChangeRecord>, StoreError> {
        not_here()
    }

    async fn connection_answers(&self, _: u32) -> Result<Vec<AnswerRecord>, StoreError> {
        not_here()
    }
}

#[async_trait::async_trait]
impl DeliveryStore for MemoryStore {
    async fn take_deliveries(&self, _: &TakeDeliveries) -> Result<Vec<Delivery>, StoreError> {
        not_here()
    }

    async fn finish_delivery(&self, _: &Delivery) -> Result<bool, StoreError> {
        not_here()
    }

    async fn delay_delivery(&self, _: &Delivery, _: i64) -> Result<bool, StoreError> {
        not_here()
    }

    async fn expire_deliveries(&self, _: i64, _: u32) -> Result<Vec<Delivery>, StoreError> {
        not_here()
    }

    async fn oldest_delivery(&self, _: &str) -> Result<Option<Micros>, StoreError> {
        not_here()
    }
}
