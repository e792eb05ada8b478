//! The recorded state of a job, and the records of the journal as domain types. The journal encodes them.

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

/// A fact about the runner or a job that survives the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A new epoch, and the boot of the host that it belongs to.
    Boot {
        /// The ID of the host's boot.
        boot_id: String,
        /// The new epoch.
        epoch: Epoch,
        /// Whether the journal certainly holds everything that earlier epochs accepted.
        intact: bool,
        /// Earlier epochs that are complete in this journal, the latest last.
        vouched: Vec<Epoch>,
    },
    /// Every server was told that earlier epochs may be incomplete.
    Told,
    /// The runner will start the job, once.
    Accepted {
        /// The execution.
        id: ExecutionId,
        /// The number of the offer.
        attempt: u32,
        /// The epoch that accepted the offer.
        epoch: Epoch,
        /// The session. `None` only if an invalid ID was read.
        session: Option<SessionId>,
    },
    /// The runner does not start the job under this attempt.
    Refused {
        /// The execution.
        id: ExecutionId,
        /// The number of the offer.
        attempt: u32,
        /// The epoch that refused the offer.
        epoch: Epoch,
        /// The result with the reason.
        result: ExecutionResult,
    },
    /// The command runs.
    Running {
        /// The execution.
        id: ExecutionId,
    },
    /// The job ended.
    Ended {
        /// The execution.
        id: ExecutionId,
        /// Whether the job ended with the epoch that ran it.
        lost: bool,
        /// The result.
        result: ExecutionResult,
    },
    /// The jobs need not be reported again, and are never accepted again.
    Forgotten {
        /// The executions.
        ids: Vec<ExecutionId>,
    },
}
