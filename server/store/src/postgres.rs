//! The store in a PostgreSQL database, for several servers at once.
//!
//! Each method is one transaction or one statement. Row locks serialize concurrent steps of several servers
//! (`engine.rs`). If the database rolls back a transaction, or its connection fails before the commit, it is
//! retried a few times. Nothing is cached: each query sees what other servers have committed.

mod engine;
mod hints;
mod open;
mod options;
#[path = "queries/tables.rs"]
#[expect(clippy::duplicate_mod, reason = "the same queries are compiled for each engine")]
mod tables;

use std::{sync::Arc, time::Duration};

use airlock_domain::{ApprovalId, Epoch, ExecutionId, OutputState, RuleId, RunnerId, SessionId};
use sqlx::PgPool;
use tables::{
    approvals, executions, milestones, queue, restores, rules, runners, servers, sessions, transition,
};

pub use options::{PostgresOptions, PostgresTls, TlsMode};

use self::hints::Hints;
use super::{
    ApprovalAnswer, ApprovalQuery, ApprovalStore, AuditStore, Cas, Created, ExecutionQuery, ExecutionStore,
    MilestoneQuery, Milestones, NewExecution, OutputBy, OutputStore, Page, PageQuery, RuleQuery, RunnerPut,
    RunnerStore, SessionChange, SessionQuery, SessionStore, Store, StoreError, TakeQueued, Transition,
};
use crate::{
    changes::Changes,
    record::{
        ApprovalRecord, AuditRecord, ExecutionRecord, LiveExecution, Micros, RememberedRule, RestoreRecord,
        RunnerRecord, ServerRecord, SessionLevels, SessionRecord, StateChange,
    },
};

/// The maximum number of retries of a step that was rolled back.
const AGAIN: u32 = 5;
/// The pause before the first retry. It doubles with each retry.
const PAUSE: Duration = Duration::from_millis(5);
/// The time limit for closing connections.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// The store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pool: PgPool,
    hints: Option<Hints>,
    /// The time limit of a call, retries included.
    patience: Duration,
}

/// Evaluates a step and retries it if it was rolled back. The step is an expression that creates a future.
macro_rules! again {
    ($store:expr, $step:expr) => {{
        let steps = async {
            let mut undone = 0;
            loop {
                match async { $step.await }.await {
                    Err(StoreError::Undone(why)) if undone == AGAIN => {
                        return Err(StoreError::Unavailable(why));
                    }
                    Err(StoreError::Undone(_)) => {
                        tokio::time::sleep(PAUSE.saturating_mul(1 << undone)).await;
                        undone += 1;
                    }
                    taken => return taken,
                }
            }
        };
        tokio::time::timeout($store.patience, steps)
            .await
            .unwrap_or_else(|_| Err(StoreError::Unavailable("the database does not answer".to_owned())))
    }};
}

impl PostgresStore {
    /// Connects, applies missing migrations, and starts to notify `changes` about changes by other servers.
    ///
    /// # Errors
    /// * [`StoreError::Unavailable`] if the database cannot be reached.
    /// * [`StoreError::Refused`] if it cannot hold a store.
    /// * [`StoreError::Corrupt`] if a migration fails.
    /// * [`StoreError::Newer`] if a later version wrote it.
    pub async fn open(options: &PostgresOptions, changes: Changes) -> Result<Arc<Self>, StoreError> {
        open::prepare(options).await.map_err(|error| match error {
            StoreError::Undone(why) => StoreError::Unavailable(why),
            other => other,
        })?;
        let hints = options.notify.then(|| Hints::start(open::pool(options, 1), changes));
        let pool = open::pool(options, options.connections);
        Ok(Arc::new(Self { pool, hints, patience: options.patience() }))
    }

    async fn begin(&self) -> Result<engine::Tx, StoreError> {
        Ok(self.pool.begin().await?)
    }

    /// Hints to other servers that an execution has changed.
    fn hint(&self, id: ExecutionId, tenant: &str) {
        if let Some(hints) = &self.hints {
            hints.send(id, tenant);
        }
    }
}

#[async_trait::async_trait]
impl Store for PostgresStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        again!(self, engine::clock(&mut *self.pool.acquire().await?))
    }

    async fn close(&self) {
        if let Some(hints) = &self.hints {
            hints.stop().await;
        }
        let _ = tokio::time::timeout(CLOSE_WAIT, self.pool.close()).await;
    }
}

