//! The sections of the configuration. Plain data; `check.rs` checks it.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf, time::Duration};

use airlock_config::{OrNone, Ports, Time, YEAR};
use airlock_domain::{NetworkMode, PortRange};
use airlock_sandbox::{DiskBackend, DiskConfig};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{egress::EgressConfig, network::NetworkConfig};

/// At most three threads wait for each command. The runtime has 512 blocking threads.
const MAX_SLOTS: u32 = 128;
/// Each transfer uses one thread. The runtime has 512 blocking threads.
const MAX_TRANSFERS_AT_ONCE: u32 = 64;
/// Two versions of such a file are held in memory during a comparison.
const MAX_BASELINE_FILE_BYTES: u64 = 4 << 20;
/// A link needs room for a burst of reports.
const LINK_QUEUE_MIN: u32 = 16;
/// The least output that is kept.
const OUTPUT_BYTES_MIN: u64 = 8 << 10;
/// With less memory, a sandbox does not reach its shell.
const MEMORY_MIN: u64 = 16 << 20;
/// The kernel's minimum: one millisecond in each period of 100 milliseconds.
const CPU_MILLIS_MIN: u64 = 10;

/// A time that is not zero.
type NonZero = Time<1, YEAR>;
/// A time that can be zero.
type AnyTime = Time<0, YEAR>;
/// The period of repeated work.
type Interval = Time<100, YEAR>;
/// The time for which something is kept.
type Kept = Time<1000, YEAR>;

/// The name of a layer of the sandbox.
struct Layer;

impl JsonSchema for Layer {
    fn schema_name() -> Cow<'static, str> {
        "Layer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": airlock_sandbox::LAYER_NAMES})
    }
}

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunnerConfig {
    /// The runner's name, as servers see it: 1 to 63 of `a-z A-Z 0-9 . _ -`.
    #[serde(default = "airlock_config::host_name")]
    #[schemars(extend("x-default" = "the host name"))]
    pub runner_id: String,
    /// The runner's state directory: sessions, journal and kept output. Only one runner at a time uses it.
    pub state_dir: PathBuf,
    /// The number of commands that run at once.
    #[serde(default = "slots")]
    #[schemars(range(min = 1, max = MAX_SLOTS))]
    pub slots: u32,
    /// The absolute path of bubblewrap.
    #[serde(default = "bwrap")]
    pub bwrap: PathBuf,
    /// The servers. The runner connects to each of them.
    #[serde(default, rename = "server")]
    pub servers: Vec<ServerConfig>,
    /// Directories that new sessions can copy, by name.
    #[serde(default)]
    pub bases: BTreeMap<String, PathBuf>,
    /// Labels that servers use for placement.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The range of host uids, and of gids with the same numbers. Each session gets one. No other runner or account of
    /// this host may use them. Requires uid 0.
    #[serde(default)]
    pub uids: UidConfig,
    /// Limits of whole sandboxes by control groups, version 2.
    #[serde(default)]
    pub cgroup: CgroupConfig,
    /// The disk usage that a session is allowed.
    #[serde(default)]
    pub workspace: WorkspaceConfig,
    /// The limits that no server can exceed.
    #[serde(default)]
    #[schemars(extend("x-guarded" = true))]
    pub floor: FloorConfig,
    /// Values that are replaced in the output of commands if the profile names them.
    #[serde(default)]
    pub secrets: SecretsConfig,
    /// The runner's proxy: the authorities and the secrets of inspected connections.
    #[serde(default)]
    #[schemars(extend("x-guarded" = true))]
    pub egress: EgressConfig,
    /// The variables of the runner's own environment that profiles may pass.
    #[serde(default)]
    pub env: EnvConfig,
    /// The runner's named limits.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Limits of file transfers and of the baseline that `diff` compares with.
    #[serde(default)]
    pub transfers: TransfersConfig,
    /// The delays between connection attempts to a lost server.
    #[serde(default)]
    pub reconnect: ReconnectConfig,
    /// Limits of kept output.
    #[serde(default)]
    pub spool: SpoolConfig,
    /// The time limits of an orderly stop.
    #[serde(default)]
    pub drain: DrainConfig,
    /// Traces, metrics and logs.
    #[serde(default)]
    pub telemetry: TelemetryConfig,
}

