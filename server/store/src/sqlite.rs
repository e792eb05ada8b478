//! The store in a SQLite file, for one server. This is the default.
//!
//! One connection writes, in `BEGIN IMMEDIATE` transactions; a few others read. Each method is one transaction or one
//! statement. A dropped call is rolled back. A lock file prevents that another process writes.

mod engine;
mod open;
mod options;
#[path = "queries/tables.rs"]
mod tables;

use std::{fs::File, path::Path, sync::Arc};

use airlock_domain::{ApprovalId, Epoch, ExecutionId, OutputState, RuleId, RunnerId, SessionId};
use sqlx::SqlitePool;
use tables::{
    approvals, executions, milestones, queue, restores, rules, runners, servers, sessions, transition,
};

pub use options::SqliteOptions;

use super::{
    ApprovalAnswer, ApprovalQuery, ApprovalStore, AuditStore, Cas, Created, ExecutionQuery, ExecutionStore,
    MilestoneQuery, Milestones, NewExecution, OutputBy, OutputStore, Page, PageQuery, RuleQuery, RunnerPut,
    RunnerStore, SessionChange, SessionQuery, SessionStore, Store, StoreError, TakeQueued, Transition,
};
use crate::record::{
    ApprovalRecord, AuditRecord, ExecutionRecord, LiveExecution, Micros, RememberedRule, RestoreRecord,
    RunnerRecord, ServerRecord, SessionLevels, SessionRecord, StateChange,
};

/// The store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    write: SqlitePool,
    read: SqlitePool,
    /// Locked for the lifetime of the store.
    _lock: File,
}

impl SqliteStore {
    /// Opens the store in the file `path`, and creates the file if it is missing, accessible to its
    /// owner only. The directory must exist. Missing migrations are applied.
    ///
    /// # Errors
    /// * [`StoreError::Unavailable`] if the file cannot be opened or another process has it open.
    /// * [`StoreError::Corrupt`] if it is not a store.
    /// * [`StoreError::Newer`] if a later version wrote it.
    pub async fn open(path: &Path, options: SqliteOptions) -> Result<Arc<Self>, StoreError> {
        let lock = open::lock(path)?;
        open::create_private(path)?;
        let write = open::writer(path, options).await?;
        open::migrate(&write).await?;
        let read = open::readers(path, options);
        Ok(Arc::new(Self { write, read, _lock: lock }))
    }

    async fn begin(&self) -> Result<engine::Tx, StoreError> {
        Ok(self.write.begin_with("BEGIN IMMEDIATE").await?)
    }
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        engine::clock(&mut *self.read.acquire().await?).await
    }

    async fn close(&self) {
        self.read.close().await;
        // Closing the last connection writes the log back into the file.
        self.write.close().await;
    }
}

#[async_trait::async_trait]
impl SessionStore for SqliteStore {
    async fn create_session(
        &self,
        session: SessionRecord,
        per_tenant: u64,
    ) -> Result<Created<SessionRecord>, StoreError> {
        sessions::create(self.begin().await?, session, per_tenant).await
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        sessions::get(&mut *self.read.acquire().await?, id).await
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        page: &PageQuery,
    ) -> Result<Page<SessionRecord>, StoreError> {
        sessions::list(&self.read, query, page).await
    }

    async fn change_session(
        &self,
        id: SessionId,
        version: u64,
        change: &SessionChange,
    ) -> Result<Cas<SessionRecord>, StoreError> {
        sessions::change(self.begin().await?, id, version, change).await
    }

    async fn touch_session(&self, id: SessionId) -> Result<(), StoreError> {
        sessions::touch_now(self.begin().await?, id).await
    }

    async fn idle_sessions(&self, at_most: u32) -> Result<Vec<SessionRecord>, StoreError> {
        sessions::idle(&self.read, at_most).await
    }

    async fn session_levels(&self) -> Result<SessionLevels, StoreError> {
        sessions::levels(&self.read).await
    }
}

#[async_trait::async_trait]
impl ExecutionStore for SqliteStore {
    async fn create_execution(&self, new: NewExecution) -> Result<Created<ExecutionRecord>, StoreError> {
        executions::create(self.begin().await?, new).await
    }

    async fn execution_by_request(
        &self,
        tenant: &str,
        principal: &str,
        request_id: &str,
    ) -> Result<Option<ExecutionRecord>, StoreError> {
        executions::by_request(&mut *self.read.acquire().await?, tenant, principal, request_id).await
    }

    async fn execution(&self, id: ExecutionId) -> Result<Option<ExecutionRecord>, StoreError> {
        executions::get(&mut *self.read.acquire().await?, id).await
    }

