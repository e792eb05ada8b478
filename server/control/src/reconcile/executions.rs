//! The reconciliation of one execution. Each step compares the recorded state with the actual state and takes the
//! next action, if any. It is idempotent.

use std::sync::Arc;

use airlock_domain::{ExecutionState, LinkState, RunnerId};
use airlock_lifecycle::{OwnerEvent, is_placed, may_settle};
use airlock_store::{Store, StoreError, record::LiveExecution};

use crate::{
    approval::Approvals,
    background::Background,
    fleet::Fleet,
    limits::ServiceLimits,
    links::{JobOnLink, Links},
    placement::Placement,
    shared::{Clock, Hints},
    transition::{Transitions, lease_of},
};

/// The page size of lists.
pub(crate) const PAGE: u32 = 500;

/// Reconciles executions.
pub(crate) struct ExecutionReconciler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) background: Arc<Background>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) placement: Arc<Placement>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) hints: Arc<Hints>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) limits: ServiceLimits,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

impl ExecutionReconciler {
    /// Reconciles an execution that has not ended.
    pub(crate) async fn reconcile(&self, record: &LiveExecution) -> Result<(), StoreError> {
        if !self.drives(record).await? {
            return Ok(());
        }
        match record.state {
            ExecutionState::PendingApproval => {
                // Its session may have ended.
                self.hints.sessions.insert(record.session_id);
                self.approvals.reconcile_pending(record).await
            }
            ExecutionState::Queued => {
                self.hints.sessions.insert(record.session_id);
                Ok(())
            }
            ExecutionState::Starting | ExecutionState::Running => {
                if record.yields_at.is_some_and(|at| at <= self.clock.now()) {
                    self.background.yield_to_session(record.id).await?;
                }
                self.reconcile_placed(record).await
            }
            ExecutionState::Finished => Ok(()),
        }
    }

    /// Returns whether this server owns the execution. Takes it over if it has no owner.
    async fn drives(&self, record: &LiveExecution) -> Result<bool, StoreError> {
        let own = self.server_id.as_str();
        if record.owner_server.as_deref() == Some(own) {
            return Ok(true);
        }
        // Most executions of other servers have a valid lease, so the links are not looked up for them.
        if !self.may_settle(record) {
            return Ok(false);
        }
        let lease = lease_of(own, &self.limits);
        let is_linked_elsewhere = self.is_linked_elsewhere(record);
        let seen = OwnerEvent::Seen { lease, now: self.clock.now(), is_linked_elsewhere };
        if self.transitions.change_owner(record, &seen).await? {
            self.hints.reconcile_now();
        }
        Ok(false)
    }

    /// Returns whether other servers have a link to the runner of an execution, and this one has none.
    fn is_linked_elsewhere(&self, record: &LiveExecution) -> bool {
        let Some(runner) = &record.runner_id else { return false };
        let is_linked = self.links.get(runner).is_some_and(|link| link.is_reconciled());
        !is_linked && !self.fleet.linked(runner).is_empty()
    }

    /// Reconciles an execution that is on a runner.
    pub(crate) async fn reconcile_placed(&self, record: &LiveExecution) -> Result<(), StoreError> {
        let Some(runner) = record.runner_id.as_ref().filter(|_| is_placed(record.state)) else {
            return Ok(());
        };
        let Some(link) = self.links.get(runner) else {
            if self.hand_over(record, runner).await? {
                return Ok(());
            }
            return self.transitions.set_link(record, LinkState::Unreachable).await;
        };
        if !link.is_reconciled() {
            return Ok(());
        }
        match link.job(record.id, record.attempt) {
            Some(JobOnLink::Sent | JobOnLink::Reported) => {
                if record.backgrounded
                    && !link.knows_backgrounded(record.id)
                    && let Some(now) = self.store.execution(record.id).await?
                {
                    self.background.tell_backgrounded(&link, &now).await?;
                }
                self.transitions.set_link(record, LinkState::Connected).await
            }
            Some(JobOnLink::Withdrawn { .. }) | None => self.placement.settle_unreported(&link, record).await,
        }
    }

    /// Returns whether this server may settle an execution that its runner did not report: it owns the execution, or
    /// the lease has expired.
    pub(crate) fn may_settle(&self, record: &LiveExecution) -> bool {
        may_settle(record, &self.server_id, self.clock.now())
    }

    /// Hands the ownership of an execution to a server with a link to its runner. Returns whether there is one.
    async fn hand_over(&self, record: &LiveExecution, to: &RunnerId) -> Result<bool, StoreError> {
        let Some(other) = self.fleet.linked(to).into_iter().next() else { return Ok(false) };
        let lease = lease_of(&other, &self.limits);
        self.transitions.change_owner(record, &OwnerEvent::LinkedElsewhere { lease }).await?;
        Ok(true)
    }
}
