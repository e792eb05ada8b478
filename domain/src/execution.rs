//! The states of executions and jobs.

use super::{Epoch, ExecutionId, ExecutionResult};

/// The state of an execution. [`ExecutionState::may_become`] defines the permitted transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionState {
    /// Waits for an approver.
    PendingApproval,
    /// Waits for its turn, or for a runner.
    Queued,
    /// Offered to a runner. Whether it runs is not yet known.
    Starting,
    /// Runs.
    Running,
    /// Ended.
    Finished,
}

impl ExecutionState {
    /// All states in the order of their occurrence.
    pub const ALL: [Self; 5] =
        [Self::PendingApproval, Self::Queued, Self::Starting, Self::Running, Self::Finished];

    /// Reports whether `next` may follow this state.
    #[must_use]
    pub fn may_become(self, next: Self) -> bool {
        use ExecutionState::{Finished, PendingApproval, Queued, Running, Starting};
        matches!(
            (self, next),
            (PendingApproval, Queued | Finished)
                | (Queued, PendingApproval | Starting | Finished)
                | (Starting, Queued | PendingApproval | Running | Finished)
                | (Running, Finished)
        )
    }
}

/// Whether the runner that holds an execution can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkState {
    /// It can be reached.
    Connected,
    /// It cannot be reached at present.
    Unreachable,
}

/// The place where the output of an execution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputState {
    /// There is no output, because the command did not run.
    None,
    /// On the runner.
    Live,
    /// Being copied from the runner to the output storage.
    Storing,
    /// In the output storage.
    Stored,
    /// Only the part of stdout from this offset on was kept.
    Partial {
        /// The offset in bytes.
        from: u64,
    },
    /// No output was kept.
    Lost,
}

/// The reason why a command runs in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackgroundedBy {
    /// A Detach call.
    Client,
    /// The `background` field of the request.
    Request,
    /// Its time in the foreground (`yield_after`) expired.
    Budget,
}

/// A signal for every process of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGHUP: hang-up.
    Hup,
    /// SIGINT, as from Ctrl+C.
    Int,
    /// SIGQUIT, as from Ctrl+\.
    Quit,
    /// SIGUSR1: defined by the program.
    Usr1,
    /// SIGUSR2: defined by the program.
    Usr2,
    /// SIGTERM: request to end.
    Term,
    /// SIGKILL: immediate end.
    Kill,
    /// SIGSTOP: suspend.
    Stop,
    /// SIGCONT: resume.
    Cont,
}

/// The phase of one attempt to run an execution, on its runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobPhase {
    /// Journaled: the runner starts the job, exactly once.
    Accepted,
    /// Journaled: the runner did not start the job and never starts it under this attempt.
    Refused,
    /// Runs.
    Running,
    /// Ended.
    Ended,
    /// An earlier epoch accepted the job and ended, which also ended the job.
    Lost,
}

/// A runner's report of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    /// The execution.
    pub execution_id: ExecutionId,
    /// The number of the offer.
    pub attempt: u32,
    /// The epoch that accepted or refused it.
    pub epoch: Epoch,
    /// The phase of the job.
    pub phase: JobPhase,
    /// Set in `Ended`, `Lost` and `Refused`.
    pub result: Option<ExecutionResult>,
}
