//! The recorded state of a job.

use airlock_domain::{Epoch, ExecutionId, ExecutionResult, JobPhase, JobReport, SessionId};

/// The phase of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// The job will be started, once.
    Accepted,
    /// This attempt was not started and will not be.
    Refused(ExecutionResult),
    /// The command runs.
    Running,
    /// The job ended.
    Ended(ExecutionResult),
    /// The job ended with its epoch.
    Lost(ExecutionResult),
}

/// The recorded state of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The latest attempt.
    pub attempt: u32,
    /// The epoch that answered the offer.
    pub epoch: Epoch,
    /// The session. `None` for a refused job.
    pub session: Option<SessionId>,
    /// The phase.
    pub phase: Phase,
}

impl Job {
    /// Reports whether the job has no result yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.phase, Phase::Accepted | Phase::Running)
    }

    /// Reports whether the job was refused.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(self.phase, Phase::Refused(_))
    }

    /// Returns the report of the job to servers.
    #[must_use]
    pub fn report(&self, execution_id: ExecutionId) -> JobReport {
        let (phase, result) = match &self.phase {
            Phase::Accepted => (JobPhase::Accepted, None),
            Phase::Refused(result) => (JobPhase::Refused, Some(result.clone())),
            Phase::Running => (JobPhase::Running, None),
            Phase::Ended(result) => (JobPhase::Ended, Some(result.clone())),
            Phase::Lost(result) => (JobPhase::Lost, Some(result.clone())),
        };
        JobReport { execution_id, attempt: self.attempt, epoch: self.epoch, phase, result }
    }
}
