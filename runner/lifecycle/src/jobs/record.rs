//! The records of the journal, as domain types. The journal encodes them.

use airlock_domain::{Epoch, ExecutionId, ExecutionResult, SessionId};

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
