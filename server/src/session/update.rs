//! Changes existing sessions.

use airlock_domain::SessionId;
use airlock_store::{
    SessionChange,
    record::{SessionRecord, SessionState},
};

use super::{Sessions, not_permitted};
use crate::{
    api::{ApiError, UpdateSession},
    control::{check_open, no_such_session},
    model::Principal,
};

impl Sessions {
    /// Changes the mode or the idle timeout of an open session, and counts as a use. Queued commands are
    /// decided again before their start, in the tighter of their own mode and the session's.
    ///
    /// # Errors
    /// `NotFound`, `FailedPrecondition` (`SESSION_CLOSED`, `SESSION_LOST`, `SESSION_NOT_OPEN`), `Invalid` for a mode
    /// that the profile does not permit.
    pub async fn update(
        &self,
        who: &Principal,
        id: SessionId,
        update: UpdateSession,
    ) -> Result<SessionRecord, ApiError> {
        let session = self.get(who, id).await?;
        check_open(&session)?;
        let profile = self.decisions.profile_to_use(who, &session)?;
        if let Some(mode) = update.mode.filter(|mode| !profile.permits(*mode)) {
            return Err(ApiError::Invalid(vec![not_permitted(&profile, mode)]));
        }
        let change = SessionChange {
            mode: update.mode,
            idle_timeout: update.idle_timeout,
            used: true,
            ..SessionChange::default()
        };
        let after = self
            .change(id, |session| (session.state == SessionState::Open).then(|| change.clone()))
            .await?
            .ok_or_else(|| no_such_session(id))?;
        // It may have been closed in the meantime.
        check_open(&after)?;
        Ok(after)
    }
}