/// One server that the runner connects to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// `https://host:port`; `http://` only with `insecure_loopback`.
    pub endpoint: String,
    /// The name that its certificate must carry; one of `floor.servers`.
    pub server_name: Option<String>,
    /// The CA certificates that may have signed the server's certificate, PEM.
    pub ca: Option<PathBuf>,
    /// The runner's certificate, PEM.
    pub cert: Option<PathBuf>,
    /// The runner's key, PEM.
    pub key: Option<PathBuf>,
    /// Allows plain text without authentication, to a loopback address only.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// Treats each address that the endpoint's name resolves to as a separate server.
    #[serde(default)]
    pub discover: bool,
}

/// See [`RunnerConfig::uids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UidConfig {
    /// The first uid.
    pub first: u32,
    /// The number of uids.
    pub count: u32,
}

/// See [`RunnerConfig::cgroup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CgroupConfig {
    /// Whether cgroups are used.
    pub mode: CgroupMode,
    /// The directory of a cgroup that the runner may divide, such as `/sys/fs/cgroup/airlock`. Default: the
    /// runner's own cgroup.
    pub parent: Option<PathBuf>,
}

/// Whether cgroups are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CgroupMode {
    /// Uses a cgroup if one can be created, with the available controllers. The capability report lists the limits
    /// that are not enforced.
    #[default]
    Auto,
    /// Refuses to start if `memory`, `pids` or `cpu` is missing.
    Require,
    /// Uses no cgroup. Only the limits per process apply.
    Off,
}

impl CgroupConfig {
    /// Converts to the launcher's type.
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

/// The disk space that a session may use in workspace, HOME, `/tmp` and quarantine together, and the mechanism that
/// enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceConfig {
    /// The mechanism that enforces the limits.
    pub backend: WorkspaceBackend,
    /// The limit in bytes of allocated blocks. Default: no limit.
    #[schemars(range(min = 1))]
    pub bytes: Option<u64>,
    /// The limit of files, directories and links. Default: no limit.
    #[schemars(range(min = 1))]
    pub inodes: Option<u64>,
    /// The interval at which usage is counted (unless the kernel enforces the limits) and free disk space is checked,
    /// while a command can write. If counting is slow, the interval grows.
    #[serde(with = "NonZero")]
    pub watch_every: Duration,
}

/// The mechanism that limits the disk usage of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceBackend {
    /// `quota` if it works, otherwise `watch`.
    #[default]
    Auto,
    /// Project quotas: `state_dir` is on ext4 or xfs, mounted with `prjquota`.
    Quota,
    /// An ext4 file system in a sparse file for each session.
    Loop,
    /// A file system in memory for each session. It is lost when the host restarts.
    Tmpfs,
    /// No kernel limit: usage is counted periodically, and a command that exceeds the limit is ended.
    Watch,
}

impl WorkspaceConfig {
    /// Converts to the sandbox's type.
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

/// The limits that the runner accepts at most, whatever a server requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FloorConfig {
    /// Layers that must hold before the runner accepts commands, in addition to the mandatory layers.
    #[schemars(with = "Vec<Layer>")]
    pub require: Vec<String>,
    /// Host directories that a profile may show read-only, whole or in part, in addition to the system's minimal
    /// root. Links are resolved before paths are compared.
    pub bind_sources: Vec<PathBuf>,
    /// Host directories that are root file systems, or contain them, that a profile may use as its root. Links are
    /// resolved before paths are compared. The host's own root is never allowed.
    pub rootfs: Vec<PathBuf>,
    /// Host sockets that a profile may show. Exact paths.
    pub unix_sockets: Vec<PathBuf>,
    /// Variables of the runner's own environment that a profile may pass to commands. Exact names.
    pub pass_env: Vec<String>,
    /// The network interfaces that a profile may request.
    pub networks: Vec<NetworkName>,
    /// The hosts that commands may reach through the runner's proxy. A connection must be allowed here and by the
    /// profile. `allow` and `deny` are lists of presets, names and addresses. `deny` takes precedence. `any` allows
    /// every public host on the ports 80 and 443.
    pub network: OrNone<NetworkConfig>,
    /// The ports of sessions that clients may reach if the profile permits them too, such as `["8000", "3000-3999"]`.
    #[schemars(with = "Vec<Ports>")]
    pub port_forward: Vec<PortRange>,
    /// Whether a command may run outside the sandbox if the request and the profile ask for it too. A runner without
    /// root never permits this, because the command would run as the runner's own user.
    pub unsandboxed: bool,
    /// The server certificate names that the runner trusts.
    pub servers: Vec<String>,
    /// The maximum wall time of one command.
    #[serde(with = "NonZero")]
    pub max_timeout: Duration,
    /// The maximum time between SIGTERM and SIGKILL.
    #[serde(with = "AnyTime")]
    pub max_grace: Duration,
    /// The maximum number of file descriptors per process.
    pub max_open_files: u32,
    /// The maximum number of processes and threads of one sandbox.
    pub max_processes: u32,
    /// The maximum size of one file, in bytes.
    pub max_file_bytes: u64,
    /// The maximum bytes of output kept per stream.
    #[schemars(range(min = OUTPUT_BYTES_MIN))]
    pub max_output_bytes: u64,
    /// The maximum bytes of a read-only command's private directory for temporary files.
    pub max_private_tmp_bytes: u64,
    /// The maximum bytes of memory of one sandbox. Needs a cgroup. Default: the host's memory.
    #[schemars(range(min = MEMORY_MIN))]
    pub max_memory_bytes: Option<u64>,
    /// The maximum processor time of one sandbox, in thousandths of one processor. Needs a cgroup. Default: all
    /// processors.
    #[schemars(range(min = CPU_MILLIS_MIN))]
    pub max_cpu_millis: Option<u64>,
}

