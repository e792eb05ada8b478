//! Giving something back from quarantine: who may, and what the audit has of it.

use airlock_proto::domain::{ExecutionId, QuarantinedFile};

use crate::{
    api::ApiError,
    engine::Core,
    model::{Micros, Principal, RestoreRecord, RestoreStep, SessionRecord},
};

impl Core {
    /// Lets the caller give an item of a session's quarantine back, and opens the audit entry of it. What is given
    /// back may run, so that it takes who could have approved the command that made it: nobody gives back what their
    /// own command made, unless the profile lets people approve their own requests.
    ///
    /// # Errors
    /// `Forbidden`; `Unavailable` if the entry cannot be written. Then it must not be given back.
    pub(crate) async fn begin_restore(
        &self,
        who: &Principal,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<RestoreRecord, ApiError> {
        self.check_running()?;
        let (execution_id, maker) = self.maker(session, item).await?;
        let profile = self.parts.profiles.get(&session.profile);
        if maker == who.name && !profile.is_some_and(|profile| profile.self_approval) {
            let message = "nobody gives back what their own command made under this profile".to_owned();
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
        self.store().note_restore(&begun).await?;
        Ok(begun)
    }

    /// Closes the audit entry: where the item is now; none if it was not given back.
    ///
    /// # Errors
    /// `Unavailable` if the entry cannot be written.
    pub(crate) async fn end_restore(
        &self,
        begun: RestoreRecord,
        restored: Option<&[u8]>,
    ) -> Result<(), ApiError> {
        let ended = match restored {
            Some(path) => RestoreRecord { step: RestoreStep::Restored, path: path.to_vec(), ..begun },
            None => RestoreRecord { step: RestoreStep::Failed, ..begun },
        };
        Ok(self.store().note_restore(&ended).await?)
    }

    /// The command that made an item and who asked for it; where the command is not known, the owner of the session.
    async fn maker(
        &self,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<(Option<ExecutionId>, String), ApiError> {
        let Ok(id) = item.execution_id.parse::<ExecutionId>() else {
            return Ok((None, session.principal.clone()));
        };
        // What a runner says of another session's command counts for nothing.
        let execution = self.store().execution(id).await?.filter(|found| found.session_id == session.id);
        Ok(execution.map_or_else(|| (None, session.principal.clone()), |found| (Some(id), found.principal)))
    }
}
