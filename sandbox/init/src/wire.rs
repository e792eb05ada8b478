//! The messages between the runner's side and `airlock-init`, and the paths that both sides use.
//!
//! Byte strings are `Vec<u8>`, because paths, commands and variables need not be UTF-8. Must not perform I/O.

mod step;

use serde::{Deserialize, Serialize};

use crate::refusal::WatchedCall;

pub use step::{Fault, Step};

/// The argument for the launch step on the host.
pub const MODE_LAUNCH: &str = "launch";
/// The argument for the process that creates a session's namespaces.
pub const MODE_HOLD: &str = "hold";
/// The argument for the process that opens sockets in a session's network namespace.
pub const MODE_SOCKET: &str = "socket";
/// The argument for process 1 of a sandbox.
pub const MODE_PID1: &str = "pid1";
/// The argument for the launch step of a command outside the sandbox.
pub const MODE_OUTSIDE: &str = "outside";
/// The argument for process 1 of a command outside the sandbox.
pub const MODE_OUTSIDE_PID1: &str = "outside-pid1";
/// The argument for a command inside a sandbox that connects to a host through the proxy. Host and port follow.
pub const MODE_CONNECT: &str = "connect";
/// The variable with the URL of the proxy, for a command inside a sandbox.
pub const PROXY_VARIABLE: &str = "AIRLOCK_PROXY";

/// The directory of Airlock's files inside a sandbox.
pub const INSIDE: &str = "/run/airlock";
/// The path of process 1's own program inside the sandbox.
pub const INSIDE_INIT: &str = "/run/airlock/init";
/// The file that bash reads before the command, if the session has a snapshot.
pub const INSIDE_BASH_ENV: &str = "/run/airlock/bash_env";
/// The directory inside the sandbox in which process 1 creates the files that the shell reads. It is a small tmpfs for
/// one command.
pub const COMMAND_DIRECTORY: &str = "/run/airlock/run";
/// The size of that tmpfs in bytes. The longest command, the longest snapshot and their directory fit.
pub const COMMAND_DIRECTORY_SIZE: u64 = 1 << 20;
/// The name of the command's file in [`COMMAND_DIRECTORY`].
pub const COMMAND_FILE: &str = "command";
/// The name of the session's shell snapshot in [`COMMAND_DIRECTORY`].
pub const SNAPSHOT_FILE: &str = "snapshot";
/// The name of the source of a shell snapshot in [`COMMAND_DIRECTORY`].
pub const SHELL_INIT_FILE: &str = "shell_init";
/// The name of the certificate authorities in [`COMMAND_DIRECTORY`], if the command has inspected hosts.
pub const CERTIFICATES_FILE: &str = "certificates.pem";
/// The path of that file inside the sandbox.
pub const INSIDE_CERTIFICATES: &str = "/run/airlock/run/certificates.pem";
/// The host directory over which the launch step mounts the session's directories, in a separate mount namespace. It
/// exists on every Linux system and is never bound.
pub const STAGE: &str = "/sys";

/// The name of an assembled root file system under [`STAGE`].
pub const STAGED_ROOT: &str = "root";

/// The uid and gid of a command inside the sandbox.
pub const INSIDE_ID: u32 = 1000;
/// The maximum length of a reported directory, in bytes.
pub const MAX_CWD: usize = 4096;

/// The host uid and gid of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIds {
    /// The user ID on the host; never 0.
    pub uid: u32,
    /// The group ID on the host; never 0.
    pub gid: u32,
}

/// The plan of the launch step on the host. Three descriptors come with it: bubblewrap's arguments, its status pipe
/// and the system call filter. With `join`, a user and a network namespace follow. With `cgroup`, the directory of a
/// cgroup follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// The pid that the parent must have. If the parent is another process, the runner has died.
    pub parent: u32,
    /// The IDs to change to. `None` keeps the runner's.
    pub ids: Option<HostIds>,
    /// Directories to mount under [`STAGE`] first, while they are reachable.
    pub stage: Vec<Staged>,
    /// Other host paths to mount there.
    pub shared: Vec<Shared>,
    /// The root file system to assemble there.
    pub root: Option<StagedRoot>,
    /// A mount to unmount, with everything below it, after the directories are staged. It contains the disks of other
    /// sessions.
    pub leave: Option<Vec<u8>>,
    /// Whether a session's user and network namespaces are joined.
    pub join: bool,
    /// Whether the sandbox is created in a cgroup.
    pub cgroup: bool,
    /// The path of bubblewrap.
    pub bwrap: Vec<u8>,
}