/// The variables that profiles may pass from the runner's environment. Names of known secrets never pass.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EnvConfig {
    /// Exact names that may pass although they end like the name of a secret.
    pub pass_exceptions: Vec<String>,
}

/// The sources of secret values, by name (letters, digits and `_`). The runner reads them when it starts. Each value
/// has 8 bytes to 8 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretsConfig {
    /// Files with one value each. A final newline is not part of the value.
    pub files: BTreeMap<String, PathBuf>,
    /// Variables of the runner's own environment that hold the values.
    pub env: BTreeMap<String, String>,
}

/// A kind of network, by its name in the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkName {
    /// The session's own loopback interface only.
    Loopback,
}

impl NetworkName {
    /// Reports whether this is the name of `mode`.
    #[must_use]
    pub fn names(self, mode: NetworkMode) -> bool {
        match (self, mode) {
            (Self::Loopback, NetworkMode::Loopback) => true,
        }
    }
}

/// The runner's named limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The maximum number of sessions.
    #[schemars(range(min = 1))]
    pub sessions: u32,
    /// The maximum bytes of all kept output together.
    pub spool_total_bytes: u64,
    /// The bytes that must be free under `state_dir` for the runner to accept a job or a session. If less is free
    /// while commands run, the runner ends the command in the session that grows most.
    pub disk_reserve_bytes: u64,
    /// The maximum bytes copied from a base directory into one session.
    #[schemars(range(min = 1))]
    pub base_bytes: u64,
    /// The maximum number of files and directories copied from a base directory into one session.
    #[schemars(range(min = 1))]
    pub base_entries: u64,
    /// The maximum number of jobs that servers have not yet permitted the runner to forget.
    #[schemars(range(min = 1))]
    pub jobs_kept: u32,
    /// The number of IDs of forgotten jobs that are still refused. The oldest are dropped first.
    pub ids_remembered: u32,
    /// The maximum number of output streams per server.
    #[schemars(range(min = 1))]
    pub output_streams: u32,
    /// The maximum number of exchanges per server: transfers, listings, inputs of commands.
    #[schemars(range(min = 1))]
    pub exchanges: u32,
    /// The maximum number of forwarded connections.
    #[schemars(range(min = 1))]
    pub forwards: u32,
    /// The time after which an exchange with an inactive server ends. A writer of input may be idle.
    #[serde(with = "NonZero")]
    pub exchange_idle: Duration,
    /// The time that a new writer of a command's input waits for the previous one.
    #[serde(with = "NonZero")]
    pub stdin_turn: Duration,
    /// The maximum number of messages queued on one link. If it is exceeded, the link is reconnected.
    #[schemars(range(min = LINK_QUEUE_MIN))]
    pub link_queue: u32,
    /// The maximum time for the start of a sandbox.
    #[serde(with = "NonZero")]
    pub start_timeout: Duration,
    /// The maximum time for a connection attempt, including the server's answer.
    #[serde(with = "NonZero")]
    pub dial_timeout: Duration,
    /// The shortest heartbeat interval that a server may set.
    #[serde(with = "NonZero")]
    pub heartbeat_min: Duration,
    /// The longest heartbeat interval that a server may set.
    #[serde(with = "AnyTime")]
    pub heartbeat_max: Duration,
    /// The longest `link_grace` that a server may set.
    #[serde(with = "AnyTime")]
    pub link_grace_max: Duration,
}

