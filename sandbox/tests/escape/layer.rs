//! The layers. A result names the layer that stopped an attempt.

use std::fmt;

/// A layer that stops attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The sandbox's root contains only files that the profile shows.
    Root,
    /// The host's file modes and owners, for the session's uid.
    Owner,
    /// A read-only mount.
    ReadOnlyMount,
    /// A mount over one name in the session's directories.
    Mask,
    /// The absence of capabilities inside the sandbox, and `no_new_privs`.
    Capabilities,
    /// The command's own pid namespace.
    PidNamespace,
    /// The session's own network namespace.
    NetNamespace,
    /// The system call filter.
    Seccomp,
    /// Landlock's rules for paths, connections and signals.
    Landlock,
    /// The protection of airlock-init against reading and tracing.
    NotDumpable,
    /// A kernel limit that no process in the sandbox can raise.
    Limit,
    /// The size of a file system in memory.
    TmpfsSize,
    /// Airlock's settings for git, which override those of a repository.
    GitSettings,
    /// A session without a terminal.
    OwnSession,
    /// The comparison of two reports.
    CrossCheck,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root of its own",
            Self::Owner => "host uid",
            Self::ReadOnlyMount => "read-only mount",
            Self::Mask => "mask",
            Self::Capabilities => "no capabilities",
            Self::PidNamespace => "pid namespace",
            Self::NetNamespace => "net namespace",
            Self::Seccomp => "seccomp",
            Self::Landlock => "Landlock",
            Self::NotDumpable => "airlock-init not dumpable",
            Self::Limit => "resource limit",
            Self::TmpfsSize => "tmpfs size",
            Self::GitSettings => "git's settings",
            Self::OwnSession => "session without a terminal",
            Self::CrossCheck => "cross-check of reports",
        })
    }
}
