//! The reconciliation of one execution, session or runner. Each step compares the recorded state with the actual
//! state and takes the next action, if any. It is idempotent.

use std::time::Duration;

use airlock_domain::{ExecutionState, LinkState, Started};

use super::{Core, core::micros};
use crate::{
    execution::PLACED,
    links::JobOnLink,
    model::{LiveExecution, RunnerRecord, SessionRecord, SessionState},
    store::{ExecutionQuery, PageQuery, SessionQuery, StoreError, Transition},
};

/// How long a server without a link to the runner leaves an execution without an owner to a server with a link.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(3);
/// The page size of lists.
pub(super) const TEND_PAGE: u32 = 500;

impl Core {
    /// Reconciles an execution that has not ended.
    pub(super) async fn tend_execution(&self, record: &LiveExecution) -> Result<(), StoreError> {
        if !self.drives(record).await? {
            return Ok(());
        }
        match record.state {
            ExecutionState::PendingApproval => {
                // Its session may have ended.
                self.wake.wake(record.session_id);
                self.tend_pending(record).await
            }
            ExecutionState::Queued => {
                self.wake.wake(record.session_id);
                Ok(())
            }
            ExecutionState::Starting | ExecutionState::Running => {
                if record.yields_at.is_some_and(|at| at <= self.now()) {
                    self.yield_to_session(record.id).await?;
                }
                self.tend_placed(record).await
            }
            ExecutionState::Finished => Ok(()),
        }
    }

    /// Returns whether this server owns the execution. Takes it over if it has no owner.
    async fn drives(&self, record: &LiveExecution) -> Result<bool, StoreError> {
        let own = self.parts.server_id.as_str();
        if record.owner_server.as_deref() == Some(own) {
            return Ok(true);
        }
        if !self.may_settle(record) || self.leaves_to_others(record) {
            return Ok(false);
        }
        let lease = Some((own.to_owned(), micros(self.parts.limits.lease)));
        let step = Transition { lease, ..Transition::default() };
        // A single attempt by version: another server may be first. The next reconciliation continues.
        self.store().transition(record.id, record.version, &step).await?;
        self.poll_now.notify_one();
        Ok(false)
    }

    /// Returns whether a server with a link to the runner should take over the execution, if it does so soon.
    fn leaves_to_others(&self, record: &LiveExecution) -> bool {
        let Some(runner) = &record.runner_id else { return false };
        let is_linked = self.parts.links.get(runner).is_some_and(|link| link.is_reconciled());
        !is_linked
            && self.since(record.lease_until) < TAKE_OVER_WAIT
            && !self.parts.fleet.linked(runner).is_empty()
    }

    /// Reconciles an execution that is on a runner.
    pub(super) async fn tend_placed(&self, record: &LiveExecution) -> Result<(), StoreError> {
        let Some(runner) = record.runner_id.as_ref().filter(|_| PLACED.contains(&record.state)) else {
            return Ok(());
        };
        let Some(link) = self.parts.links.get(runner) else {
            if self.hand_over(record, runner).await? {
                return Ok(());
            }
            return self.set_link(record.id, (record.state, record.link), LinkState::Unreachable).await;
        };
        if !link.is_reconciled() {
            return Ok(());
        }
        match link.job(record.id, record.attempt) {
            Some(JobOnLink::Sent | JobOnLink::Reported) => {
                if record.backgrounded
                    && !link.knows_backgrounded(record.id)
                    && let Some(now) = self.store().execution(record.id).await?
                {
                    self.tell_backgrounded(&link, &now).await?;
                }
                self.set_link(record.id, (record.state, record.link), LinkState::Connected).await
            }
            Some(JobOnLink::Withdrawn { .. }) | None => self.settle_unreported(&link, record).await,
        }
    }

    /// Reconciles a session that is opening or closing.
    pub(super) async fn tend_session(&self, session: &SessionRecord) -> Result<(), StoreError> {
        match session.state {
            SessionState::Closing => self.close_on_runner(session).await,
            SessionState::Opening if session.throwaway => self.tend_throwaway(session).await,
            SessionState::Opening => {
                if self.since(session.created) > 2 * self.parts.limits.open_wait {
                    return self.begin_close(session.id, "its runner did not create it in time").await;
                }
                match self.parts.links.get(&session.runner_id) {
                    Some(link) if link.is_reconciled() => self.ask_open(&link, session.id).await,
                    Some(_) | None => Ok(()),
                }
            }
            SessionState::Open | SessionState::Closed | SessionState::Lost => Ok(()),
        }
    }

    /// Lets the executions of a single-use session continue, or closes the session if it has no live execution.
    async fn tend_throwaway(&self, session: &SessionRecord) -> Result<(), StoreError> {
        if self.live_of_session(session.id).await?.is_empty() {
            return self.close_if_used_up(session).await;
        }
        self.wake.wake(session.id);
        Ok(())
    }

    /// Reconciles a runner. It is lost if no server had a link to it for too long.
    pub(super) async fn tend_runner(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        self.end_fenced(runner).await?;
        if self.parts.links.get(&runner.id).is_some_and(|link| link.is_reconciled()) {
            return Ok(());
        }
        if !self.parts.fleet.linked(&runner.id).is_empty() {
            self.set_linked(&runner.id);
            return Ok(());
        }
        let away = self.unlinked_for(&runner.id).min(self.since(runner.last_seen));
        if away > self.parts.limits.lost_after && !self.is_lost(&runner.id) {
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
        let page = PageQuery { size: TEND_PAGE, token: None };
        loop {
            // Lost executions leave the list, so the first page is always the next.
            let placed = self.store().executions(&query, &page).await?.items;
            for record in &placed {
                let ran = record.state == ExecutionState::Running;
                self.lose(record.id, record.attempt, if ran { Started::Yes } else { Started::Unknown })
                    .await?;
            }
            if placed.len() < TEND_PAGE as usize {
                break;
            }
        }
        self.lose_sessions(runner).await?;
        self.seats.remove(&runner.id);
        self.set_lost(&runner.id);
        Ok(())
    }

    async fn lose_sessions(&self, runner: &RunnerRecord) -> Result<(), StoreError> {
        let query = SessionQuery {
            states: vec![SessionState::Opening, SessionState::Open, SessionState::Closing],
            runner_id: Some(runner.id.clone()),
            ..SessionQuery::default()
        };
        let page = PageQuery { size: TEND_PAGE, token: None };
        loop {
            let live = self.store().sessions(&query, &page).await?.items;
            for session in &live {
                self.lose_session(session.id, "its runner did not return in time").await?;
            }
            if live.len() < TEND_PAGE as usize {
                return Ok(());
            }
        }
    }
}