    async fn executions(
        &self,
        query: &ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, StoreError> {
        executions::list(&self.read, query, page).await
    }

    async fn live_executions(
        &self,
        session: Option<SessionId>,
        after: Option<ExecutionId>,
        at_most: u32,
    ) -> Result<Vec<LiveExecution>, StoreError> {
        executions::live(&self.read, session, after, at_most).await
    }

    async fn transition(
        &self,
        id: ExecutionId,
        version: u64,
        step: &Transition,
    ) -> Result<Cas<ExecutionRecord>, StoreError> {
        transition::take(self.begin().await?, id, version, step).await
    }

    async fn take_queued(&self, take: &TakeQueued) -> Result<Vec<(ExecutionId, SessionId)>, StoreError> {
        queue::take(self.begin().await?, take).await
    }

    async fn renew_leases(&self, server_id: &str, lease_micros: i64) -> Result<u64, StoreError> {
        transition::renew_leases(self.begin().await?, server_id, lease_micros).await
    }

    async fn state_changes(
        &self,
        id: ExecutionId,
        after_version: u64,
    ) -> Result<Vec<StateChange>, StoreError> {
        executions::state_changes(&self.read, id, after_version).await
    }

    async fn milestones(
        &self,
        query: &MilestoneQuery,
        after: u64,
        at_most: u32,
    ) -> Result<Milestones, StoreError> {
        milestones::list(&self.read, query, after, at_most).await
    }
}

#[async_trait::async_trait]
impl OutputStore for SqliteStore {
    async fn set_output(
        &self,
        id: ExecutionId,
        output: OutputState,
        by: OutputBy<'_>,
    ) -> Result<bool, StoreError> {
        transition::set_output(self.begin().await?, id, output, by).await
    }

    async fn take_storing(
        &self,
        id: ExecutionId,
        server_id: &str,
        lease_micros: i64,
    ) -> Result<bool, StoreError> {
        transition::take_storing(self.begin().await?, id, server_id, lease_micros).await
    }

    async fn unstored(&self, server_id: &str, at_most: u32) -> Result<Vec<ExecutionRecord>, StoreError> {
        executions::unstored(&self.read, server_id, at_most).await
    }

    async fn lose_outputs(&self, away_micros: i64, at_most: u32) -> Result<Vec<ExecutionId>, StoreError> {
        transition::lose_outputs(self.begin().await?, away_micros, at_most).await
    }

    async fn outputs_ended_before(
        &self,
        before: Micros,
        at_most: u32,
    ) -> Result<Vec<ExecutionId>, StoreError> {
        executions::outputs_ended_before(&self.read, before, at_most).await
    }
}

#[async_trait::async_trait]
impl ApprovalStore for SqliteStore {
    async fn approval(&self, id: ApprovalId) -> Result<Option<ApprovalRecord>, StoreError> {
        approvals::get(&mut *self.read.acquire().await?, id).await
    }

    async fn approvals(
        &self,
        query: &ApprovalQuery,
        page: &PageQuery,
    ) -> Result<Page<ApprovalRecord>, StoreError> {
        approvals::list(&self.read, query, page).await
    }

    async fn answer_approval(
        &self,
        id: ApprovalId,
        answer: &ApprovalAnswer,
    ) -> Result<Cas<ApprovalRecord>, StoreError> {
        approvals::answer(self.begin().await?, id, answer).await
    }

    async fn expired_approvals(&self, at_most: u32) -> Result<Vec<ApprovalRecord>, StoreError> {
        approvals::expired(&self.read, at_most).await
    }

    async fn rules_in_force(
        &self,
        tenant: &str,
        profile: &str,
        session: SessionId,
    ) -> Result<Vec<RememberedRule>, StoreError> {
        rules::in_force(&self.read, tenant, profile, session).await
    }

    async fn rules(&self, query: &RuleQuery, page: &PageQuery) -> Result<Page<RememberedRule>, StoreError> {
        rules::list(&self.read, query, page).await
    }

    async fn remove_rule(
        &self,
        tenant: &str,
        id: RuleId,
        by: &str,
    ) -> Result<Option<RememberedRule>, StoreError> {
        rules::remove(self.begin().await?, tenant, id, by).await
    }
}

#[async_trait::async_trait]
impl RunnerStore for SqliteStore {
    async fn put_runner(&self, runner: &RunnerRecord) -> Result<RunnerPut, StoreError> {
        runners::put(self.begin().await?, runner).await
    }

    async fn runner(&self, id: &RunnerId) -> Result<Option<RunnerRecord>, StoreError> {
        runners::get(&mut *self.read.acquire().await?, id).await
    }

    async fn runners(&self, page: &PageQuery) -> Result<Page<RunnerRecord>, StoreError> {
        runners::list(&self.read, page).await
    }

    async fn touch_runner(&self, id: &RunnerId, epoch: Epoch) -> Result<(), StoreError> {
        runners::touch(self.begin().await?, id, epoch).await
    }

    async fn announce(&self, server: &ServerRecord, lease_micros: i64) -> Result<(), StoreError> {
        servers::announce(self.begin().await?, server, lease_micros).await
    }

    async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        servers::list(&self.read).await
    }
}

#[async_trait::async_trait]
impl AuditStore for SqliteStore {
    async fn audit(&self, after_sequence: i64, at_most: u32) -> Result<Vec<AuditRecord>, StoreError> {
        tables::audit(&self.read, after_sequence, at_most).await
    }

    async fn note_restore(&self, entry: &RestoreRecord) -> Result<(), StoreError> {
        restores::note(self.begin().await?, entry).await
    }

    async fn restores(&self, at_most: u32) -> Result<Vec<RestoreRecord>, StoreError> {
        restores::list(&self.read, at_most).await
    }
}

#[cfg(test)]
mod tests;
