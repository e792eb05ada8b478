//! Changes existing sessions.

use airlock_domain::SessionId;

use super::{check_open, no_such_session, not_permitted};
use crate::{
    api::{ApiError, UpdateSession},
    engine::Core,
    model::{Principal, SessionRecord, SessionState},
    store::SessionChange,
};

impl Core {
    /// Changes the mode or the idle timeout of an open session, and counts as a use. Queued commands are
    /// decided again before their start, in the tighter of their own mode and the session's.
    pub(crate) async fn update_session(
        &self,
        who: &Principal,
        id: SessionId,
        update: UpdateSession,
    ) -> Result<SessionRecord, ApiError> {
        let session = self.session(who, id).await?;
        check_open(&session)?;
        let profile = self.profile_to_use(who, &session)?;
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
            .change_session(id, |session| (session.state == SessionState::Open).then(|| change.clone()))
            .await?
            .ok_or_else(|| no_such_session(id))?;
        // It may have been closed in the meantime.
        check_open(&after)?;
        Ok(after)
    }
}
