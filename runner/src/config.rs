//! The runner's configuration: TOML, typed, every limit named, checked across its fields at the start.
//!
//! Looks at no file but its own; whether certificates and bases are there is found where they are used.

mod check;
mod defaults;
mod duration;
mod schema;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use airlock_proto::domain::{NetworkMode, RunnerId};
use airlock_sandbox::{DiskBackend, DiskConfig};
use serde::Deserialize;

pub use airlock_config::{ConfigError, Problem};

/// What errors call a configuration that has no file.
const NAME: &str = "runner configuration";

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerConfig {
    /// The name under which servers know this runner: 1 to 63 of `a-z A-Z 0-9 . _ -`. Without one, the host's.
    #[serde(default = "airlock_config::host_name")]
    pub runner_id: String,
    /// The runner's own folder: sessions, journal, kept output. One runner at a time uses it.
    pub state_dir: PathBuf,
    /// Commands at once.
    #[serde(default = "defaults::slots")]
    pub slots: u32,
    /// bubblewrap, as an absolute path.
    #[serde(default = "defaults::bwrap")]
    pub bwrap: PathBuf,
    /// The servers to dial, each of them.
    #[serde(default, rename = "server")]
    pub servers: Vec<ServerConfig>,
    /// Folders that sessions can begin with a copy of, by name.
    #[serde(default)]
    pub bases: BTreeMap<String, PathBuf>,
    /// What servers can place by.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The host uids, and gids of the same numbers, from which each session gets one of its own. No
    /// other runner or account of this host may use them. Only a runner with uid 0 can use it.
    #[serde(default)]
    pub uids: UidConfig,
    /// Limits of whole sandboxes by control groups, version 2.
    #[serde(default)]
    pub cgroup: CgroupConfig,
    /// What a session may take of the disk.
    #[serde(default)]
    pub workspace: WorkspaceConfig,
    /// What no server can widen.
    #[serde(default)]
    pub floor: FloorConfig,
    /// Values that are replaced in the output of commands whose profile names them.
    #[serde(default)]
    pub secrets: SecretsConfig,
    /// What profiles pass through of the runner's own environment.
    #[serde(default)]
    pub env: EnvConfig,
    /// The runner's named limits.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Files on their way into and out of workspaces, and what workspaces are compared with.
    #[serde(default)]
    pub transfers: TransfersConfig,
    /// The pace at which lost servers are dialled again.
    #[serde(default)]
    pub reconnect: ReconnectConfig,
    /// Kept output.
    #[serde(default)]
    pub spool: SpoolConfig,
    /// The orderly end of the process.
    #[serde(default)]
    pub drain: DrainConfig,
    /// Traces, metrics and logs.
    #[serde(default)]
    pub telemetry: TelemetryConfig,
}

/// One server to dial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// `https://host:port`; `http://` only with `insecure_loopback`.
    pub endpoint: String,
    /// The name its certificate must carry; one of `floor.servers`.
    pub server_name: Option<String>,
    /// The certificates that may have signed the server's, PEM.
    pub ca: Option<PathBuf>,
    /// The runner's certificate, PEM.
    pub cert: Option<PathBuf>,
    /// The runner's key, PEM.
    pub key: Option<PathBuf>,
    /// Plain text and no identity, to an address of the loopback only.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// Each address that the endpoint's name resolves to is a server of its own.
    #[serde(default)]
    pub discover: bool,
}

/// See [`RunnerConfig::uids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UidConfig {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// See [`RunnerConfig::cgroup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CgroupConfig {
    /// Whether they are used.
    pub mode: CgroupMode,
    /// The folder of a cgroup that is the runner's to divide, such as
    /// `/sys/fs/cgroup/airlock`; none: the runner's own.
    pub parent: Option<PathBuf>,
}

/// Whether cgroups are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupMode {
    /// Where one can be made, with the controllers that are there; the capability report says which limits
    /// are not enforced.
    #[default]
    Auto,
    /// The runner does not start where `memory`, `pids` or `cpu` is missing.
    Require,
    /// Limits are those of processes only.
    Off,
}