/// One directory that the launch step makes reachable for the session's uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// The directory on the host.
    pub source: Vec<u8>,
    /// Its name under [`STAGE`].
    pub name: String,
    /// The overlays: outer before inner, and inner ones directly after the overlay that contains them.
    pub overlays: Vec<Overlay>,
}

/// A host path that the session's uid may not be able to reach, or that must be mounted through a handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// The path on the host. No component may be a symbolic link.
    pub source: Vec<u8>,
    /// Its name under [`STAGE`].
    pub name: String,
    /// Its kind.
    pub kind: SharedKind,
}

/// The kind of a shared path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedKind {
    /// A directory or a file.
    Bind,
    /// A socket that the session's uid must be able to write to.
    Socket,
}

/// A root file system in a directory of the host, read-only, with mount points that the directory lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedRoot {
    /// The directory. No component of its path may be a symbolic link.
    pub source: Vec<u8>,
    /// The entries over it.
    pub points: Vec<Point>,
}

/// An entry that a root file system has, whatever its directory contains at this path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The path relative to the root, without `.` and `..`. No parent may be a symbolic link of the root file system.
    pub path: Vec<u8>,
    /// Its kind.
    pub kind: PointKind,
}

/// The kind of a [`Point`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointKind {
    /// A directory, with the contents that the root file system has in it.
    Directory,
    /// An empty file.
    File,
    /// A symbolic link with this target.
    Link(Vec<u8>),
}

/// A mount over a part of a staged directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The number of overlays that contain it.
    pub depth: usize,
    /// The path relative to the innermost of them, or to the directory, without `.` and `..`. Empty for the whole
    /// directory.
    pub path: Vec<u8>,
    /// The mounted cover.
    pub cover: Cover,
}

/// A cover over a part of a staged directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cover {
    /// An empty file or directory without permissions.
    Hidden {
        /// Whether an overlay is inside it, so that the directory must be passable.
        around: bool,
    },
    /// The existing file or directory.
    Visible {
        /// Whether it is read-only.
        read_only: bool,
    },
    /// A read-only file with this content.
    Content(Vec<u8>),
}

/// The plan for a command outside the sandbox. The directory of its cgroup comes with it, if there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutsidePlan {
    /// The pid that the parent must have.
    pub parent: u32,
    /// The IDs to change to. Outside the sandbox, the runner's own IDs would give access to all of the runner's files.
    pub ids: HostIds,
    /// The directories that these IDs could not reach.
    pub shown: Shown,
    /// Like [`LaunchPlan::leave`].
    pub leave: Option<Vec<u8>>,
}

/// Directories that are shown at their own paths in the mount namespace of one command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    /// Their common parent. All its other entries are hidden.
    pub over: Vec<u8>,
    /// The directories.
    pub directories: Vec<Vec<u8>>,
    /// The path, next to them, of a small tmpfs for the files that the shell reads.
    pub command: Vec<u8>,
}

/// The plan for creating a session's namespaces.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HoldPlan {
    /// The pid that the parent must have.
    pub parent: u32,
    /// The IDs to change to. `None` keeps the runner's.
    pub ids: Option<HostIds>,
}

/// The plan for sockets in a session's network namespace. The session's user and network namespace come with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SocketPlan {
    /// The pid that the parent must have.
    pub parent: u32,
    /// The IDs to change to. `None` keeps the runner's.
    pub ids: Option<HostIds>,
    /// The use of the sockets.
    pub sockets: SocketUse,
}

/// The use of sockets in a session's network namespace.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum SocketUse {
    /// One listener at a free port of 127.0.0.1.
    Listen {
        /// The maximum number of connections that wait to be accepted.
        backlog: i32,
    },
    /// Sockets that are not connected: the first for IPv4, and the second, if the kernel has it, for IPv6.
    Connect,
}

/// Resource limits that process 1 sets before it forks the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimits {
    /// Open descriptors per process.
    pub nofile: u64,
    /// Processes and threads of the sandbox.
    pub nproc: u64,
    /// The largest file that a process may write, in bytes. `None` means no limit.
    pub fsize: Option<u64>,
}

/// The accesses that Landlock allows. Reading and executing is always allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Directories in which everything except devices can be written, created and removed, as paths inside the sandbox.
    pub directories: Vec<Vec<u8>>,
    /// Paths that can be written and controlled, but not created or removed.
    pub files: Vec<Vec<u8>>,
    /// Whether TCP sockets can be bound and connected.
    pub tcp: bool,
}

/// The active Landlock restrictions of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landlock {
    /// The version of the kernel's interface that is used. 0 means that Landlock is not used. It is missing, off, or
    /// at version 1, which would break renames.
    pub abi: u32,
    /// Whether TCP is denied.
    pub tcp_denied: bool,
}

