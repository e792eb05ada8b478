//! The operations of the contract, each with its query.
//!
//! `Engine` provides `begin` for transactions, `reader` for reads, and `hint` to other servers. Its macro `attempt!`
//! evaluates a step, and repeats it if the engine requires this.

use airlock_domain::{ApprovalId, Epoch, ExecutionId, HookAnswer, OutputState, RuleId, RunnerId, SessionId};

use super::{
    Engine, answers, approvals, audit, connections, deliveries, executions, forwards, hooks, milestones,
    network_changes, questions, queue, rules, runners, sessions, transition,
};
use crate::{
    ApprovalAnswer, ApprovalQuery, ApprovalStore, AuditStore, Cas, ConnectionQuestion, Created, Delivery,
    DeliveryStore, ExecutionQuery, ExecutionStore, HookQuestion, HookQuestionState, HookStore,
    MilestoneQuery, Milestones, NewExecution, OutputBy, OutputStore, Page, PageQuery, RuleQuery, RunnerPut,
    RunnerStore, SessionChange, SessionQuery, SessionStore, StartClaim, StoreError, TakeDeliveries,
    TakeQueued, Transition,
    record::{
        AnswerRecord, ApprovalRecord, AuditRecord, ConnectionRecord, ExecutionRecord, ForwardRecord,
        HookRecord, LiveExecution, Micros, NetworkChangeRecord, RememberedRule, RestoreRecord, RunnerRecord,
        ServerRecord, SessionLevels, SessionRecord, StateChange,
    },
};

