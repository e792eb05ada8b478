//! How executions end.

use std::{sync::Arc, time::Duration};

use super::InlineOutput;

use super::BoundFile;

/// Why an execution ended. Only [`Cause::Exited`] with code 0 means success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The shell exited by itself.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// The shell was ended by a signal that Airlock did not send.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
    /// A clock ran out.
    TimedOut(TimeoutKind),
    /// The kernel ended it for want of memory.
    OomKilled,
    /// It wrote more than it may.
    OutputLimit,
    /// It used more disk than it may.
    DiskLimit,
    /// Somebody ended it.
    Cancelled(CancelledBy),
    /// It was not allowed to run.
    Denied {
        /// Who said no.
        by: DeniedBy,
        /// Why: the approver's words, or policy's first reason.
        reason: String,
    },
    /// Nobody answered in time.
    ApprovalExpired,
    /// It waited in the queue for too long.
    QueueExpired,
    /// The runner said no before the start.
    Refused {
        /// A stable name, such as `floor` or `binding_mismatch`.
        reason: String,
        /// For people.
        message: String,
        /// What the runner found of the files that it would run, where that is why, or matters for what follows.
        files: Vec<BoundFile>,
    },
    /// Its sandbox could not be built, or what it reported was not to be believed.
    SandboxFailed {
        /// The step, by its stable name.
        step: String,
        /// What went wrong, for people.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The shell that was asked for is not there.
    ShellUnavailable {
        /// Which are.
        message: String,
    },
    /// Its runner is gone, and with it the knowledge of its end.
    RunnerLost,
    /// A fault of Airlock's own.
    Internal {
        /// For people; no detail that a client must not see.
        message: String,
    },
}

/// Which clock ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// Time since the command started.
    Wall,
    /// Time since it last wrote.
    Idle,
}

/// Who ended an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledBy {
    /// A client's Cancel.
    Client,
    /// An administrator.
    Admin,
    /// The stream that started it ended, and it asked to end with it.
    Disconnect,
    /// Its session was closed.
    Session,
    /// Its runner was drained.
    Drain,
}

/// Who said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedBy {
    /// A rule, or a mode.
    Policy,
    /// An approver.
    Person,
    /// Policy left it open, and the request did not want to wait.
    NobodyToAsk,
}

/// Whether the command began to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It did not, and will not.
    No,
    /// It did.
    Yes,
    /// It may have.
    Unknown,
}

/// What became of the session's current directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryReport {
    /// The shell reported it.
    Reported,
    /// The shell ended without a report; it is as before.
    Unchanged,
    /// It was outside the workspace or gone, and was set back to the workspace's root.
    SnappedBack,
    /// This run cannot change the session's directory.
    NotKept,
}

/// How an execution ended, in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionResult {
    /// Why.
    pub cause: Cause,
    /// Whether the command began to run.
    pub started: Started,
    /// The session's directory after it, inside the sandbox.
    pub directory: Vec<u8>,
    /// Where that directory comes from.
    pub directory_report: DirectoryReport,
    /// Processes outlived the shell and were ended with it.
    pub leftovers_killed: bool,
    /// User and system time of all its processes.
    pub cpu_time: Duration,
    /// Bytes, of the largest process.
    pub peak_memory: u64,
    /// By the runner's monotonic clock.
    pub run_time: Duration,
    /// Length of stdout in bytes, whether kept or not.
    pub stdout_bytes: u64,
    /// Length of stderr in bytes, whether kept or not.
    pub stderr_bytes: u64,
    /// Bytes of stdout that were cut from its middle.
    pub stdout_cut_bytes: u64,
    /// Bytes of stderr that were cut from its middle.
    pub stderr_cut_bytes: u64,
    /// What it tried against the sandbox, or changed of what is protected; at most
    /// [`VIOLATIONS`](crate::limits::VIOLATIONS).
    pub violations: Vec<Violation>,
    /// Variables of the runner that the profile passes through and that were held back as secrets.
    pub scrubbed_env: Vec<String>,
    /// Limits that were asked for and that the runner cannot enforce.
    pub limits_not_enforced: Vec<String>,
    /// It ran outside the sandbox.
    pub unsandboxed: bool,
    /// The version of Landlock's interface that was in force around it; 0 where none was.
    pub landlock_abi: u32,
    /// What it wrote, in short; none where nothing ran, and where it is kept apart. Shared, because it may be
    /// large.
    pub inline: Option<Arc<InlineOutput>>,
    /// Why it ran without the shell snapshot that its profile asks for; empty otherwise.
    pub snapshot_problem: String,
}

/// Something that a layer of the sandbox saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which layer: `protected_names`, `git`, `disk`, ...
    pub layer: String,
    /// A stable name of what happened: `created`, `changed`, `git_config`, `bare_repository`, ...
    pub kind: String,
    /// Inside, absolute; empty where it is not about a path.
    pub path: Vec<u8>,
    /// What was done about it.
    pub action: ViolationAction,
    /// One line.
    pub detail: String,
    /// By which it can be given back; empty unless it is in quarantine.
    pub quarantine_id: String,
}

/// What was done about a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViolationAction {
    /// Nothing more than this report.
    Reported,
    /// It is where no command reaches it.
    Quarantined,
    /// It made the command's failure.
    Failed,
}

impl ExecutionResult {
    /// The result of an execution that ended before anything ran.
    #[must_use]
    pub fn not_started(cause: Cause) -> Self {
        Self {
            cause,
            started: Started::No,
            directory: Vec::new(),
            directory_report: DirectoryReport::NotKept,
            leftovers_killed: false,
            cpu_time: Duration::ZERO,
            peak_memory: 0,
            run_time: Duration::ZERO,
            stdout_bytes: 0,
            stderr_bytes: 0,
            stdout_cut_bytes: 0,
            stderr_cut_bytes: 0,
            violations: Vec::new(),
            scrubbed_env: Vec::new(),
            limits_not_enforced: Vec::new(),
            unsandboxed: false,
            landlock_abi: 0,
            inline: None,
            snapshot_problem: String::new(),
        }
    }
}

impl Cause {
    /// A refusal that is not about files.
    #[must_use]
    pub fn refused(reason: &str, message: String) -> Self {
        Self::Refused { reason: reason.to_owned(), message, files: Vec::new() }
    }

    /// The stable name of the cause, as in metrics, the audit and the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exited { .. } => "EXITED",
            Self::Signaled { .. } => "SIGNALED",
            Self::TimedOut(_) => "TIMED_OUT",
            Self::OomKilled => "OOM_KILLED",
            Self::OutputLimit => "OUTPUT_LIMIT",
            Self::DiskLimit => "DISK_LIMIT",
            Self::Cancelled(_) => "CANCELLED",
            Self::Denied { .. } => "DENIED",
            Self::ApprovalExpired => "APPROVAL_EXPIRED",
            Self::QueueExpired => "QUEUE_EXPIRED",
            Self::Refused { .. } => "REFUSED",
            Self::SandboxFailed { .. } => "SANDBOX_FAILED",
            Self::ShellUnavailable { .. } => "SHELL_UNAVAILABLE",
            Self::RunnerLost => "RUNNER_LOST",
            Self::Internal { .. } => "INTERNAL",
        }
    }
}
