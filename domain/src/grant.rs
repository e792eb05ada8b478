//! The grant: the command that a runner may run, and its limits.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    BoundFile, CommandSpec, ConnectionQuestions, DecidedEdit, Inspection, NetworkRules, Pty, SessionId,
    TerminalSize,
    encoding::{self, EncodingError},
    limits::{BOUND_FILES, DECIDED_PATHS, OBEYED_NAMES, TERMINAL_CELLS},
};

/// A property that the runner must ensure, or else refuse the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Requirement {
    /// The workspace, HOME and `/tmp` are read-only, the network is empty, and PATH is fixed.
    ReadOnlyMount,
    /// The decided programs are found in trusted directories.
    TrustedPath,
}

impl Requirement {
    /// Returns the stable name of the requirement, as in the encoding.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnlyMount => "READ_ONLY_MOUNT",
            Self::TrustedPath => "TRUSTED_PATH",
        }
    }
}

/// The exact subject of a decision. The permit and any approval are bound to its hash
/// ([`Grant::binding`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The session of the command.
    pub session_id: SessionId,
    /// The command to run.
    pub command: CommandSpec,
    /// The settings that the sandbox is built from.
    pub profile: SandboxProfile,
    /// The command runs on read-only mounts or not at all.
    pub read_only: bool,
    /// Further requirements, sorted and without duplicates.
    pub requires: Vec<Requirement>,
    /// Whether the last directory of the command becomes the session's working directory.
    pub keep_directory: bool,
    /// Runs outside the sandbox.
    pub unsandboxed: bool,
    /// SHA-256 of the session's shell snapshot. Empty if there is no snapshot.
    #[serde(with = "encoding::bytes")]
    pub snapshot_digest: Vec<u8>,
    /// The facts that the decision found in the command.
    pub decided: Decided,
    /// The network rules of the profile, the session and the request, in this order. Session and request can be absent.
    /// A connection is allowed only if every layer allows it. Empty: no network beyond the session's loopback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<NetworkRules>,
    /// The questions about connections. Only a grant with `egress` that asks about hosts has any.
    #[serde(default, skip_serializing_if = "ConnectionQuestions::is_none")]
    pub questions: ConnectionQuestions,
}

impl Grant {
    /// Returns the canonical encoding, in which the grant travels to the runner.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encoding::encode(self)
    }

    /// Decodes a grant and checks the number of its entries and the size of its terminal.
    ///
    /// # Errors
    /// Returns an error if the encoding is malformed, has a field that this version does not know, or exceeds
    /// a limit.
    pub fn decode(encoded: &[u8]) -> Result<Self, EncodingError> {
        let grant: Self = encoding::decode(encoded)?;
        grant.decided.check()?;
        grant.check_network()?;
        if let Some(Pty { size: TerminalSize { rows, cols }, .. }) = &grant.command.pty
            && [rows, cols].iter().any(|side| !(1..=TERMINAL_CELLS).contains(*side))
        {
            let problem =
                format!("the terminal is {rows} by {cols}, each side must be 1 to {TERMINAL_CELLS}");
            return Err(EncodingError::new(problem));
        }
        Ok(grant)
    }
}

/// The facts that a decision relies on. The runner compares them with the actual files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// The programs that the command starts, as the command names them. Sorted and without duplicates.
    #[serde(with = "encoding::byte_lists")]
    pub programs: Vec<Vec<u8>>,
    /// The subcommands of git among them, such as `init` or `worktree add`. Sorted and without duplicates.
    pub git: Vec<String>,
    /// The paths that the command uses.
    pub paths: Vec<DecidedPath>,
    /// The files that the command would run and that commands of the session can write. At most
    /// [`BOUND_FILES`], ordered by path.
    pub files: Vec<BoundFile>,
    /// The configuration files that the programs obey, if only the read-only proof allows the command. At
    /// most [`DECIDED_PATHS`].
    pub obeyed: Vec<Obeyed>,
    /// The file edit, if a person was shown its changes. Its files and backups are in `files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<DecidedEdit>,
}

impl Decided {
    fn check(&self) -> Result<(), EncodingError> {
        let Self { programs, git, paths, files, obeyed, edit } = self;
        if programs.len().max(git.len()).max(paths.len()).max(obeyed.len()) > DECIDED_PATHS {
            let problem = format!("`decided` has more than {DECIDED_PATHS} entries of one kind");
            return Err(EncodingError::new(problem));
        }
        if files.len() > BOUND_FILES {
            let problem = format!("`decided` has {} files, at most {BOUND_FILES}", files.len());
            return Err(EncodingError::new(problem));
        }
        if obeyed.iter().any(|one| one.paths.len().max(one.settings.len()) > OBEYED_NAMES) {
            let problem = format!("a program obeys more than {OBEYED_NAMES} paths or settings");
            return Err(EncodingError::new(problem));
        }
        edit.as_ref().map_or(Ok(()), DecidedEdit::check)
    }
}

/// The configuration files that a program obeys.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Obeyed {
    /// The program that obeys them.
    pub program: String,
    /// Absolute paths inside the sandbox. `*` matches any part of one name. Empty: the paths are unknown.
    pub paths: Vec<String>,
    /// The format of the files, which determines the syntax of `settings`.
    pub format: ObeyedFormat,
    /// The settings that name a program.
    pub settings: Vec<String>,
}