#[async_trait::async_trait]
impl SessionStore for Engine {
    async fn create_session(
        &self,
        session: SessionRecord,
        per_tenant: u64,
    ) -> Result<Created<SessionRecord>, StoreError> {
        attempt!(self, sessions::create(self.begin().await?, &session, per_tenant))
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        attempt!(self, sessions::get(&mut *self.reader().acquire().await?, id))
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, StoreError> {
        attempt!(self, sessions::list(self.reader(), query, page))
    }

    async fn change_session(
        &self,
        id: SessionId,
        version: u64,
        change: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError> {
        attempt!(self, sessions::change(self.begin().await?, id, version, change))
    }

    async fn touch_session(&self, id: SessionId) -> Result<(), StoreError> {
        attempt!(self, sessions::touch_now(self.begin().await?, id))
    }

    async fn idle_sessions(&self, at_most: u32) -> Result<Vec<SessionRecord>, StoreError> {
        attempt!(self, sessions::idle(self.reader(), at_most))
    }

    async fn session_levels(&self) -> Result<SessionLevels, StoreError> {
        attempt!(self, sessions::levels(self.reader()))
    }
}

#[async_trait::async_trait]
impl ExecutionStore for Engine {
    async fn create_execution(&self, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
        let created = attempt!(self, executions::create(self.begin().await?, &new))?;
        if let Created::New(record) = &created {
            self.hint(record.id, &record.tenant);
        }
        Ok(created)
    }

    async fn execution_by_request(
        &self,
        tenant: &str,
        principal: &str,
        request_id: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        attempt!(
            self,
            executions::by_request(&mut *self.reader().acquire().await?, tenant, principal, request_id)
        )
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError> {
        attempt!(self, executions::get(&mut *self.reader().acquire().await?, id))
    }

    async fn executions(
        &self,
        query: &ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError> {
        attempt!(self, executions::list(self.reader(), query, page))
    }

    async fn live_executions(
        &self,
        session: Option<SessionId>,
        after: Option<ExecutionId>,
        at_most: u32,
    ) -> Result<Vec<LiveExecution>, StoreError> {
        attempt!(self, executions::live(self.reader(), session, after, at_most))
    }

    async fn transition(
        &self,
        id: ExecutionId,
        version: u64,
        step: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError> {
        let taken = attempt!(self, transition::take(self.begin().await?, id, version, step))?;
        if let Cas::Done(record) = &taken {
            self.hint(id, &record.tenant);
        }
        Ok(taken)
    }

    async fn take_queued(&self, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
        attempt!(self, queue::take(self.begin().await?, take))
    }

    async fn renew_leases(&self, server_id: &str, lease_micros: i64) -> Result<u64, StoreError> {
        attempt!(self, transition::renew_leases(self.begin().await?, server_id, lease_micros))
    }

    async fn state_changes(
        &self,
        id: ExecutionId,
        after_version: u64,
    ) -> Result<Vec<StateChange>, StoreError> {
        attempt!(self, executions::state_changes(self.reader(), id, after_version))
    }

    async fn milestones(
        &self,
        query: &MilestoneQuery,
        after: u64,
        at_most: u32,
    ) -> Result<Milestones, StoreError> {
        attempt!(self, milestones::list(self.reader(), query, after, at_most))
    }
}

#[async_trait::async_trait]
impl OutputStore for Engine {
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError> {
        let is_set = attempt!(self, transition::set_output(self.begin().await?, id, output, by))?;
        if is_set {
            self.hint(id, "");
        }
        Ok(is_set)
    }

    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError> {
        attempt!(self, transition::take_storing(self.begin().await?, id, server_id, lease_micros))
    }

    async fn unstored(&self, server_id: &str, at_most: u32) -> Result<Vec<ExecutionRecord>, StoreError> {
        attempt!(self, executions::unstored(self.reader(), server_id, at_most))
    }

    async fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Result<Vec<ExecutionId>, StoreError> {
        let lost = attempt!(self, transition::lose_outputs(self.begin().await?, away_micros, at_most))?;
        for id in &lost {
            self.hint(*id, "");
        }
        Ok(lost)
    }

    async fn outputs_ended_before(
        &self,
        before: Micros,
        at_most: u32,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        attempt!(self, executions::outputs_ended_before(self.reader(), before, at_most))
    }
}

#[async_trait::async_trait]
impl ApprovalStore for Engine {
    async fn approval(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        attempt!(self, approvals::get(&mut *self.reader().acquire().await?, id))
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, StoreError> {
        attempt!(self, approvals::list(self.reader(), query, page))
    }

    async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError> {
        let answered = attempt!(self, approvals::answer(self.begin().await?, id, answer))?;
        if let Cas::Done(approval) = &answered {
            self.hint(approval.execution_id, &approval.tenant);
        }
        Ok(answered)
    }

    async fn ask_about_connection(
        &self,
        approval: &ApprovalRecord,
        valid_micros: i64,
        at_most: u64,
    ) -> Result<ConnectionQuestion, StoreError> {
        let asked = attempt!(self, questions::ask(self.begin().await?, approval, valid_micros, at_most))?;
        if asked == ConnectionQuestion::Asked {
            self.hint(approval.execution_id, &approval.tenant);
        }
        Ok(asked)
    }

    async fn withdraw_question(
        &self,
        execution: ExecutionId,
        approval: ApprovalId,
    ) -> Result<bool, StoreError> {
        attempt!(self, questions::withdraw(self.begin().await?, execution, approval))
    }

    async fn expired_approvals(&self, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        attempt!(self, approvals::expired(self.reader(), at_most))
    }

    async fn rules_in_force(
        &self,
        tenant: &str,
        profile: &str,
        session: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError> {
        attempt!(self, rules::in_force(self.reader(), tenant, profile, session))
    }

    async fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Result<Page<RememberedRule>, StoreError> {
        attempt!(self, rules::list(self.reader(), query, page))
    }

    async fn remove_rule(
        &self,
        tenant: &str,
        id: RuleId,
        by: &str,
    ) -> Result<Option<RememberedRule>, StoreError> {
        attempt!(self, rules::remove(self.begin().await?, tenant, id, by))
    }
}

#[async_trait::async_trait]
impl HookStore for Engine {
    async fn claim_start(
        &self,
        claim: &StartClaim,
    ) -> Result<Result<(ExecutionId, SessionId), Created<ExecutionRecord>>, StoreError> {
        attempt!(self, hooks::claim(self.begin().await?, claim))
    }

    async fn ask_hook(&self, question: &HookQuestion) -> Result<HookQuestionState, StoreError> {
        attempt!(self, hooks::ask(self.begin().await?, question))
    }

    async fn answer_hook(
        &self,
        question: &HookQuestion,
        answer: &HookAnswer,
    ) -> Result<HookAnswer, StoreError> {
        attempt!(self, hooks::answer(self.begin().await?, question, answer))
    }

    async fn hook_answers(&self, id: ExecutionId) -> Result<Vec<HookAnswer>, StoreError> {
        attempt!(self, hooks::of_execution(self.reader(), id))
    }

    async fn hook_audit(&self, at_most: u32) -> Result<Vec<HookRecord>, StoreError> {
        attempt!(self, hooks::list(self.reader(), at_most))
    }
}

#[async_trait::async_trait]
impl RunnerStore for Engine {
    async fn put_runner(&self, runner: &RunnerRecord) -> Result<RunnerPut, StoreError> {
        attempt!(self, runners::put(self.begin().await?, runner))
    }

    async fn runner(&self, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
        attempt!(self, runners::get(&mut *self.reader().acquire().await?, id))
    }

    async fn runners(&self, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
        attempt!(self, runners::list(self.reader(), page))
    }

    async fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
        attempt!(self, runners::touch(self.begin().await?, id, epoch))
    }

    async fn announce(&self, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError> {
        attempt!(self, runners::announce_server(self.begin().await?, server, lease_micros))
    }

    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        attempt!(self, runners::list_servers(self.reader()))
    }
}

#[async_trait::async_trait]
impl AuditStore for Engine {
    async fn audit(&self, after_sequence: i64, at_most: u32) -> Result<Vec<AuditRecord>, StoreError> {
        attempt!(self, audit::list(self.reader(), after_sequence, at_most))
    }

    async fn note_restore(&self, entry: &RestoreRecord) -> Result<(), StoreError> {
        attempt!(self, audit::note_restore(self.begin().await?, entry))
    }

    async fn restores(&self, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError> {
        attempt!(self, audit::list_restores(self.reader(), at_most))
    }

    async fn note_forward(&self, entry: &ForwardRecord) -> Result<(), StoreError> {
        attempt!(self, forwards::note(self.begin().await?, entry))
    }

    async fn forwards(&self, at_most: u32) -> Result<Vec<ForwardRecord>, StoreError> {
        attempt!(self, forwards::list(self.reader(), at_most))
    }

    async fn connections(&self, id: ExecutionId, at_most: u32) -> Result<Vec<ConnectionRecord>, StoreError> {
        attempt!(self, connections::list(self.reader(), id, at_most))
    }

    async fn network_changes(&self, at_most: u32) -> Result<Vec<NetworkChangeRecord>, StoreError> {
        attempt!(self, network_changes::list(self.reader(), at_most))
    }

    async fn connection_answers(&self, at_most: u32) -> Result<Vec<AnswerRecord>, StoreError> {
        attempt!(self, answers::list(self.reader(), at_most))
    }
}

#[async_trait::async_trait]
impl DeliveryStore for Engine {
    async fn take_deliveries(&self, take: &TakeDeliveries) -> Result<Vec<Delivery>, StoreError> {
        attempt!(self, deliveries::take(self.begin().await?, take))
    }

    async fn finish_delivery(&self, delivery: &Delivery) -> Result<bool, StoreError> {
        attempt!(self, deliveries::remove(self.begin().await?, delivery))
    }

    async fn delay_delivery(&self, delivery: &Delivery, delay_micros: i64) -> Result<bool, StoreError> {
        attempt!(self, deliveries::delay(self.begin().await?, delivery, delay_micros))
    }

    async fn expire_deliveries(&self, age_micros: i64, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        attempt!(self, deliveries::expire(self.begin().await?, age_micros, at_most))
    }

    async fn oldest_delivery(&self, hook: &str) -> Result<Option<Micros>, StoreError> {
        attempt!(self, deliveries::oldest(self.reader(), hook))
    }
}
