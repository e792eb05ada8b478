//! The states of executions and jobs.

use super::{Epoch, ExecutionId, ExecutionResult};

/// Where an execution is in its life. The only ways from one to another are those of
/// [`ExecutionState::may_become`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionState {
    /// Waits for a person.
    PendingApproval,
    /// Waits for its turn, or for a runner.
    Queued,
    /// Offered to a runner; whether it runs is not known yet.
    Starting,
    /// Runs.
    Running,
    /// Ended.
    Finished,
}

impl ExecutionState {
    /// Every state, in the order of a life.
    pub const ALL: [Self; 5] =
        [Self::PendingApproval, Self::Queued, Self::Starting, Self::Running, Self::Finished];

    /// Whether this state may be followed by `next`.
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

/// The size of a terminal in characters; neither is 0, nor over [`TERMINAL_CELLS`](crate::limits::TERMINAL_CELLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TerminalSize {
    /// Lines.
    pub rows: u16,
    /// Characters of a line.
    pub cols: u16,
}

impl TerminalSize {
    /// That of a terminal of which nothing is known.
    pub const DEFAULT: Self = Self { rows: 24, cols: 80 };
}

/// A terminal of a command's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pty {
    /// At first.
    pub size: TerminalSize,
    /// The command's TERM.
    pub term: String,
}

/// Whether the runner that holds an execution can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkState {
    /// It can.
    Connected,
    /// It cannot, for now.
    Unreachable,
}

/// Where the output of an execution is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputState {
    /// There is none, because nothing ran.
    None,
    /// On the runner.
    Live,
    /// On its way from the runner to the output storage.
    Storing,
    /// In the output storage.
    Stored,
    /// Only what comes after this offset of stdout survived.
    Partial {
        /// Bytes.
        from: u64,
    },
    /// Gone.
    Lost,
}

/// One of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputStream {
    /// Standard output, and standard error with it unless that was asked for apart.
    Stdout,
    /// Standard error, where it was asked for apart.
    Stderr,
}

/// Who sent a command to the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BackgroundedBy {
    /// Somebody, by Detach.
    Client,
    /// The request that started it.
    Request,
    /// Its budget of time in the foreground, which is over.
    Budget,
}

/// A signal for every process of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Hang-up.
    Hup,
    /// What Ctrl+C sends.
    Int,
    /// What Ctrl+\ sends.
    Quit,
    /// The program's own.
    Usr1,
    /// The program's own.
    Usr2,
    /// Please end.
    Term,
    /// End.
    Kill,
    /// Stand still.
    Stop,
    /// Go on.
    Cont,
}

/// What a runner knows of one attempt to run an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobPhase {
    /// Journaled: it will be started, once.
    Accepted,
    /// Journaled: it was not and will not be started under this attempt.
    Refused,
    /// Runs.
    Running,
    /// Ended.
    Ended,
    /// Accepted by an earlier epoch, whose end took it along.
    Lost,
}

/// A runner's report of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobReport {
    /// The execution.
    pub execution_id: ExecutionId,
    /// Which offer of it.
    pub attempt: u32,
    /// The epoch that accepted or refused it.
    pub epoch: Epoch,
    /// What is known.
    pub phase: JobPhase,
    /// In `Ended`, `Lost` and `Refused`.
    pub result: Option<ExecutionResult>,
}