impl CgroupConfig {
    /// As the launcher takes it.
    #[must_use]
    pub fn for_launcher(&self) -> airlock_sandbox::CgroupConfig {
        let mode = match self.mode {
            CgroupMode::Auto => airlock_sandbox::CgroupMode::Auto,
            CgroupMode::Require => airlock_sandbox::CgroupMode::Require,
            CgroupMode::Off => airlock_sandbox::CgroupMode::Off,
        };
        airlock_sandbox::CgroupConfig { mode, parent: self.parent.clone() }
    }
}

/// What workspace, HOME and /tmp of a session may take of the disk together, with what is in its quarantine,
/// and who holds it to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceConfig {
    /// Who holds sessions to their limits.
    pub backend: WorkspaceBackend,
    /// Bytes of allocated blocks; none: any number.
    pub bytes: Option<u64>,
    /// Files, folders and links; none: any number.
    pub inodes: Option<u64>,
    /// How often it is counted where the kernel does not hold it, and how often free room of the disk is
    /// looked at, while a command can write. Where counting takes long, less often.
    #[serde(with = "duration")]
    pub watch_every: Duration,
}

/// Who holds a session to what it may take of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceBackend {
    /// `quota` where it works, else `watch`.
    #[default]
    Auto,
    /// Quotas of projects: `state_dir` is on ext4 or xfs that is mounted with `prjquota`.
    Quota,
    /// An ext4 in a sparse file for each session.
    Loop,
    /// A file system in memory for each session; gone with the host's next start.
    Tmpfs,
    /// Nobody: it is counted from time to time, and a command that took too much is ended.
    Watch,
}

impl WorkspaceConfig {
    /// As the sandbox takes it.
    #[must_use]
    pub fn for_sandbox(&self) -> DiskConfig {
        let backend = match self.backend {
            WorkspaceBackend::Auto => None,
            WorkspaceBackend::Quota => Some(DiskBackend::Quota),
            WorkspaceBackend::Loop => Some(DiskBackend::Loop),
            WorkspaceBackend::Tmpfs => Some(DiskBackend::Tmpfs),
            WorkspaceBackend::Watch => Some(DiskBackend::Watch),
        };
        DiskConfig { backend, bytes: self.bytes, inodes: self.inodes }
    }
}

/// What the runner accepts at most, whatever a server says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FloorConfig {
    /// Layers that must be seen to hold before the runner takes commands, besides those without which no
    /// command ever runs: names of [`airlock_sandbox::LAYERS`].
    pub require: Vec<String>,
    /// Folders of the host of which a profile may show itself or a part read-only, besides the system's
    /// minimal root. Links are resolved before they are compared.
    pub bind_sources: Vec<PathBuf>,
    /// Folders of the host that hold root file systems, or hold such folders, of which a profile may have one as
    /// its root. Links are resolved before they are compared; never the host's own root.
    pub rootfs: Vec<PathBuf>,
    /// Sockets of the host that a profile may show, each by its exact path.
    pub unix_sockets: Vec<PathBuf>,
    /// Variables of the runner's own environment that a profile may pass to commands. Exact names.
    pub pass_env: Vec<String>,
    /// Kinds of network that a profile may give.
    pub networks: Vec<NetworkName>,
    /// Whether a command may run outside the sandbox, where request and profile want it, too. Without root
    /// none does: it would have the runner's own user.
    pub unsandboxed: bool,
    /// The names of server certificates that are obeyed.
    pub servers: Vec<String>,
    /// Wall time of one command.
    #[serde(with = "duration")]
    pub max_timeout: Duration,
    /// Between SIGTERM and SIGKILL.
    #[serde(with = "duration")]
    pub max_grace: Duration,
    /// Descriptors per process.
    pub max_open_files: u32,
    /// Processes and threads of one sandbox.
    pub max_processes: u32,
    /// Bytes of one file.
    pub max_file_bytes: u64,
    /// Bytes of output kept per stream.
    pub max_output_bytes: u64,
    /// Bytes of a read-only command's private folder for temporary files.
    pub max_private_tmp_bytes: u64,
    /// Bytes of memory of one sandbox, where a cgroup can hold it to them; none: as many as the host has.
    pub max_memory_bytes: Option<u64>,
    /// Processor time of one sandbox, in thousandths of one processor, where a cgroup can hold it to them;
    /// none: all processors.
    pub max_cpu_millis: Option<u64>,
}

