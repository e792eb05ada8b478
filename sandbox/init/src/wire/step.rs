//! The steps of `airlock-init` that can fail, and the reasons that a remedy depends on.

use serde::{Deserialize, Serialize};

/// The steps of `airlock-init` that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Reading the plan or the spec.
    Message,
    /// Checking that the runner still lives.
    Parent,
    /// Checking for unlisted open descriptors.
    Descriptors,
    /// Making the session's directories reachable.
    Stage,
    /// Making a profile's host binds reachable.
    Binds,
    /// Finding the host sockets that a profile shows.
    Sockets,
    /// Assembling a root file system.
    Root,
    /// Mounting masks over the session's directories.
    Masks,
    /// Creating the outer pid namespace, in the sandbox's cgroup.
    Processes,
    /// Changing to the session's IDs.
    Identity,
    /// Creating the session's namespaces.
    Namespaces,
    /// Setting up the session's loopback.
    Loopback,
    /// Joining the session's namespaces.
    Join,
    /// Opening a socket in the session's network namespace.
    Socket,
    /// Filtering system calls.
    Seccomp,
    /// Executing bubblewrap.
    Bubblewrap,
    /// Preparing process 1: making it unreadable, signals, the files for the shell.
    Prepare,
    /// Setting limits.
    Limits,
    /// Creating a terminal.
    Terminal,
    /// Applying Landlock.
    Landlock,
    /// Entering the start directory.
    Directory,
    /// Executing the shell: it is missing or not executable.
    Shell,
    /// Executing the program before the shell.
    Prefix,
    /// Forking the shell, for any other reason.
    Fork,
    /// Waiting for the shell.
    Wait,
}

/// The reason of a failed step, as far as its remedy depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// Any other reason.
    Other,
    /// The system does not permit the step: EPERM.
    NotPermitted,
    /// A security module forbids the step: EACCES, where nothing else returns it.
    Forbidden,
    /// A limit of the system is reached: ENOSPC, EUSERS.
    LimitReached,
    /// The kernel does not support the step: EINVAL.
    Unsupported,
    /// A path of the host is not there.
    Missing,
    /// A path of the host is a symbolic link or contains one.
    Link,
    /// The session's user cannot write to a socket.
    NotWritable,
    /// A root file system cannot contain a mount point.
    MountPoint,
    /// A root file system cannot be a layer of an overlay.
    Overlay,
    /// No mount namespace can be created.
    MountNamespace,
    /// No `/proc` can be mounted.
    Proc,
}