impl Landlock {
    /// Reports whether files can be written only as [`Access`] allows.
    #[must_use]
    pub fn files(self) -> bool {
        self.abi >= 2
    }

    /// Reports whether devices can be controlled only as [`Access`] allows.
    #[must_use]
    pub fn devices(self) -> bool {
        self.abi >= 5
    }

    /// Reports whether signals and abstract UNIX sockets are confined to the command.
    #[must_use]
    pub fn scopes(self) -> bool {
        self.abi >= 6
    }
}

/// The shells that execute commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Shell {
    /// GNU bash.
    #[default]
    Bash,
    /// zsh.
    Zsh,
    /// PowerShell 6 or later.
    Pwsh,
}

impl Shell {
    /// All shells.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Pwsh];

    /// Returns its name, which is also that of its process.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Pwsh => "pwsh",
        }
    }

    /// Returns its possible paths inside the sandbox. The first executable one is used.
    #[must_use]
    pub fn places(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"],
            Self::Zsh => &["/bin/zsh", "/usr/bin/zsh", "/usr/local/bin/zsh"],
            Self::Pwsh => &["/usr/bin/pwsh", "/usr/local/bin/pwsh", "/opt/microsoft/powershell/7/pwsh"],
        }
    }
}

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TerminalSize {
    /// The number of lines.
    pub rows: u16,
    /// The number of characters per line.
    pub cols: u16,
}

/// The program that process 1 starts. Stdin, stdout and stderr come with it, unless it gets a terminal. In a sandbox the
/// [ledger](crate::ledger) follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartSpec {
    /// The shell.
    pub shell: Shell,
    /// A program (a path inside the sandbox) with arguments, to which the shell and its arguments are appended. Empty
    /// if the shell is started directly.
    pub prefix: Vec<Vec<u8>>,
    /// The arguments of the shell.
    pub args: Vec<Vec<u8>>,
    /// The directory of the files for the shell.
    pub directory: Vec<u8>,
    /// The paths of empty directories below that directory, for the shell.
    pub directories: Vec<String>,
    /// The names and contents of these files.
    pub files: Vec<(String, Vec<u8>)>,
    /// The whole environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// The start directory, as a path inside the sandbox.
    pub cwd: Vec<u8>,
    /// The limits.
    pub limits: Rlimits,
    /// The umask of the shell.
    pub umask: u32,
    /// The accesses that Landlock allows.
    pub access: Access,
    /// If set, a terminal is created as its input and output.
    pub terminal: Option<TerminalSize>,
    /// The calls whose refusals are counted in the ledger. Empty outside a sandbox.
    pub watched: Vec<WatchedCall>,
}

/// A message from the runner's side to process 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToInit {
    /// Starts a shell; sent once.
    Start(Box<StartSpec>),
    /// Sends SIGTERM to all processes inside the sandbox, and continues stopped ones.
    Terminate,
    /// Sends this signal to all processes inside the sandbox.
    Signal(Signal),
}

/// The signals that can be sent from outside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// SIGHUP.
    Hup,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Cont,
}

/// A message from `airlock-init`, in any mode, to the runner's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// A step failed, and no shell was started.
    Failed {
        /// The step.
        step: Step,
        /// The reason, which determines the remedy.
        fault: Fault,
        /// The cause, in one line.
        cause: String,
    },
    /// The launch step continues in this process, a child of the runner. Its pidfd comes with the message.
    Cloned {
        /// Its pid in the runner's namespace.
        pid: i32,
    },
    /// The preparation is complete. In the message of process 1, its pidfd comes with it; in that of
    /// [`MODE_SOCKET`], the sockets.
    Ready,
    /// The shell was started with these Landlock restrictions. The controlling end of its terminal comes with the
    /// message, if it has one.
    Started(Landlock),
    /// The shell ended. Process 1 ends next.
    Ended(End),
}

/// The end of the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Its status.
    pub status: Status,
    /// Whether another process of the sandbox outlived the shell.
    pub leftovers: bool,
    /// The directory in which the shell ended.
    pub cwd: Option<Vec<u8>>,
    /// User CPU time of all reaped processes, in microseconds.
    pub user_micros: u64,
    /// System CPU time of all reaped processes, in microseconds.
    pub system_micros: u64,
    /// The largest resident set of any single process, in bytes.
    pub peak_rss: u64,
}

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It exited with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// The signal's number.
        signal: u8,
        /// Whether the kernel reported a core dump.
        core: bool,
    },
}

impl Status {
    /// Returns the exit code with which process 1 passes this status to bubblewrap.
    #[must_use]
    pub fn as_exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal, .. } => signal.saturating_add(128),
        }
    }
}