/// What profiles pass through of the runner's own environment. Names of known secrets never pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EnvConfig {
    /// Exact names that may pass although they end like those of secrets do.
    pub pass_exceptions: Vec<String>,
}

/// Where the runner finds the values of secrets when it starts, by their names: letters, digits and `_`. Each value
/// has 8 bytes to 8 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// Files, each with a value; a newline at its end is not of it.
    pub files: BTreeMap<String, PathBuf>,
    /// Variables of the runner's own environment.
    pub env: BTreeMap<String, String>,
}

/// A kind of network, by its name in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkName {
    /// The session's own loopback and nothing else.
    Loopback,
}

impl NetworkName {
    /// Whether this is the name of `mode`.
    #[must_use]
    pub fn names(self, mode: NetworkMode) -> bool {
        match (self, mode) {
            (Self::Loopback, NetworkMode::Loopback) => true,
        }
    }
}

/// The runner's named limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Sessions at once.
    pub sessions: u32,
    /// Bytes of all kept output together.
    pub spool_total_bytes: u64,
    /// Bytes that must be free under `state_dir` for a job or a session to be accepted. When there are fewer
    /// while commands run, the one whose session grows most is ended.
    pub disk_reserve_bytes: u64,
    /// Bytes copied from a base folder into one session.
    pub base_bytes: u64,
    /// Files and folders copied from a base folder into one session.
    pub base_entries: u64,
    /// Jobs that no server has told the runner to forget.
    pub jobs_kept: u32,
    /// Forgotten jobs whose ids are still refused. The oldest go first.
    pub ids_remembered: u32,
    /// Output streams at once, per server.
    pub output_streams: u32,
    /// Exchanges at once, per server: transfers, listings, inputs of commands.
    pub exchanges: u32,
    /// How long an exchange waits for a server that sends or takes nothing. A writer of input may be idle.
    #[serde(with = "duration")]
    pub exchange_idle: Duration,
    /// How long a writer of a command's input waits for the writer before it.
    #[serde(with = "duration")]
    pub stdin_turn: Duration,
    /// Messages that wait to be sent on one link; over it the link is made anew.
    pub link_queue: u32,
    /// How long a sandbox may take to start.
    #[serde(with = "duration")]
    pub start_timeout: Duration,
    /// How long a dial may take, the server's answer to it included.
    #[serde(with = "duration")]
    pub dial_timeout: Duration,
    /// The shortest heartbeat interval taken from a server.
    #[serde(with = "duration")]
    pub heartbeat_min: Duration,
    /// The longest heartbeat interval taken from a server.
    #[serde(with = "duration")]
    pub heartbeat_max: Duration,
    /// The longest `link_grace` taken from a server.
    #[serde(with = "duration")]
    pub link_grace_max: Duration,
}

/// Files on their way into and out of workspaces, and what workspaces are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransfersConfig {
    /// Bytes of one transfer, as they travel: a file, or an archive as it is (compressed or not).
    pub bytes: u64,
    /// Bytes of the files that one archive holds.
    pub unpacked_bytes: u64,
    /// Files, folders and links that one archive holds.
    pub entries: u64,
    /// Uploads and downloads under way at once; one session has half of them at most.
    pub at_once: u32,
    /// How long a transfer that nobody goes on with is kept, and the answer of one that was done.
    #[serde(with = "duration")]
    pub keep: Duration,
    /// Transfers kept of one session; what was done goes first when there are more.
    pub per_session: u32,
    /// Bytes of all kept transfers together, on disk.
    pub total_bytes: u64,
    /// Bytes of file contents kept for one session, so that changes can be shown line by line.
    pub baseline_bytes: u64,
    /// Bytes of one such file; larger ones are compared, and not shown.
    pub baseline_file_bytes: u64,
}

