//! What a runner is told to run, and within which bounds.

use std::{collections::BTreeMap, time::Duration};

use super::{SessionId, TerminalSize};

/// Which shell reads a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shell {
    /// bash.
    Bash,
    /// zsh.
    Zsh,
    /// PowerShell 6 or later.
    Pwsh,
}

impl Shell {
    /// The stable name of the shell, as in configuration and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Pwsh => "pwsh",
        }
    }
}

/// How much policy lets through without asking. Ordered from the loosest to the tightest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Whatever no rule denies or asks about.
    Bypass,
    /// Edits inside the workspace, too.
    AcceptEdits,
    /// What is proven read-only or allowed by a rule.
    Default,
    /// Only what is proven read-only.
    Plan,
}

impl Mode {
    /// The stable name of the mode, as in configuration and the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::AcceptEdits => "accept_edits",
            Self::Default => "default",
            Self::Plan => "plan",
        }
    }
}

/// What a runner must give a command, or refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Requirement {
    /// Workspace, HOME and /tmp read-only, an empty network, a fixed PATH.
    ReadOnlyMount,
    /// The decided programs are found under trusted directories.
    TrustedPath,
}

/// Exactly what was decided. Its hash ([`Grant::binding`](crate::binding)) is what the permit and any
/// approval are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The session it runs in.
    pub session_id: SessionId,
    /// At most 128 KiB, without NUL bytes.
    pub command: Vec<u8>,
    /// What reads the command.
    pub shell: Shell,
    /// The current directory, inside the sandbox.
    pub directory: Vec<u8>,
    /// Of the session and the request together.
    pub env: BTreeMap<String, Vec<u8>>,
    /// What the sandbox is built from.
    pub profile: SandboxProfile,
    /// It runs on read-only mounts or not at all.
    pub read_only: bool,
    /// What else it needs; sorted, without doubles.
    pub requires: Vec<Requirement>,
    /// Two streams instead of one.
    pub separate_stderr: bool,
    /// Wall time, from the start of the command.
    pub timeout: Duration,
    /// It ends once it has written nothing for so long; none: silence ends nothing.
    pub idle_timeout: Option<Duration>,
    /// Whether its last directory becomes the session's.
    pub keep_directory: bool,
    /// Outside the sandbox.
    pub unsandboxed: bool,
    /// SHA-256 of the session's shell snapshot; empty without one.
    pub snapshot_digest: Vec<u8>,
    /// Its input stays open for what is written to it.
    pub stdin: bool,
    /// What the decision found in the command.
    pub decided: Decided,
    /// Bytes of each stream that the result holds whole, as text.
    pub inline_limit: u32,
    /// It has a terminal of this size, which is its input and its output.
    pub pty: Option<TerminalSize>,
}

/// What a decision was made about, for the runner to hold against the files it sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decided {
    /// The programs it would start, as the command names them; sorted, without doubles.
    pub programs: Vec<Vec<u8>>,
    /// The subcommands of git among them, such as `init` or `worktree add`; sorted, without doubles.
    pub git: Vec<String>,
    /// The paths it names.
    pub paths: Vec<DecidedPath>,
    /// What it would run of what commands of the session can write; at most
    /// [`BOUND_FILES`](crate::limits::BOUND_FILES), by path.
    pub files: Vec<BoundFile>,
    /// Files that its programs obey, where the read-only proof is all that allows it; at most
    /// [`DECIDED_PATHS`](crate::limits::DECIDED_PATHS).
    pub obeyed: Vec<Obeyed>,
}

/// Files that a program obeys before it does its work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obeyed {
    /// The program that obeys them.
    pub program: String,
    /// Absolute, inside; `*` stands for any part of one name. Empty: where they are is not known.
    pub paths: Vec<String>,
    /// How settings stand in them.
    pub format: ObeyedFormat,
    /// The settings that name a program.
    pub settings: Vec<String>,
}

/// How settings stand in a file that a program obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObeyedFormat {
    /// Keys of TOML, such as `build.rustc-wrapper`; `*` stands for one name.
    Toml,
    /// Keys of JSON, likewise.
    Json,
    /// A repository, or a file of git's configuration; keys in small letters, `*` for any subsection.
    Git,
    /// Texts that stand anywhere in the file, once quotes and escapes are removed.
    Text,
    /// That the file is there is enough.
    Present,
}

/// A file that a command would run, and what was there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundFile {
    /// Absolute, inside.
    pub path: Vec<u8>,
    /// What is, or must be, there.
    pub state: FileState,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileState {
    /// It does not matter.
    Any,
    /// Contents with this SHA-256.
    Digest([u8; 32]),
    /// Nothing.
    Absent,
    /// No file that can be read.
    Other,
    /// More bytes than are compared.
    TooLarge,
    /// Nobody could look. No file is ever found so.
    Unknown,
}

