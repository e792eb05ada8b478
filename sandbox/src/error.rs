//! The errors of a start: a variant for each step that can fail.
//!
//! Must not contain command text, arguments or values of variables.

mod hint;

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use airlock_init::frame::FrameError;
use airlock_init::wire::{Fault, Step};

use crate::cgroup::NotEnforced;
use crate::spec::MAX_COMMAND;

/// Whether the command started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// It definitely did not start.
    No,
    /// It started.
    Yes,
    /// Contact was lost between the order to start and its confirmation.
    Unknown,
}

/// The error of a failed start. Its text is one line with the cause. See also [`LaunchError::step`] and
/// [`LaunchError::hint`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// bubblewrap is missing or cannot be executed.
    #[error("cannot execute bubblewrap at `{path}`: {source}", path = path.display())]
    BubblewrapMissing {
        /// The path where it was expected.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// bubblewrap lacks an option that the sandbox needs.
    #[error("bubblewrap at `{path}` does not support `{option}`", path = path.display())]
    BubblewrapTooOld {
        /// The path of bubblewrap.
        path: PathBuf,
        /// The missing option.
        option: &'static str,
    },
    /// The directory of the launcher's files could not be created.
    #[error("runtime directory `{path}`: {source}", path = path.display())]
    Runtime {
        /// The directory or file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A cgroup could not be created, limited or removed.
    #[error("cgroup `{path}`: {source}", path = path.display())]
    Cgroup {
        /// Its directory, or a file in it.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Cgroups are required, and a limit cannot be enforced.
    #[error("cgroups are required, and `{limit}` cannot be limited: {cause}", limit = gap.limit, cause = gap.cause)]
    CgroupMissing {
        /// The limit and the reason.
        gap: NotEnforced,
    },
    /// A pipe, socket or descriptor could not be created.
    #[error("{what}: {source}")]
    Descriptor {
        /// The kind of descriptor.
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The launch step could not be executed on the host.
    #[error("cannot execute the launch step: {source}")]
    Spawn {
        /// The error of the operating system.
        source: io::Error,
    },
    /// The thread that forks sandboxes has ended.
    #[error("the launcher has exited")]
    Closed,
    /// The request is invalid.
    #[error("{cause}")]
    Invalid {
        /// The problem.
        cause: String,
    },
    /// The command is longer than one argument can be.
    #[error("the command has {bytes} bytes, the limit is {MAX_COMMAND}")]
    CommandTooLong {
        /// Its length.
        bytes: usize,
    },
    /// A step of `airlock-init` failed: on the host before bubblewrap, or inside the sandbox before the shell.
    #[error("{cause}")]
    Step {
        /// The step.
        step: Step,
        /// The reason, which determines the remedy.
        fault: Fault,
        /// The cause.
        cause: String,
    },
    /// bubblewrap ended before the sandbox was ready.
    #[error("bubblewrap: {cause}")]
    Setup {
        /// Its message.
        cause: String,
    },
    /// The exchange with `airlock-init` failed before the order to start.
    #[error("lost contact with the sandbox before the start: {source}")]
    Conversation {
        /// The cause.
        source: FrameError,
    },
    /// The sandbox was not ready in time, and was killed.
    #[error("the sandbox was not ready in time")]
    TimedOut,
    /// Contact was lost after the order to start. The command may have run.
    #[error("lost contact with the sandbox: {source}")]
    Lost {
        /// The cause.
        source: FrameError,
    },
}

impl LaunchError {
    /// Returns the failed step, as a stable lower-case name.
    #[must_use]
    pub fn step(&self) -> &'static str {
        match self {
            Self::BubblewrapMissing { .. } | Self::BubblewrapTooOld { .. } => "bubblewrap",
            Self::Runtime { .. } => "runtime",
            Self::Cgroup { .. } | Self::CgroupMissing { .. } => "cgroup",
            Self::Descriptor { .. } => "descriptors",
            Self::Spawn { .. } | Self::Closed => "launch",
            Self::Invalid { .. } | Self::CommandTooLong { .. } => "request",
            Self::Step { step, .. } => step_name(*step),
            Self::Setup { .. } => "setup",
            Self::TimedOut => "start_timeout",
            Self::Conversation { .. } | Self::Lost { .. } => "contact",
        }
    }

    /// Returns the remedy, if it is known.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let remedy = match self {
            Self::BubblewrapMissing { .. } => "apt-get install bubblewrap",
            Self::BubblewrapTooOld { .. } => "install bubblewrap 0.8 or later",
            Self::Runtime { .. } | Self::Spawn { .. } => {
                "give the runner a state directory that is writable and not mounted noexec"
            }
            Self::Cgroup { .. } | Self::CgroupMissing { .. } => {
                "give the runner its own cgroup with memory, pids and cpu: under systemd `Delegate=yes`"
            }
            Self::Step { step, fault, .. } => return hint::of_step(*step, *fault).map(hint::told_here),
            Self::Setup { cause } => return hint::of_bubblewrap(cause).map(hint::told_here),
            Self::CommandTooLong { .. } => "write the command to a file and run the file",
            _ => return None,
        };
        Some(remedy.into())
    }

    /// Reports whether the command started.
    #[must_use]
    pub fn started(&self) -> Started {
        match self {
            Self::Lost { .. } => Started::Unknown,
            _ => Started::No,
        }
    }

    /// Reports whether the requested shell is missing inside the sandbox.
    #[must_use]
    pub fn is_shell_unavailable(&self) -> bool {
        matches!(self, Self::Step { step: Step::Shell, .. })
    }
}

fn step_name(step: Step) -> &'static str {
    match step {
        Step::Message => "message",
        Step::Parent => "parent",
        Step::Descriptors => "descriptors",
        Step::Stage => "stage",
        Step::Binds => "binds",
        Step::Sockets => "sockets",
        Step::Root => "root",
        Step::Masks => "masks",
        Step::Processes => "processes",
        Step::Identity => "identity",
        Step::Namespaces => "namespaces",
        Step::Loopback => "loopback",
        Step::Join => "join",
        Step::Socket => "socket",
        Step::Seccomp => "seccomp",
        Step::Bubblewrap => "bubblewrap",
        Step::Prepare => "prepare",
        Step::Limits => "limits",
        Step::Terminal => "terminal",
        Step::Landlock => "landlock",
        Step::Directory => "directory",
        Step::Shell => "shell",
        Step::Prefix => "prefix",
        Step::Fork => "fork",
        Step::Wait => "wait",
    }
}