/// The pace at which lost servers are dialled again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReconnectConfig {
    /// The first wait; each further one is twice as long, and each is shortened by up to a half at random.
    #[serde(with = "duration")]
    pub first: Duration,
    /// The longest wait.
    #[serde(with = "duration")]
    pub max: Duration,
    /// The wait after a server said no (another protocol version, not a runner of its).
    #[serde(with = "duration")]
    pub refused: Duration,
    /// How often the names of servers are looked up that are to be discovered.
    #[serde(with = "duration")]
    pub lookup: Duration,
}

/// Kept output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpoolConfig {
    /// How long an ended job and its output are kept for a server that has not taken them, counted from
    /// the job's end or the runner's start, whichever is later.
    #[serde(with = "duration")]
    pub keep: Duration,
}

/// The orderly end of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DrainConfig {
    /// How long running commands may go on.
    #[serde(with = "duration")]
    pub grace: Duration,
    /// How long servers may take to fetch the output of what has ended.
    #[serde(with = "duration")]
    pub handover: Duration,
}

/// Traces, metrics and logs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// An OTLP collector's gRPC endpoint; `https://` for TLS; none: nothing is exported.
    pub otlp_endpoint: Option<String>,
    /// The authorities that may have signed the collector's certificate, PEM; none: the system's.
    pub otlp_ca: Option<PathBuf>,
    /// This runner's certificate as the collector's client, and those that lead to its root, PEM.
    pub otlp_certificate: Option<PathBuf>,
    /// Its private key.
    pub otlp_key: Option<PathBuf>,
    /// Which installation it is part of; alerts and dashboards keep installations apart by it.
    pub service_namespace: Option<String>,
    /// How often metrics are sent.
    #[serde(with = "duration")]
    pub metrics_interval: Duration,
    /// How long the last export may take when the process ends.
    #[serde(with = "duration")]
    pub flush_timeout: Duration,
    /// What is logged, such as `info` or `airlock_runner=debug`.
    pub log: String,
    /// JSON lines instead of text.
    pub log_json: bool,
}

impl RunnerConfig {
    /// A configuration with every default, for one server.
    #[must_use]
    pub fn new(runner_id: impl Into<String>, state_dir: impl Into<PathBuf>, server: ServerConfig) -> Self {
        let floor =
            FloorConfig { servers: server.server_name.iter().cloned().collect(), ..FloorConfig::default() };
        Self {
            runner_id: runner_id.into(),
            state_dir: state_dir.into(),
            slots: defaults::slots(),
            bwrap: defaults::bwrap(),
            servers: vec![server],
            bases: BTreeMap::new(),
            labels: BTreeMap::new(),
            uids: UidConfig::default(),
            cgroup: CgroupConfig::default(),
            workspace: WorkspaceConfig::default(),
            floor,
            secrets: SecretsConfig::default(),
            env: EnvConfig::default(),
            limits: LimitsConfig::default(),
            transfers: TransfersConfig::default(),
            reconnect: ReconnectConfig::default(),
            spool: SpoolConfig::default(),
            drain: DrainConfig::default(),
            telemetry: TelemetryConfig::default(),
        }
    }

    /// Reads and checks the file. Blocks.
    ///
    /// # Errors
    /// Everything that is wrong, each with file, place, key and cure: first what each key holds, then what
    /// holds across them.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::parse(&airlock_config::read(path)?, path)
    }

    /// Reads and checks text that stands in `path`.
    ///
    /// # Errors
    /// As [`RunnerConfig::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let config: Self = airlock_config::parse(text, &name, schema::SCHEMA)?;
        ConfigError::unless_right(&name, Some(text), check::problems(&config))?;
        Ok(config)
    }

    /// Checks across the fields of a configuration that was put together by a program. The range of each
    /// single field is the program's own care.
    ///
    /// # Errors
    /// As [`RunnerConfig::load`], without places.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_right(NAME, None, check::problems(self))
    }

    /// The runner's name.
    ///
    /// # Errors
    /// If it is not of the right form.
    pub fn id(&self) -> Result<RunnerId, ConfigError> {
        self.runner_id.parse().map_err(|error: airlock_proto::domain::IdError| {
            ConfigError::whole(NAME, &error.to_string(), check::ID_CURE)
        })
    }
}

#[cfg(test)]
mod tests;