/// A path that a decision knows of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecidedPath {
    /// Absolute, inside.
    pub path: Vec<u8>,
    /// What is done to it.
    pub access: PathAccess,
}

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathAccess {
    /// Its contents or metadata are read.
    Read,
    /// Its contents or metadata are changed.
    Write,
    /// It is made.
    Create,
    /// It is removed.
    Delete,
}

/// The part of a resolved profile that the sandbox is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxProfile {
    /// The profile's name.
    pub name: String,
    /// Shown read-only, besides the minimal root.
    pub root_binds: Vec<Bind>,
    /// What it can reach.
    pub network: NetworkMode,
    /// Fixed variables.
    pub env: BTreeMap<String, Vec<u8>>,
    /// The PATH of every command.
    pub path: String,
    /// Variables that change what runs, but may be set by sessions and requests all the same.
    pub allowed_env: Vec<String>,
    /// At most so much of everything.
    pub limits: SandboxLimits,
    /// A folder of the host that holds a root file system; none: the smallest root of the host's own.
    pub rootfs: Option<String>,
    /// What may be read and written.
    pub paths: PathRules,
    /// What is done about names whose content runs later.
    pub protect: Protect,
    /// Which sockets there are.
    pub sockets: Sockets,
    /// Variables of the runner's own environment that are passed through, secrets never.
    pub pass_env: Vec<String>,
    /// Names of the runner's own secrets, whose values are replaced in the output.
    pub secrets: Vec<String>,
    /// What a session's shell snapshot is made of, at most [`crate::limits::SHELL_INIT_BYTES`]; empty: none is
    /// made. Not in grants: the snapshot is bound by its digest.
    pub shell_init: String,
    /// A program and its words in front of the shell; empty for none.
    pub shell_prefix: Vec<String>,
}

/// Globs as in a `.gitignore`, relative to the workspace, or absolute as seen inside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathRules {
    /// Cannot be read.
    pub deny_read: Vec<String>,
    /// Can be read, inside what `deny_read` names.
    pub allow_read: Vec<String>,
    /// All that can be written of workspace, HOME and `/tmp`; none: all of them.
    pub allow_write: Option<Vec<String>>,
    /// Cannot be written, inside what can be.
    pub deny_write: Vec<String>,
}

/// What is done about names whose content runs later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protect {
    /// When a command makes or changes one.
    pub action: ProtectAction,
    /// Whether git may write to `.git` at the workspace's root.
    pub git_writes: bool,
    /// Whether commands may set what git's configuration runs.
    pub git_config: bool,
    /// Names besides those that are always protected.
    pub names: Vec<String>,
}

impl Default for Protect {
    fn default() -> Self {
        Self { action: ProtectAction::Quarantine, git_writes: true, git_config: false, names: Vec::new() }
    }
}

/// What follows when a command makes or changes a protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProtectAction {
    /// The result says so.
    Report,
    /// It is moved where no command reaches it, and can be given back.
    Quarantine,
    /// The command has failed.
    Fail,
}

impl ProtectAction {
    /// The stable name, as in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Quarantine => "quarantine",
            Self::Fail => "fail",
        }
    }
}

/// Which sockets can be made and reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// Whether sockets of the family UNIX can be made.
    pub unix: bool,
    /// Whether interfaces and routes can be asked for.
    pub netlink_route: bool,
    /// Sockets of the host that are shown inside.
    pub allowed_unix: Vec<String>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { unix: true, netlink_route: false, allowed_unix: Vec::new() }
    }
}

/// A host folder or file shown read-only inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// On the host, absolute.
    pub source: String,
    /// Inside, absolute.
    pub target: String,
}

/// What a sandbox can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkMode {
    /// The session's own loopback and nothing else.
    Loopback,
}

/// Bounds of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Descriptors per process.
    pub open_files: u32,
    /// Processes and threads of the session's user.
    pub processes: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of output kept per stream.
    pub output_bytes: u64,
    /// Between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes of a read-only command's private folder for temporary files.
    pub private_tmp_bytes: u64,
    /// Bytes of all its processes together; none: the runner's limit alone.
    pub memory_bytes: Option<u64>,
    /// Thousandths of one processor; none: the runner's limit alone.
    pub cpu_millis: Option<u64>,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            open_files: 1024,
            processes: 1024,
            file_size: 4 << 30,
            output_bytes: 64 << 20,
            grace: Duration::from_secs(5),
            private_tmp_bytes: 64 << 20,
            memory_bytes: None,
            cpu_millis: None,
        }
    }
}
