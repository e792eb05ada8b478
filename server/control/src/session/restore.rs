//! Restores from quarantine: authorization and audit.

use airlock_domain::{ExecutionId, QuarantinedFile};
use airlock_store::record::{Micros, RestoreRecord, RestoreStep, SessionRecord};

use super::Sessions;
use crate::{api::ApiError, model::Principal};

impl Sessions {
    /// Authorizes a restore and opens its audit entry. A restored file may be executed, so the caller must be
    /// a principal who could have approved the command that created it. The principal of that command is
    /// refused unless the profile permits self-approval.
    ///
    /// # Errors
    /// Returns `Forbidden`, or `Unavailable` if the entry cannot be written. The file must not be restored in
    /// either case.
    pub async fn begin_restore(
        &self,
        who: &Principal,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<RestoreRecord, ApiError> {
        self.lifecycle.check_running()?;
        let (execution_id, maker) = self.maker(session, item).await?;
        let profile = self.profiles.get(&session.profile);
        if maker == who.name && !profile.is_some_and(|profile| profile.self_approval) {
            let message = "the profile does not permit self-approval; another approver must restore the item"
                .to_owned();
            return Err(ApiError::Forbidden { message });
        }
        let begun = RestoreRecord {
            session_id: session.id,
            tenant: who.tenant.clone(),
            principal: who.name.clone(),
            peer: who.peer.clone(),
            quarantine_id: item.id.clone(),
            execution_id,
            path: item.info.path.clone(),
            step: RestoreStep::Begun,
            at: Micros(0),
        };
        self.store.note_restore(&begun).await?;
        Ok(begun)
    }

    /// Closes the audit entry. `restored` is the path of the restored file, or `None` if the restore failed.
    ///
    /// # Errors
    /// Returns `Unavailable` if the entry cannot be written.
    pub async fn end_restore(&self, begun: RestoreRecord, restored: Option<&[u8]>) -> Result<(), ApiError> {
        let ended = match restored {
            Some(path) => RestoreRecord { step: RestoreStep::Restored, path: path.to_vec(), ..begun },
            None => RestoreRecord { step: RestoreStep::Failed, ..begun },
        };
        Ok(self.store.note_restore(&ended).await?)
    }

    /// Returns the execution that created the file and its principal. If the execution is unknown, returns
    /// the principal of the session.
    async fn maker(
        &self,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<(Option<ExecutionId>, String), ApiError> {
        let Ok(id) = item.execution_id.parse::<ExecutionId>() else {
            return Ok((None, session.principal.clone()));
        };
        // An execution of another session is ignored, because a runner could report any ID.
        let execution = self.store.execution(id).await?.filter(|found| found.session_id == session.id);
        Ok(execution.map_or_else(|| (None, session.principal.clone()), |found| (Some(id), found.principal)))
    }
}
