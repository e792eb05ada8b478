//! The causes and results of executions.

use std::{sync::Arc, time::Duration};

use super::{BoundFile, Connection, InlineOutput};

/// The reason why an execution ended. Only [`Cause::Exited`] with code 0 means success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The shell exited.
    Exited {
        /// The exit code, 0 to 255.
        code: u8,
    },
    /// A signal that Airlock did not send on its own initiative ended the shell.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Whether a core was dumped.
        core: bool,
    },
    /// A timeout expired.
    TimedOut(TimeoutKind),
    /// The kernel killed a process because the memory limit was reached.
    OomKilled,
    /// A command in the background wrote more output than is kept.
    OutputLimit,
    /// The disk limit of the session was reached, or the disk of the runner was full.
    DiskLimit,
    /// The execution was cancelled.
    Cancelled(CancelledBy),
    /// The command was not allowed to run.
    Denied {
        /// The party that denied it.
        by: DeniedBy,
        /// The approver's words, or policy's first reason.
        reason: String,
    },
    /// No approver answered in time.
    ApprovalExpired,
    /// The time in the queue expired.
    QueueExpired,
    /// The runner refused the offer before the start.
    Refused {
        /// A stable name, such as `floor` or `binding_mismatch`.
        reason: String,
        /// A message for people.
        message: String,
        /// The files that the command would run, as the runner found them, if they are relevant to the
        /// refusal.
        files: Vec<BoundFile>,
    },
    /// The sandbox could not be built, or its report was invalid.
    SandboxFailed {
        /// The stable name of the step that failed.
        step: String,
        /// The problem, for people.
        message: String,
        /// The remedy.
        hint: String,
    },
    /// The requested shell is not available.
    ShellUnavailable {
        /// The shells that are available.
        message: String,
    },
    /// The runner was lost, so the outcome is unknown.
    RunnerLost,
    /// An internal error of Airlock.
    Internal {
        /// A message for people. It contains no detail that a client must not see.
        message: String,
    },
}

/// The timeout that expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// The time since the command started.
    Wall,
    /// The time since the command last wrote.
    Idle,
}

/// The origin of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelledBy {
    /// A Cancel call of the tenant.
    Client,
    /// A Cancel call of an administrator.
    Admin,
    /// The Run stream ended, and the request set `kill_on_disconnect`.
    Disconnect,
    /// The session was closed.
    Session,
    /// The runner was drained.
    Drain,
}

/// The party that denied a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeniedBy {
    /// A rule or a mode.
    Policy,
    /// An approver.
    Person,
    /// Policy asked for a person, and the request did not wait for one.
    NobodyToAsk,
}

/// Whether the command began to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It did not, and it never will.
    No,
    /// It did.
    Yes,
    /// It may have.
    Unknown,
}

/// The origin of the session's working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryReport {
    /// The shell reported it.
    Reported,
    /// The shell ended without a report. The directory is unchanged.
    Unchanged,
    /// The reported directory was outside the workspace or did not exist. It was reset to the workspace's
    /// root.
    SnappedBack,
    /// The execution cannot change the session's directory.
    NotKept,
}

/// The outcome of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionResult {
    /// The reason why it ended.
    pub cause: Cause,
    /// Whether the command began to run.
    pub started: Started,
    /// The session's working directory after it, inside the sandbox.
    pub directory: Vec<u8>,
    /// The origin of that directory.
    pub directory_report: DirectoryReport,
    /// Airlock ended processes that were still running when the shell exited.
    pub leftovers_killed: bool,
    /// User and system time of all processes.
    pub cpu_time: Duration,
    /// The peak memory of the largest process, in bytes.
    pub peak_memory: u64,
    /// The run time by the runner's monotonic clock.
    pub run_time: Duration,
    /// The length of stdout in bytes, including bytes that were not kept.
    pub stdout_bytes: u64,
    /// The length of stderr in bytes, including bytes that were not kept.
    pub stderr_bytes: u64,
    /// Bytes that were cut from the middle of stdout.
    pub stdout_cut_bytes: u64,
    /// Bytes that were cut from the middle of stderr.
    pub stderr_cut_bytes: u64,
    /// Attempts against the sandbox and changes of protected names. At most
    /// [`VIOLATIONS`](crate::limits::VIOLATIONS).
    pub violations: Vec<Violation>,
    /// Names of the runner's environment variables that the profile passes and that were removed as secrets.
    pub scrubbed_env: Vec<String>,
    /// Requested limits that the runner cannot enforce.
    pub limits_not_enforced: Vec<String>,
    /// The command ran outside the sandbox.
    pub unsandboxed: bool,
    /// The version of the Landlock interface that confined the command. 0: none.
    pub landlock_abi: u32,
    /// The short form of the output. `None` if the command did not run, or if it is stored separately. Shared, because
    /// it can be large.
    pub inline: Option<Arc<InlineOutput>>,
    /// The reason why the command ran without the shell snapshot that its profile requires. Empty otherwise.
    pub snapshot_problem: String,
    /// The reason why the command ran without the network that its grant contains. Empty otherwise.
    pub network_problem: String,
    /// The connections to other hosts. At most [`CONNECTIONS`](crate::limits::CONNECTIONS). If there were more, allowed
    /// ones are left out first.
    pub connections: Vec<Connection>,
    /// The number of connections that were left out.
    pub connections_left_out: u64,
}

/// An action that a layer of the sandbox detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The layer: `protected_names`, `git`, `disk`, `network`, `seccomp`, `resources`, `masks`, `mounts`, `landlock`.
    pub layer: String,
    /// A stable name for the action: `created`, `changed`, `git_config`, `bare_repository`, `path`, ... In the layer
    /// `seccomp`, the name of the system call.
    pub kind: String,
    /// An absolute path inside the sandbox. Empty if the violation does not concern a path.
    pub path: Vec<u8>,
    /// The response.
    pub action: ViolationAction,
    /// One line for people.
    pub detail: String,
    /// The ID for a restore. Empty unless the file is in quarantine.
    pub quarantine_id: String,
}

/// The response to a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViolationAction {
    /// Only reported.
    Reported,
    /// Moved out of reach of all commands.
    Quarantined,
    /// The execution failed.
    Failed,
}

impl ViolationAction {
    /// Returns the stable name, as in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Quarantined => "quarantined",
            Self::Failed => "failed",
        }
    }
}

impl ExecutionResult {
    /// Returns the result of an execution that ended before anything ran.
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
            network_problem: String::new(),
            connections: Vec::new(),
            connections_left_out: 0,
        }
    }
}

impl Cause {
    /// Returns a refusal that does not concern files.
    #[must_use]
    pub fn refused(reason: &str, message: String) -> Self {
        Self::Refused { reason: reason.to_owned(), message, files: Vec::new() }
    }

    /// Returns the stable name of the cause, as in metrics, the audit and the store.
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