/// Limits of file transfers and of the baseline that `diff` compares with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransfersConfig {
    /// The maximum bytes of one transfer as sent: a file, or an archive (compressed or not).
    #[schemars(range(min = 1))]
    pub bytes: u64,
    /// The maximum bytes of the files in one archive.
    #[schemars(range(min = 1))]
    pub unpacked_bytes: u64,
    /// The maximum number of files, directories and links in one archive.
    #[schemars(range(min = 1))]
    pub entries: u64,
    /// The maximum number of active uploads and downloads. One session may use half of them.
    #[schemars(range(min = 1, max = MAX_TRANSFERS_AT_ONCE))]
    pub at_once: u32,
    /// The time for which an interrupted transfer, and the answer of a completed one, are kept.
    #[serde(with = "Kept")]
    pub keep: Duration,
    /// The maximum number of transfers kept per session. Completed transfers are dropped first.
    #[schemars(range(min = 1))]
    pub per_session: u32,
    /// The maximum bytes on disk of all kept transfers together.
    pub total_bytes: u64,
    /// The maximum bytes of file contents kept per session, to show changes line by line.
    pub baseline_bytes: u64,
    /// The maximum bytes of one such file. Larger files are compared without showing their lines.
    #[schemars(range(min = 0, max = MAX_BASELINE_FILE_BYTES))]
    pub baseline_file_bytes: u64,
}

/// The delays between connection attempts to a lost server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReconnectConfig {
    /// The first delay. Each further delay is twice as long. Each is shortened at random, by up to half.
    #[serde(with = "NonZero")]
    pub first: Duration,
    /// The longest delay.
    #[serde(with = "AnyTime")]
    pub max: Duration,
    /// The delay after a server refused the runner (other protocol version, or unknown runner).
    #[serde(with = "NonZero")]
    pub refused: Duration,
    /// The interval of DNS lookups for servers with `discover`.
    #[serde(with = "NonZero")]
    pub lookup: Duration,
}

/// Limits of kept output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpoolConfig {
    /// The time for which an ended job and its output are kept for a server that has not fetched them. It starts at
    /// the job's end or the runner's start, whichever is later.
    #[serde(with = "AnyTime")]
    pub keep: Duration,
}

/// The time limits of an orderly stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrainConfig {
    /// The time for which running commands may continue.
    #[serde(with = "AnyTime")]
    pub grace: Duration,
    /// The time for servers to fetch the output of ended commands.
    #[serde(with = "AnyTime")]
    pub handover: Duration,
}

/// Traces, metrics and logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// The gRPC endpoint of an OTLP collector; `https://` for TLS. If it is not set, nothing is exported.
    pub otlp_endpoint: Option<String>,
    /// The CA certificates that may have signed the collector's certificate, PEM. Default: the system's.
    pub otlp_ca: Option<PathBuf>,
    /// The runner's client certificate for the collector, with its chain, PEM.
    pub otlp_certificate: Option<PathBuf>,
    /// The private key of that certificate.
    pub otlp_key: Option<PathBuf>,
    /// The name of the installation. Alerts and dashboards separate installations by it.
    pub service_namespace: Option<String>,
    /// The interval at which metrics are exported.
    #[serde(with = "Interval")]
    pub metrics_interval: Duration,
    /// The maximum time of the last export when the process ends.
    #[serde(with = "AnyTime")]
    pub flush_timeout: Duration,
    /// The log filter, such as `info` or `airlock_runner=debug`.
    pub log: String,
    /// Whether logs are JSON lines instead of text.
    pub log_json: bool,
}

/// The default of [`RunnerConfig::slots`].
pub(super) fn slots() -> u32 {
    16
}

/// The default of [`RunnerConfig::bwrap`].
pub(super) fn bwrap() -> PathBuf {
    PathBuf::from("/usr/bin/bwrap")
}