/// The format of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObeyedFormat {
    /// Keys of TOML, such as `build.rustc-wrapper`. `*` matches one name.
    Toml,
    /// Keys of JSON. `*` matches one name.
    Json,
    /// A repository, or a configuration file of git. Keys are in lower case. `*` matches any subsection.
    Git,
    /// Texts anywhere in the file, after quotes and escapes are removed.
    Text,
    /// The existence of the file is sufficient.
    Present,
}

/// A path that a command uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidedPath {
    /// An absolute path inside the sandbox.
    #[serde(with = "encoding::bytes")]
    pub path: Vec<u8>,
    /// The kind of access.
    pub access: PathAccess,
}

/// A kind of access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    /// Reads contents or metadata.
    Read,
    /// Changes contents or metadata.
    Write,
    /// Creates the path.
    Create,
    /// Removes the path.
    Delete,
}

/// The part of a resolved profile that the sandbox is built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxProfile {
    /// The profile's name.
    pub name: String,
    /// Read-only mounts in addition to the minimal root.
    pub root_binds: Vec<Bind>,
    /// The network interfaces of the sandbox.
    pub network: NetworkMode,
    /// Fixed variables.
    #[serde(with = "encoding::env")]
    pub env: BTreeMap<String, Vec<u8>>,
    /// The PATH of every command.
    pub path: String,
    /// Variables that influence which program runs, and that sessions and requests may set nevertheless.
    pub allowed_env: Vec<String>,
    /// The limits of each command.
    pub limits: SandboxLimits,
    /// The directory on the host that holds the root file system. `None`: the minimal root from the host's
    /// own.
    pub rootfs: Option<String>,
    /// The paths that can be read and written.
    pub paths: PathRules,
    /// The handling of protected names.
    pub protect: Protect,
    /// The sockets that commands may use.
    pub sockets: Sockets,
    /// Variables of the runner's environment that are passed through. Secrets are never passed.
    pub pass_env: Vec<String>,
    /// Names of the runner's secrets. Their values are replaced in the output.
    pub secrets: Vec<String>,
    /// The script that creates a session's shell snapshot. At most [`crate::limits::SHELL_INIT_BYTES`].
    /// Empty: no snapshot. Always empty in a grant, which binds the snapshot by its digest.
    pub shell_init: String,
    /// A program with its arguments that starts the shell. Empty: none.
    pub shell_prefix: Vec<String>,
    /// The inspection of TLS by the runner's proxy.
    #[serde(default, skip_serializing_if = "Inspection::is_none")]
    pub inspection: Inspection,
}

/// Globs in the syntax of `.gitignore`, relative to the workspace, or absolute paths inside the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRules {
    /// Paths that cannot be read.
    pub deny_read: Vec<String>,
    /// Exceptions from `deny_read`.
    pub allow_read: Vec<String>,
    /// The writable part of the workspace, HOME and `/tmp`. `None`: all of it.
    pub allow_write: Option<Vec<String>>,
    /// Exceptions from the writable part.
    pub deny_write: Vec<String>,
}

/// The handling of protected names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protect {
    /// The response to a command that creates or changes a protected name.
    pub action: ProtectAction,
    /// Whether git may write to `.git` at the workspace's root.
    pub git_writes: bool,
    /// Whether commands may change settings of git that name a program.
    pub git_config: bool,
    /// Protected names in addition to the built-in ones.
    pub names: Vec<String>,
}

impl Default for Protect {
    fn default() -> Self {
        Self { action: ProtectAction::Quarantine, git_writes: true, git_config: false, names: Vec::new() }
    }
}

/// The response to a command that creates or changes a protected name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectAction {
    /// Reports the change in the result.
    Report,
    /// Moves the file out of reach of all commands. It can be restored.
    Quarantine,
    /// Fails the command.
    Fail,
}

impl ProtectAction {
    /// Returns the stable name, as in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Quarantine => "quarantine",
            Self::Fail => "fail",
        }
    }
}

/// The sockets that commands may create and reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sockets {
    /// Whether sockets of the family UNIX can be created.
    pub unix: bool,
    /// Whether interfaces and routes can be queried.
    pub netlink_route: bool,
    /// Sockets of the host that are visible inside the sandbox.
    pub allowed_unix: Vec<String>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { unix: true, netlink_route: false, allowed_unix: Vec::new() }
    }
}

/// A file or directory of the host that is mounted read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    /// An absolute path on the host.
    pub source: String,
    /// An absolute path inside the sandbox.
    pub target: String,
}

/// The network interfaces of a sandbox. [`Grant::egress`] permits connections through the runner's proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// Only the session's own loopback interface.
    Loopback,
}

/// The limits of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLimits {
    /// Open files per process.
    pub open_files: u32,
    /// Processes and threads of the session's user.
    pub processes: u32,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes of output that are kept per stream.
    pub output_bytes: u64,
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Bytes of a read-only command's private temporary directory.
    pub private_tmp_bytes: u64,
    /// Bytes of memory of all processes together. `None`: only the runner's limit.
    pub memory_bytes: Option<u64>,
    /// Thousandths of one processor. `None`: only the runner's limit.
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
