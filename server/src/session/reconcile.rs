//! The reconciliation of one session that is opening or closing. It is idempotent.

use airlock_domain::SessionId;
use airlock_store::{
    StoreError,
    record::{SessionRecord, SessionState},
};

use super::Sessions;
use crate::api::ApiError;

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
