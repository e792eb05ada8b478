//! The checks and audit entries for writes into a session: files, a command's input, and restores from quarantine.

use airlock_domain::{ExecutionId, QuarantinedFile};

use super::Engine;
use crate::{
    api::ApiError,
    model::{ExecutionRecord, Principal, RestoreRecord, SessionRecord},
};

impl Engine {
    /// Checks that the caller may write files into a session, under the same rules as running commands there.
    ///
    /// # Errors
    /// `Forbidden` without the session's profile, `FailedPrecondition` (`PROFILE_GONE`).
    pub fn check_may_write(&self, who: &Principal, session: &SessionRecord) -> Result<(), ApiError> {
        self.core.profile_to_use(who, session).map(drop)
    }

    /// Checks that the caller may restore an item from quarantine, and opens the audit entry.
    ///
    /// # Errors
    /// `Forbidden` for an item that the caller's own command created, `Unavailable`.
    pub async fn begin_restore(
        &self,
        who: &Principal,
        session: &SessionRecord,
        item: &QuarantinedFile,
    ) -> Result<RestoreRecord, ApiError> {
        self.core.begin_restore(who, session, item).await
    }

    /// Closes the audit entry with the path of the restored item. `None` means that it was not restored.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn end_restore(&self, begun: RestoreRecord, restored: Option<&[u8]>) -> Result<(), ApiError> {
        self.core.end_restore(begun, restored).await
    }

    /// Waits until an execution of the caller's tenant runs, and returns it. The caller must have the profile of its
    /// session. Dropping the future cancels the wait.
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
