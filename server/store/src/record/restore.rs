//! The audit of restores from quarantine.

use airlock_domain::{ExecutionId, SessionId};
use airlock_lifecycle::record::Micros;

/// A step of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreStep {
    /// Written before the request to the runner.
    Begun,
    /// The runner has restored the file.
    Restored,
    /// The runner refused or did not respond.
    Failed,
}

impl RestoreStep {
    /// All steps.
    pub const ALL: [Self; 3] = [Self::Begun, Self::Restored, Self::Failed];

    /// Returns the name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "BEGUN",
            Self::Restored => "RESTORED",
            Self::Failed => "FAILED",
        }
    }
}

/// An audit entry of a restore. Each restore has two entries: one before and one after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRecord {
    /// The session of the file.
    pub session_id: SessionId,
    /// The tenant of the session.
    pub tenant: String,
    /// The principal that restores the file.
    pub principal: String,
    /// Its network address.
    pub peer: String,
    /// The ID of the quarantined file.
    pub quarantine_id: String,
    /// The execution that created the file, if it is known.
    pub execution_id: Option<ExecutionId>,
    /// The original path inside the sandbox. After the restore, the actual path.
    pub path: Vec<u8>,
    /// The step.
    pub step: RestoreStep,
    /// The time. Set by the store.
    pub at: Micros,
}
