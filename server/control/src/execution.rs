//! Executions as callers see them: starts, reads, controls and ends them.

mod control;
mod spec;
mod start;

use std::{sync::Arc, time::Duration};

use airlock_domain::{CancelledBy, ExecutionId, ExecutionState};
use airlock_store::{ExecutionQuery, Page, PageQuery, Store, changes::Changes, record::ExecutionRecord};

use crate::{
    api::ApiError,
    approval::Approvals,
    background::Background,
    decisions::Decisions,
    fleet::Fleet,
    hooks::HookDesk,
    limits::ServiceLimits,
    links::Links,
    model::Principal,
    runners::Runners,
    session::Sessions,
    shared::{Clock, Lifecycle, Observer, no_such_execution, not_running},
    transition::Transitions,
};

/// The interval at which a wait reads the store without a notification.
const POLL: Duration = Duration::from_secs(1);

/// The executions.
pub struct Executions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) decisions: Arc<Decisions>,
    pub(crate) desk: Arc<HookDesk>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) background: Arc<Background>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) changes: Changes,
    pub(crate) clock: Arc<Clock>,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) limits: ServiceLimits,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

impl Executions {
    /// Returns an execution of the caller's tenant.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let record = self.store.execution(id).await?;
        record.filter(|record| record.tenant == who.tenant).ok_or_else(|| no_such_execution(id))
    }

    async fn running(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let record = self.get(who, id).await?;
        if record.state == ExecutionState::Running { Ok(record) } else { Err(not_running(&record)) }
    }

    /// Waits until an execution runs, and returns it. The execution can wait for its turn, for a person or
    /// for its runner. Dropping the future cancels the wait.
    async fn started(&self, who: &Principal, id: ExecutionId) -> Result<ExecutionRecord, ApiError> {
        let begun = |state| matches!(state, ExecutionState::Running | ExecutionState::Finished);
        let record = self.wait_until(who, id, None, begun).await?;
        if record.state == ExecutionState::Running { Ok(record) } else { Err(not_running(&record)) }
    }

    /// Lists executions of the caller's tenant, newest first. Overrides the tenant of the query.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn list(
        &self,
        who: &Principal,
        mut query: ExecutionQuery,
        page: &PageQuery,
    ) -> Result<Page<ExecutionRecord>, ApiError> {
        query.tenant = Some(who.tenant.clone());
        Ok(self.store.executions(&query, page).await?)
    }

    /// Waits for at most `timeout` until the execution has finished, and returns its current record.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn wait(
        &self,
        who: &Principal,
        id: ExecutionId,
        timeout: Duration,
    ) -> Result<ExecutionRecord, ApiError> {
        let deadline = tokio::time::Instant::now() + timeout;
        self.wait_until(who, id, Some(deadline), |state| state == ExecutionState::Finished).await
    }

    /// Waits until the execution is in a wanted state, the deadline has passed, or the server shuts down.
    /// Returns the current record.
    async fn wait_until(
        &self,
        who: &Principal,
        id: ExecutionId,
        deadline: Option<tokio::time::Instant>,
        is_wanted: impl Fn(ExecutionState) -> bool,
    ) -> Result<ExecutionRecord, ApiError> {
        let mut watch = self.changes.watch(id);
        loop {
            let record = self.get(who, id).await?;
            let now = tokio::time::Instant::now();
            if is_wanted(record.state) || deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(record);
            }
            let pause = deadline.map_or(POLL, |deadline| POLL.min(deadline - now));
            tokio::select! {
                () = watch.changed() => {}
                () = tokio::time::sleep(pause) => {}
                () = self.lifecycle.stopped() => return Ok(record),
            }
        }
    }

    /// Requests the end of an execution and returns its current record.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn cancel(
        &self,
        who: &Principal,
        id: ExecutionId,
        by: CancelledBy,
    ) -> Result<ExecutionRecord, ApiError> {
        self.get(who, id).await?;
        self.transitions.cancel_as(id, by).await?.ok_or_else(|| no_such_execution(id))
    }
}