#[async_trait::async_trait]
impl SessionStore for PostgresStore {
    async fn create_session(
        &self,
        session: SessionRecord,
        per_tenant: u64,
    ) -> Result<Created<SessionRecord>, StoreError> {
        again!(self, sessions::create(self.begin().await?, session.clone(), per_tenant))
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        again!(self, sessions::get(&mut *self.pool.acquire().await?, id))
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, StoreError> {
        again!(self, sessions::list(&self.pool, query, page))
    }

    async fn change_session(
        &self,
        id: SessionId,
        version: u64,
        change: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError> {
        again!(self, sessions::change(self.begin().await?, id, version, change))
    }

    async fn touch_session(&self, id: SessionId) -> Result<(), StoreError> {
        again!(self, sessions::touch_now(self.begin().await?, id))
    }

    async fn idle_sessions(&self, at_most: u32) -> Result<Vec<SessionRecord>, StoreError> {
        again!(self, sessions::idle(&self.pool, at_most))
    }

    async fn session_levels(&self) -> Result<SessionLevels, StoreError> {
        again!(self, sessions::levels(&self.pool))
    }
}

#[async_trait::async_trait]
impl ExecutionStore for PostgresStore {
    async fn create_execution(&self, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
        let created = again!(self, executions::create(self.begin().await?, new.clone()));
        if let Ok(Created::New(record)) = &created {
            self.hint(record.id, &record.tenant);
        }
        created
    }

    async fn execution_by_request(
        &self,
        tenant: &str,
        principal: &str,
        request_id: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        again!(self, executions::by_request(&mut *self.pool.acquire().await?, tenant, principal, request_id))
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError> {
        again!(self, executions::get(&mut *self.pool.acquire().await?, id))
    }

    async fn executions(
        &self,
        query: &ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError> {
        again!(self, executions::list(&self.pool, query, page))
    }

    async fn live_executions(
        &self,
        session: Option<SessionId>,
        after: Option<ExecutionId>,
        at_most: u32,
    ) -> Result<Vec<LiveExecution>, StoreError> {
        again!(self, executions::live(&self.pool, session, after, at_most))
    }

    async fn transition(
        &self,
        id: ExecutionId,
        version: u64,
        step: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError> {
        let taken = again!(self, transition::take(self.begin().await?, id, version, step));
        if let Ok(Cas::Done(record)) = &taken {
            self.hint(id, &record.tenant);
        }
        taken
    }

    async fn take_queued(&self, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
        again!(self, queue::take(self.begin().await?, take))
    }

    async fn renew_leases(&self, server_id: &str, lease_micros: i64) -> Result<u64, StoreError> {
        again!(self, transition::renew_leases(self.begin().await?, server_id, lease_micros))
    }

    async fn state_changes(
        &self,
        id: ExecutionId,
        after_version: u64,
    ) -> Result<Vec<StateChange>, StoreError> {
        again!(self, executions::state_changes(&self.pool, id, after_version))
    }

    async fn milestones(
        &self,
        query: &MilestoneQuery,
        after: u64,
        at_most: u32,
    ) -> Result<Milestones, StoreError> {
        again!(self, milestones::list(&self.pool, query, after, at_most))
    }
}

#[async_trait::async_trait]
impl OutputStore for PostgresStore {
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError> {
        let set = again!(self, transition::set_output(self.begin().await?, id, output, by));
        if matches!(set, Ok(true)) {
            self.hint(id, "");
        }
        set
    }

    async fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Result<Vec<ExecutionId>, StoreError> {
        let lost = again!(self, transition::lose_outputs(self.begin().await?, away_micros, at_most));
        for id in lost.iter().flatten() {
            self.hint(*id, "");
        }
        lost
    }

    async fn outputs_ended_before(
        &self,
        before: Micros,
        at_most: u32,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        again!(self, executions::outputs_ended_before(&self.pool, before, at_most))
    }

    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError> {
        again!(self, transition::take_storing(self.begin().await?, id, server_id, lease_micros))
    }

    async fn unstored(&self, server_id: &str, at_most: u32) -> Result<Vec<ExecutionRecord>, StoreError> {
        again!(self, executions::unstored(&self.pool, server_id, at_most))
    }
}

#[async_trait::async_trait]
impl ApprovalStore for PostgresStore {
    async fn approval(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        again!(self, approvals::get(&mut *self.pool.acquire().await?, id))
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, StoreError> {
        again!(self, approvals::list(&self.pool, query, page))
    }

    async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError> {
        let answered = again!(self, approvals::answer(self.begin().await?, id, answer));
        if let Ok(Cas::Done(approval)) = &answered {
            self.hint(approval.execution_id, &approval.tenant);
        }
        answered
    }

    async fn expired_approvals(&self, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        again!(self, approvals::expired(&self.pool, at_most))
    }

    async fn rules_in_force(
        &self,
        tenant: &str,
        profile: &str,
        session: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError> {
        again!(self, rules::in_force(&self.pool, tenant, profile, session))
    }

    async fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Result<Page<RememberedRule>, StoreError> {
        again!(self, rules::list(&self.pool, query, page))
    }

    async fn remove_rule(
        &self,
        tenant: &str,
        id: RuleId,
        by: &str,
    ) -> Result<Option<RememberedRule>, StoreError> {
        again!(self, rules::remove(self.begin().await?, tenant, id, by))
    }
}

#[async_trait::async_trait]
impl RunnerStore for PostgresStore {
    async fn put_runner(&self, runner: &RunnerRecord) -> Result<RunnerPut, StoreError> {
        again!(self, runners::put(self.begin().await?, runner))
    }

    async fn runner(&self, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
        again!(self, runners::get(&mut *self.pool.acquire().await?, id))
    }

    async fn runners(&self, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
        again!(self, runners::list(&self.pool, page))
    }

    async fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
        again!(self, runners::touch(self.begin().await?, id, epoch))
    }

    async fn announce(&self, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError> {
        again!(self, servers::announce(self.begin().await?, server, lease_micros))
    }

    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        again!(self, servers::list(&self.pool))
    }
}

#[async_trait::async_trait]
impl AuditStore for PostgresStore {
    async fn audit(&self, after_sequence: i64, at_most: u32) -> Result<Vec<AuditRecord>, StoreError> {
        again!(self, tables::audit(&self.pool, after_sequence, at_most))
    }

    async fn note_restore(&self, entry: &RestoreRecord) -> Result<(), StoreError> {
        again!(self, restores::note(self.begin().await?, entry))
    }

    async fn restores(&self, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError> {
        again!(self, restores::list(&self.pool, at_most))
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
