//! What the edge asks before it writes into a session: files, a command's input, and what is given back from quarantine.

use airlock_proto::domain::{ExecutionId, QuarantinedFile};

use super::Engine;
use crate::{
    api::ApiError,
    model::{ExecutionRecord, Principal, RestoreRecord, SessionRecord},
};

impl Engine {
    /// Whether the caller may put files into a session, as whom it lets run commands there.
    ///
    /// # Errors
    /// `Forbidden` without the session's profile, `FailedPrecondition` (`PROFILE_GONE`).
    pub fn check_may_write(&self, who: &Principal, session: &SessionRecord) -> Result<(), ApiError> {
        self.core.profile_to_use(who, session).map(drop)
    }

    /// Lets the caller give an item of quarantine back, and opens the audit entry of that.
    ///
    /// # Errors
    /// `Forbidden` for what the caller's own command made, `Unavailable`.
    pub async fn begin_restore(
        &self,
        who: &Principal,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<RestoreRecord, ApiError> {
        self.core.begin_restore(who, session, item).await
    }

    /// Closes that entry, with the place where the item is now; none if it was not given back.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn end_restore(&self, begun: RestoreRecord, restored: Option<&[u8]>) -> Result<(), ApiError> {
        self.core.end_restore(begun, restored).await
    }

    /// An execution of the caller's tenant that runs, waited for until it does. The caller must have the profile of its
    /// session. Cancelled by dropping.
    ///
    /// # Errors
    /// `NotFound`, `Forbidden`, `FailedPrecondition` (`NOT_RUNNING`) once it has ended or the server stops.
    pub async fn execution_to_write_to(
        &self,
        who: &Principal,
        id: ExecutionId,
    ) -> Result<ExecutionRecord, ApiError> {
        self.core.execution_to_write_to(who, id).await
    }
}
