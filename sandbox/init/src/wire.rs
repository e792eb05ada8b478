//! The messages between the runner's side and `airlock-init`, and the paths
//! both sides know.
//!
//! Byte strings are `Vec<u8>`: paths, commands and variables need not be UTF-8.
//! Must not do I/O.

use serde::{Deserialize, Serialize};

/// The argument that makes `airlock-init` the host-side launch step.
pub const MODE_LAUNCH: &str = "launch";
/// The argument that makes `airlock-init` the maker of a session's namespaces.
pub const MODE_HOLD: &str = "hold";
/// The argument that makes `airlock-init` pid 1 of a sandbox.
pub const MODE_PID1: &str = "pid1";
/// The argument that makes `airlock-init` the launch step of a command outside the
/// sandbox.
pub const MODE_OUTSIDE: &str = "outside";
/// The argument that makes `airlock-init` pid 1 of a command outside the sandbox.
pub const MODE_OUTSIDE_PID1: &str = "outside-pid1";

/// Where a sandbox finds what Airlock puts there.
pub const INSIDE: &str = "/run/airlock";
/// Where pid 1 finds its own program.
pub const INSIDE_INIT: &str = "/run/airlock/init";
/// The file that bash reads before the command, where the session has a snapshot.
pub const INSIDE_BASH_ENV: &str = "/run/airlock/bash_env";
/// The folder of a sandbox in which pid 1 puts what the shell reads; a small tmpfs of
/// the one command.
pub const COMMAND_FOLDER: &str = "/run/airlock/run";
/// Size of the tmpfs that holds what the shell reads, in bytes: the longest command, the
/// longest snapshot, and their folder.
pub const COMMAND_FOLDER_SIZE: u64 = 1 << 20;
/// The name in [`COMMAND_FOLDER`] of the command.
pub const COMMAND_FILE: &str = "command";
/// The name in [`COMMAND_FOLDER`] of the session's shell snapshot.
pub const SNAPSHOT_FILE: &str = "snapshot";
/// The name in [`COMMAND_FOLDER`] of what a shell snapshot is made of.
pub const SHELL_INIT_FILE: &str = "shell_init";
/// The host folder over which the launch step mounts the session's folders, in
/// a mount namespace of its own. It exists on every Linux and is never bound.
pub const STAGE: &str = "/sys";

/// The name under [`STAGE`] of a root file system that is put together.
pub const STAGED_ROOT: &str = "root";

/// The uid and gid a command has inside.
pub const INSIDE_ID: u32 = 1000;
/// The longest path that is reported as a directory, in bytes.
pub const MAX_CWD: usize = 4096;

/// The host uid and gid under which a sandbox runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostIds {
    /// User id on the host; never 0.
    pub uid: u32,
    /// Group id on the host; never 0.
    pub gid: u32,
}

/// What the launch step does on the host before bubblewrap. With it travel the
/// descriptors: bubblewrap's arguments, its status pipe, the filter of system
/// calls; if `join`, a user and a network namespace; if `cgroup`, the folder of
/// one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchPlan {
    /// Process id that must be the parent, or the runner has died meanwhile.
    pub parent: u32,
    /// Ids to change to; `None` keeps the runner's.
    pub ids: Option<HostIds>,
    /// Folders to mount under [`STAGE`] first, while they are reachable.
    pub stage: Vec<Staged>,
    /// What else is mounted there.
    pub shared: Vec<Shared>,
    /// The root file system that is put together there.
    pub root: Option<StagedRoot>,
    /// A mount that is left with all that is mounted below it, once the folders are
    /// staged: it holds other sessions' disks.
    pub leave: Option<Vec<u8>>,
    /// Whether a session's user and network namespaces are joined.
    pub join: bool,
    /// Whether the sandbox is made in a cgroup.
    pub cgroup: bool,
    /// Path of bubblewrap.
    pub bwrap: Vec<u8>,
}

/// One folder that the launch step makes reachable for the session's uid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// The folder on the host.
    pub source: Vec<u8>,
    /// Its name under [`STAGE`].
    pub name: String,
    /// What is laid over it: outer before inner, and what lies in one directly
    /// after it.
    pub overlays: Vec<Overlay>,
}

