//! The reconciliation of one runner. It is idempotent.

use std::{sync::Arc, time::Duration};

use airlock_lifecycle::{Event, PLACED};
use airlock_store::{
    ExecutionQuery, PageQuery, SessionQuery, Store, StoreError,
    record::{RunnerRecord, SessionState},
};

use super::executions::PAGE;
use crate::{
    fleet::Fleet,
    limits::ServiceLimits,
    links::Links,
    runners::Runners,
    session::Sessions,
    shared::{Clock, Presence, RunnerSlots},
    transition::Transitions,
};

/// Reconciles runners.
pub(crate) struct RunnerReconciler {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runners: Arc<Runners>,
    pub(crate) transitions: Arc<Transitions>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) links: Links,
    pub(crate) fleet: Fleet,
    pub(crate) slots: Arc<RunnerSlots>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) limits: ServiceLimits,
}

impl RunnerReconciler {
    /// Reconciles a runner. It is lost if no server had a link to it for too long.
    pub(crate) async fn reconcile(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        self.runners.end_fenced(runner).await?;
        if self.links.get(&runner.id).is_some_and(|link| link.is_reconciled()) {
            return Ok(());
        }
        if !self.fleet.linked(&runner.id).is_empty() {
            self.presence.set_linked(&runner.id);
            return Ok(());
        }
        let away = self.presence.unlinked_for(&runner.id).min(self.clock.since(runner.last_seen));
        if away > self.limits.lost_after && !self.presence.is_lost(&runner.id) {
            self.lose_runner(runner, away).await?;
        }
        Ok(())
    }

    /// Marks a runner and its executions as lost. By its own clock, the runner has ended its commands earlier.
    async fn lose_runner(&self, runner: &RunnerRecord, away: Duration) -> Result<(), StoreError> {
        tracing::warn!(runner = %runner.id, seconds = away.as_secs(), "runner lost: it did not return within link.lost_after; its executions end as RUNNER_LOST");
        let query = ExecutionQuery {
            states: PLACED.to_vec(),
            runner_id: Some(runner.id.clone()),
            ..ExecutionQuery::default()
        };
        let page = PageQuery { size: PAGE, token: None };
        loop {
            // Lost executions leave the list, so the first page is always the next.
            let placed = self.store.executions(&query, &page).await?.items;
            for record in &placed {
                let lost = Event::Lost { attempt: record.attempt, is_back: false };
                self.transitions.advance(record.id, &lost).await?;
            }
            if placed.len() < PAGE as usize {
                break;
            }
        }
        self.lose_sessions(runner).await?;
        self.slots.remove(&runner.id);
        self.presence.set_lost(&runner.id);
        Ok(())
    }

    async fn lose_sessions(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        let query = SessionQuery {
            states: vec![SessionState::Opening, SessionState::Open, SessionState::Closing],
            runner_id: Some(runner.id.clone()),
            ..SessionQuery::default()
        };
        let page = PageQuery { size: PAGE, token: None };
        loop {
            let live = self.store.sessions(&query, &page).await?.items;
            for session in &live {
                self.sessions.lose_session(session.id, "its runner did not return in time").await?;
            }
            if live.len() < PAGE as usize {
                return Ok(());
            }
        }
    }
}
