//! The layers, by the names of which a result says what stopped an attempt.

use std::fmt;

/// What stops an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The root inside holds only what the profile shows.
    Root,
    /// The host's modes and owners, against the session's uid.
    Owner,
    /// A mount that is read-only.
    ReadOnlyMount,
    /// A mount over one name of the session's folders.
    Mask,
    /// Capabilities that nobody inside has, and `no_new_privs`.
    Capabilities,
    /// A pid namespace of the command's own.
    PidNamespace,
    /// A network namespace of the session's own.
    NetNamespace,
    /// The filter of system calls.
    Seccomp,
    /// Landlock's rules on paths, connections and signals.
    Landlock,
    /// airlock-init, which cannot be read or traced.
    NotDumpable,
    /// A limit of the kernel that nobody inside can raise.
    Limit,
    /// The size of a file system in memory.
    TmpfsSize,
    /// What Airlock tells git, over what a repository says.
    GitSettings,
    /// A session without a terminal.
    OwnSession,
    /// Two reports that must agree.
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
