//! The audit of what was given back from quarantine.

use airlock_proto::domain::{ExecutionId, SessionId};

use super::Micros;

/// A step of giving something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreStep {
    /// Written before the runner is asked.
    Begun,
    /// The runner has done it.
    Restored,
    /// The runner has refused it, or did not answer.
    Failed,
}

impl RestoreStep {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Begun, Self::Restored, Self::Failed];

    /// Its name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Begun => "BEGUN",
            Self::Restored => "RESTORED",
            Self::Failed => "FAILED",
        }
    }
}

/// An audit entry about something in quarantine. Giving it back has two: one before, one after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRecord {
    /// Of whose workspace.
    pub session_id: SessionId,
    /// Whose session.
    pub tenant: String,
    /// Who gives it back.
    pub principal: String,
    /// From where.
    pub peer: String,
    /// What.
    pub quarantine_id: String,
    /// The command that made it, where that is known.
    pub execution_id: Option<ExecutionId>,
    /// Where it was, inside; after the end, where it is.
    pub path: Vec<u8>,
    /// What was done.
    pub step: RestoreStep,
    /// When. Set by the store.
    pub at: Micros,
}