/// Something of the host that the session's uid may not be able to reach by its
/// path, or that must be the very thing at that path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Where it is on the host; no part of it may be a symbolic link.
    pub source: Vec<u8>,
    /// Its name under [`STAGE`].
    pub name: String,
    /// What it is.
    pub kind: SharedKind,
}

/// What something shared is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SharedKind {
    /// A folder or a file.
    Bind,
    /// A socket, to which the session's uid must be able to write.
    Socket,
}

/// A root file system in a folder of the host, read-only, with mount points that
/// the folder does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedRoot {
    /// The folder; no part of its path may be a symbolic link.
    pub source: Vec<u8>,
    /// What is laid over it.
    pub points: Vec<Point>,
}

/// Something that is in a root file system whatever its folder holds there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Below the root: relative, without `.` and `..`. No folder on the way may be
    /// a symbolic link of the root file system.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: PointKind,
}

/// What a [`Point`] is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PointKind {
    /// A folder, with what the root file system has in it.
    Folder,
    /// An empty file.
    File,
    /// A symbolic link to this.
    Link(Vec<u8>),
}

/// A mount over a part of a staged folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// In how many other overlays it lies.
    pub depth: usize,
    /// Where, below the innermost of them or else the folder: relative, without
    /// `.` and `..`. Empty: the whole folder.
    pub path: Vec<u8>,
    /// What is mounted there.
    pub cover: Cover,
}

/// What is mounted over a part of a staged folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cover {
    /// An empty file or folder without any permission.
    Hidden {
        /// Whether an overlay lies in it, so that the folder must be passable.
        around: bool,
    },
    /// What is there.
    Visible {
        /// Whether it cannot be written.
        read_only: bool,
    },
    /// A read-only file with these bytes.
    Content(Vec<u8>),
}

/// What is done for a command outside the sandbox. With it travels the folder of
/// its cgroup, where there is one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutsidePlan {
    /// Process id that must be the parent.
    pub parent: u32,
    /// Ids to change to: outside, the runner's own would reach all that is the runner's.
    pub ids: HostIds,
    /// Folders that the ids could not reach.
    pub shown: Shown,
    /// As [`LaunchPlan::leave`].
    pub leave: Option<Vec<u8>>,
}

/// Folders that are shown at their own paths in a mount namespace of one command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shown {
    /// The folder above all of them that is hidden but for them.
    pub over: Vec<u8>,
    /// The folders.
    pub folders: Vec<Vec<u8>>,
    /// Where a small tmpfs of the one command is made for what the shell reads, beside
    /// them.
    pub command: Vec<u8>,
}

/// What the maker of a session's namespaces needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HoldPlan {
    /// Process id that must be the parent.
    pub parent: u32,
    /// Ids to change to; `None` keeps the runner's.
    pub ids: Option<HostIds>,
}

/// Resource limits that pid 1 sets before it forks the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimits {
    /// Open descriptors of a process.
    pub nofile: u64,
    /// Processes and threads of the sandbox.
    pub nproc: u64,
    /// Largest file a process may write, in bytes; `None` sets no limit.
    pub fsize: Option<u64>,
}

/// What Landlock leaves to a command. Everything can be read and executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Folders in which everything can be written, made and removed but devices,
    /// as paths inside.
    pub folders: Vec<Vec<u8>>,
    /// What can be written and controlled, but not made or removed.
    pub files: Vec<Vec<u8>>,
    /// Whether TCP can be bound and connected.
    pub tcp: bool,
}

/// What of Landlock is in force around a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landlock {
    /// The version of the kernel's interface that was used; 0 if none was: Landlock
    /// is not there or off, or it is the first, which would break renames.
    pub abi: u32,
    /// Whether TCP is denied.
    pub tcp_denied: bool,
}

impl Landlock {
    /// Whether files can be written only where [`Access`] says.
    #[must_use]
    pub fn files(self) -> bool {
        self.abi >= 2
    }

    /// Whether devices can be controlled only where [`Access`] says.
    #[must_use]
    pub fn devices(self) -> bool {
        self.abi >= 5
    }

    /// Whether signals and abstract UNIX sockets stay within the command.
    #[must_use]
    pub fn scopes(self) -> bool {
        self.abi >= 6
    }
}

