//! Closes sessions: ends their executions, and then has their runner remove them.

use airlock_domain::{CancelledBy, SessionId};
use airlock_store::{
    StoreError,
    record::{SessionRecord, SessionState},
};

use super::{Sessions, to_state};
use crate::{api::ApiError, model::Principal};

impl Sessions {
    /// Ends the executions of a session and tells its runner to remove it. Waits for at most `close_wait`, and then
    /// returns the session in its current state.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn close(&self, who: &Principal, id: SessionId) -> Result<SessionRecord, ApiError> {
        self.get(who, id).await?;
        self.begin_close(id, "on request").await?;
        let is_over =
            |session: &SessionRecord| matches!(session.state, SessionState::Closed | SessionState::Lost);
        self.wait_session(id, self.limits.close_wait, is_over).await
    }

    /// Starts to close a session: ends its executions and asks its runner to remove it.
    pub(crate) async fn begin_close(&self, id: SessionId, why: &str) -> Result<(), StoreError> {
        let closing = self
            .change(id, |session| {
                let live = matches!(session.state, SessionState::Opening | SessionState::Open);
                live.then(|| to_state(SessionState::Closing, why))
            })
            .await?;
        match closing {
            Some(session) if session.state == SessionState::Closing => self.close_on_runner(&session).await,
            Some(_) | None => Ok(()),
        }
    }

    /// Ends the executions of a closing session and asks its runner to remove it. Repeated until it is
    /// removed.
    pub(crate) async fn close_on_runner(&self, session: &SessionRecord) -> Result<(), StoreError> {
        for record in self.transitions.live_of_session(session.id).await? {
            self.transitions.cancel_as(record.id, CancelledBy::Session).await?;
        }
        self.ask_close(session).await;
        Ok(())
    }

    /// Closes a temporary session after its execution has ended.
    pub(crate) async fn close_if_used_up(&self, session: &SessionRecord) -> Result<(), StoreError> {
        let live = matches!(session.state, SessionState::Opening | SessionState::Open);
        if !session.throwaway || !live {
            return Ok(());
        }
        self.begin_close(session.id, "its execution has ended").await
    }

    /// Marks a session as lost.
    pub(crate) async fn lose_session(&self, id: SessionId, why: &str) -> Result<(), StoreError> {
        self.change(id, |session| {
            let live =
                matches!(session.state, SessionState::Opening | SessionState::Open | SessionState::Closing);
            live.then(|| to_state(SessionState::Lost, why))
        })
        .await
        .map(drop)
    }
}

impl Sessions {
    /// Reconciles a session that is opening or closing.
    pub(crate) async fn reconcile(&self, session: &SessionRecord) -> Result<(), StoreError> {
        match session.state {
            SessionState::Closing => self.close_on_runner(session).await,
            SessionState::Opening if session.throwaway => self.reconcile_throwaway(session).await,
            SessionState::Opening => {
                if self.clock.since(session.created) > 2 * self.limits.open_wait {
                    return self.begin_close(session.id, "its runner did not create it in time").await;
                }
                match self.links.get(&session.runner_id) {
                    Some(link) if link.is_reconciled() => self.ask_open(&link, session.id).await,
                    Some(_) | None => Ok(()),
                }
            }
            SessionState::Open | SessionState::Closed | SessionState::Lost => Ok(()),
        }
    }

    /// Lets the executions of a single-use session continue, or closes the session if it has no live execution.
    async fn reconcile_throwaway(&self, session: &SessionRecord) -> Result<(), StoreError> {
        if self.transitions.live_of_session(session.id).await?.is_empty() {
            return self.close_if_used_up(session).await;
        }
        self.hints.sessions.insert(session.id);
        Ok(())
    }

    /// Handles the hint of another server that a session has work here.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn hinted(&self, id: SessionId) -> Result<(), ApiError> {
        let Some(session) = self.store.session(id).await? else { return Ok(()) };
        if matches!(session.state, SessionState::Opening | SessionState::Closing) {
            self.reconcile(&session).await?;
        }
        self.hints.sessions.insert(id);
        Ok(())
    }
}
