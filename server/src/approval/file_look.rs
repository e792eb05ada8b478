//! The part of the exchanges that approvals use.

use airlock_domain::{BoundFile, RunnerId, SessionId};

use crate::api::ApiError;

/// Reads the state of files in sessions. The exchanges implement it.
#[async_trait::async_trait]
pub trait FileLook: Send + Sync {
    /// Returns the states of these paths in the same order. The request ends when the future is dropped.
    ///
    /// # Errors
    /// Returns `Unavailable`, `Exhausted`, or the runner's refusal.
    async fn look(
        &self,
        tenant: &str,
        runner: &RunnerId,
        session_id: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError>;
}