/// The shells that read commands.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Pwsh];

    /// Its name, which is also that of its process.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Pwsh => "pwsh",
        }
    }

    /// Where it may be, inside; the first that can be executed is it.
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
    /// Lines.
    pub rows: u16,
    /// Characters of a line.
    pub cols: u16,
}

/// What pid 1 starts. With it travel stdin, stdout and stderr, unless it gets a
/// terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartSpec {
    /// Which shell.
    pub shell: Shell,
    /// A program, as a path inside, and its words, that get the shell and its words
    /// behind them; empty: the shell itself is started.
    pub prefix: Vec<Vec<u8>>,
    /// The words of the shell.
    pub args: Vec<Vec<u8>>,
    /// Where files are made for the shell to read.
    pub folder: Vec<u8>,
    /// Their names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The whole environment.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Directory to start in, as a path inside.
    pub cwd: Vec<u8>,
    /// Limits.
    pub limits: Rlimits,
    /// What Landlock leaves to it.
    pub access: Access,
    /// A terminal is made for it, and is its input and its output.
    pub terminal: Option<TerminalSize>,
}

/// From the runner's side to pid 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToInit {
    /// Start this; sent once.
    Start(Box<StartSpec>),
    /// Send SIGTERM to everything inside, and let what stands still go on.
    Terminate,
    /// Send this to everything inside.
    Signal(Signal),
}

/// The signals that can be sent from outside.
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

/// From `airlock-init`, in any of its modes, to the runner's side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// A step failed; nothing was started.
    Failed {
        /// Which one.
        step: Step,
        /// Why, in one line.
        cause: String,
    },
    /// The launch step goes on in this process, a child of the runner; a
    /// descriptor of it travels with this.
    Cloned {
        /// Its process id, where the runner is.
        pid: i32,
    },
    /// The mode's preparation is done. From pid 1 a descriptor of its own
    /// process travels with it.
    Ready,
    /// The shell was started, with this of Landlock around it. The controlling end
    /// of its terminal travels with this, where it has one.
    Started(Landlock),
    /// The shell ended; pid 1 ends next.
    Ended(End),
}

/// How the shell ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Exit or signal.
    pub status: Status,
    /// Whether another process of the sandbox outlived the shell.
    pub leftovers: bool,
    /// The directory in which the shell ended.
    pub cwd: Option<Vec<u8>>,
    /// User CPU time of everything that was waited for, in microseconds.
    pub user_micros: u64,
    /// System CPU time, likewise.
    pub system_micros: u64,
    /// Largest resident set of any one process, in bytes.
    pub peak_rss: u64,
}

/// Exit or signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It exited with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// The signal's number.
        signal: u8,
        /// Whether the kernel says that a core was dumped.
        core: bool,
    },
}

impl Status {
    /// The exit code by which pid 1 repeats this status to bubblewrap.
    #[must_use]
    pub fn as_exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal, .. } => signal.saturating_add(128),
        }
    }
}

/// The steps of `airlock-init` that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Reading the plan or the spec.
    Message,
    /// The runner died meanwhile.
    Parent,
    /// A descriptor was open that is not listed.
    Descriptors,
    /// Making the session's folders reachable.
    Stage,
    /// Making what a profile binds of the host reachable.
    Binds,
    /// Finding the sockets of the host that a profile shows.
    Sockets,
    /// Putting a root file system together.
    Root,
    /// Laying over the session's folders what may not be read or written.
    Masks,
    /// Making the outer namespace of processes, in the sandbox's cgroup.
    Processes,
    /// Changing to the session's ids.
    Identity,
    /// Making the session's namespaces.
    Namespaces,
    /// Bringing up the session's loopback.
    Loopback,
    /// Joining the session's namespaces.
    Join,
    /// Filtering system calls.
    Seccomp,
    /// Executing bubblewrap.
    Bubblewrap,
    /// Making itself unreadable, signals, the files that the shell reads.
    Prepare,
    /// Setting limits.
    Limits,
    /// Making a terminal.
    Terminal,
    /// Applying Landlock.
    Landlock,
    /// The directory to start in.
    Directory,
    /// Executing the shell: it is not there, or not executable.
    Shell,
    /// Executing what stands in front of the shell.
    Prefix,
    /// Forking the shell, for any other reason.
    Fork,
    /// Waiting for the shell.
    Wait,
}
