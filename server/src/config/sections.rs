//! The sections of the configuration and their defaults. Plain data; `check.rs` checks it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use airlock_proto::{domain::Bind, limits};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::engines::{Postgres, S3};
use crate::store::Durability;

/// Where the server listens, and how it proves who it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// IP address and port; port 0 lets the system choose.
    pub address: SocketAddr,
    /// IP address and port where `/healthz` and `/readyz` are answered, in plain text and to everybody; none:
    /// nowhere.
    pub probes: Option<SocketAddr>,
    /// Plain text and no certificates. Only on a loopback address.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// The server's certificate; required unless `insecure_loopback` is set.
    pub tls: Option<Tls>,
}

impl Listen {
    /// Plain text on a loopback port of the system's choice.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            probes: None,
            insecure_loopback: true,
            tls: None,
        }
    }
}

/// TLS files, in PEM.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The server's certificate and those that lead to its root, in this order.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Those who sign client certificates; without it no client certificate is accepted.
    pub client_ca: Option<PathBuf>,
    /// Whether a client must have a certificate.
    #[serde(default)]
    pub client_certificates: ClientCertificates,
}

/// Whether clients must have a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientCertificates {
    /// A certificate or a token.
    #[default]
    Optional,
    /// Always, besides a token too.
    Required,
}

/// What the server remembers: in a file of its own, or in a database that servers share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// The SQLite file; made if it is not there.
    pub path: Option<PathBuf>,
    /// What a step that is written to the file survives.
    #[serde(default)]
    pub durability: Durability,
    /// The database, instead of the file.
    pub postgres: Option<Postgres>,
}

impl Store {
    /// A store in this file, with defaults.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path: Some(path), durability: Durability::default(), postgres: None }
    }
}

/// Where finished output is kept: in a folder, or in a bucket that servers share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// A folder; made if it is not there.
    pub directory: Option<PathBuf>,
    /// The bucket, instead of the folder.
    pub s3: Option<S3>,
    /// Counted from the end of the execution, after which its output is removed; none: never.
    #[serde(default, deserialize_with = "optional_duration")]
    pub retention: Option<Duration>,
    /// After so long without its runner an output that is not stored yet is `LOST`; more than `link.lost_after`.
    #[serde(default = "week", deserialize_with = "duration")]
    pub lost_after: Duration,
}

fn week() -> Duration {
    Duration::from_secs(7 * 24 * 3600)
}

impl Outputs {
    /// Outputs in this folder, for ever.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory: Some(directory), s3: None, retention: None, lost_after: week() }
    }
}

/// What policy decides by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profiles {
    /// A folder of `NAME.toml` files, beside the profiles that are built in.
    pub directory: Option<PathBuf>,
    /// Of identities that name none.
    pub default: String,
    /// Whether the built-in profiles, and those that extend them and say nothing of it, let people
    /// approve what they asked for themselves. For a machine with one user.
    pub self_approval: bool,
    /// What the built-in profiles, and those that extend them, begin with. Never in a file: for who starts a server
    /// in a process of its own.
    #[serde(skip)]
    pub ground: Ground,
}

impl Default for Profiles {
    fn default() -> Self {
        Self {
            directory: None,
            default: "strict".to_owned(),
            self_approval: false,
            ground: Ground::default(),
        }
    }
}

/// What built-in profiles show of the host, and how long they let commands run. The runner's floor has its own word.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// A root file system, as `sandbox.rootfs`.
    pub rootfs: Option<String>,
    /// Folders and files of the host, as `sandbox.root_binds`.
    pub root_binds: Vec<Bind>,
    /// As `limits.timeout_max`.
    pub timeout_max: Option<Duration>,
}

/// At most so much of everything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of one message.
    pub message_bytes: usize,
    /// Connections at once.
    pub connections: u32,
    /// Connections at once from one address; of IPv6, from one network of 64 bits. A proxy or a NAT is one address.
    pub connections_per_peer: u32,
    /// A connection without an open call is ended after so long. The link of a runner is an open call.
    #[serde(deserialize_with = "duration")]
    pub connection_idle: Duration,
    /// How long a call may take that is one question and one answer; more than `open_wait`. `Wait` has a time of its own.
    #[serde(deserialize_with = "duration")]
    pub call_timeout: Duration,
    /// Calls of Wait and WriteStdin at once.
    pub waits: usize,
    /// Of those, of one tenant.
    pub waits_per_tenant: usize,
    /// Calls at once that list sessions, executions, approvals, rules or runners.
    pub lists: usize,
    /// Of those, of one tenant.
    pub lists_per_tenant: usize,
    /// Calls of Check at once.
    pub checks: usize,
    /// Of those, of one tenant.
    pub checks_per_tenant: usize,
    /// Streams at once on one connection.
    pub streams_per_connection: u32,
    /// From the first byte of a connection to the end of its TLS handshake.
    #[serde(deserialize_with = "duration")]
    pub handshake_timeout: Duration,
    /// Failed authentications of one peer in a minute; more are refused unread.
    pub authentication_failures_per_minute: u32,
    /// Executions of one tenant that are not finished.
    pub executions_per_tenant: u64,
    /// Sessions of one tenant that are not closed.
    pub sessions_per_tenant: u64,
    /// Executions of one session that are not finished.
    pub executions_per_session: u32,
    /// Executions of one tenant that wait in the queue.
    pub queue_per_tenant: u64,
    /// Executions that one tenant starts in a second; as many at once after a pause.
    pub starts_per_second: u64,
    /// Starts of one tenant that are denied in a second; as many at once after a pause.
    pub denials_per_second: u64,
    /// Bytes of output of one tenant's executions that ended on one day (UTC).
    pub output_bytes_per_day: u64,
    /// Executions of all tenants that wait in the queue.
    pub queue: u64,
    /// Runners with a link to this server.
    pub runners: u32,
    /// Time in the queue, after which an execution ends as `QUEUE_EXPIRED`.
    #[serde(deserialize_with = "duration")]
    pub queue_wait: Duration,
    /// How long an approval stays open.
    #[serde(deserialize_with = "duration")]
    pub approval_valid: Duration,
    /// How long the creation of a session waits for its runner.
    #[serde(deserialize_with = "duration")]
    pub open_wait: Duration,
    /// How long the closing of a session waits for its runner to remove it; it is removed later then.
    #[serde(deserialize_with = "duration")]
    pub close_wait: Duration,
    /// Readers at once of one execution.
    pub readers_per_execution: usize,
    /// Readers at once of all executions.
    pub readers: usize,
    /// Of those, of one tenant's executions.
    pub readers_per_tenant: usize,
    /// Watches of many executions at once.
    pub watches: u32,
    /// Of those, of one tenant.
    pub watches_per_tenant: u32,
    /// Rules that are remembered for one session.
    pub rules_per_session: u64,
    /// Rules that are remembered for one tenant.
    pub rules_per_tenant: u64,
    /// Bytes of each of the two rings that the live output of one execution passes through.
    pub ring_bytes: usize,
    /// Work on files and input of one tenant that is under way.
    pub exchanges_per_tenant: usize,
    /// Work on files and input of all tenants that is under way.
    pub exchanges: usize,
    /// How long work on files or input waits for its runner to come for it.
    #[serde(deserialize_with = "duration")]
    pub exchange_open_wait: Duration,
    /// A runner that is to answer, or to take what is sent, and does neither for so long has failed.
    #[serde(deserialize_with = "duration")]
    pub exchange_answer_wait: Duration,
    /// An upload or download whose client neither sends nor takes anything for so long is ended.
    #[serde(deserialize_with = "duration")]
    pub transfer_idle: Duration,
    /// From the first sign of shut-down to the end of the process, telemetry excepted.
    #[serde(deserialize_with = "duration")]
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: limits::MESSAGE_BYTES,
            connections: 1024,
            connections_per_peer: 512,
            connection_idle: Duration::from_secs(15 * 60),
            call_timeout: Duration::from_secs(2 * 60),
            waits: 4096,
            waits_per_tenant: 1024,
            lists: 256,
            lists_per_tenant: 64,
            checks: 256,
            checks_per_tenant: 64,
            streams_per_connection: 256,
            handshake_timeout: Duration::from_secs(10),
            authentication_failures_per_minute: 60,
            executions_per_tenant: 1024,
            sessions_per_tenant: 1024,
            executions_per_session: 256,
            runners: 1000,
            queue_per_tenant: 1024,
            starts_per_second: 1000,
            denials_per_second: 50,
            output_bytes_per_day: 1 << 40,
            queue: 4096,
            queue_wait: Duration::from_secs(60),
            approval_valid: Duration::from_secs(15 * 60),
            open_wait: Duration::from_secs(60),
            close_wait: Duration::from_secs(10),
            readers_per_execution: 1024,
            readers: 4096,
            readers_per_tenant: 2048,
            watches: 1024,
            watches_per_tenant: 128,
            rules_per_session: 256,
            rules_per_tenant: 1024,
            ring_bytes: 1024 * 1024,
            exchanges_per_tenant: 128,
            exchanges: 512,
            exchange_open_wait: Duration::from_secs(10),
            exchange_answer_wait: Duration::from_secs(5 * 60),
            transfer_idle: Duration::from_secs(5 * 60),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// The link to runners.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// How often both sides speak.
    #[serde(deserialize_with = "duration")]
    pub heartbeat_interval: Duration,
    /// A link that was silent for so long is ended.
    #[serde(deserialize_with = "duration")]
    pub heartbeat_timeout: Duration,
    /// How long commands go on while no server can be reached.
    #[serde(deserialize_with = "duration")]
    pub link_grace: Duration,
    /// The longest time between SIGTERM and SIGKILL that any profile may set.
    #[serde(deserialize_with = "duration")]
    pub ending_grace: Duration,
    /// After so long without its link a runner's commands are `RUNNER_LOST`; more than `link_grace`,
    /// `ending_grace` and `heartbeat_timeout` together.
    #[serde(deserialize_with = "duration")]
    pub lost_after: Duration,
    /// How long a runner may take to accept a job.
    #[serde(deserialize_with = "duration")]
    pub start_window: Duration,
    /// For how long a server may drive an execution or store an output without renewing; then another takes over.
    #[serde(deserialize_with = "duration")]
    pub lease: Duration,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(5),
            heartbeat_timeout: Duration::from_secs(20),
            link_grace: Duration::from_secs(4 * 60),
            ending_grace: Duration::from_secs(30),
            lost_after: Duration::from_secs(5 * 60),
            start_window: Duration::from_secs(30),
            lease: Duration::from_secs(30),
        }
    }
}

/// The other servers of the same store, and how this one is one of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// Where they reach this one, `https://host:port`; none: they do not.
    pub advertise: Option<String>,
    /// The name that the certificate of each of them must carry.
    pub server_name: String,
    /// Those who may have signed it, PEM.
    pub ca: PathBuf,
    /// This server's certificate as their client, and those that lead to its root, PEM.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// How long another server may take to answer.
    #[serde(default = "answer_wait", deserialize_with = "duration")]
    pub answer_wait: Duration,
    /// A new server is ready when it has links to nine in ten of the runners that the others have links to, or after so
    /// long.
    #[serde(default = "ready_wait", deserialize_with = "duration")]
    pub ready_wait: Duration,
    /// Streams that this server relays for others at once.
    #[serde(default = "relays")]
    pub relays: usize,
}

fn ready_wait() -> Duration {
    Duration::from_secs(30)
}

fn answer_wait() -> Duration {
    Duration::from_secs(8)
}

fn relays() -> usize {
    1024
}

/// Traces, metrics and logs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// An OTLP collector's gRPC address, such as `http://127.0.0.1:4317`; `https://` for TLS; none: no traces or
    /// metrics are sent.
    pub otlp_endpoint: Option<String>,
    /// The authorities that may have signed the collector's certificate, PEM; none: the system's.
    pub otlp_ca: Option<PathBuf>,
    /// This server's certificate as the collector's client, and those that lead to its root, PEM.
    pub otlp_certificate: Option<PathBuf>,
    /// Its private key.
    pub otlp_key: Option<PathBuf>,
    /// What the collector knows this service as.
    pub service_name: String,
    /// Which installation it is part of; alerts and dashboards keep installations apart by it.
    pub service_namespace: Option<String>,
    /// The share of traces that is kept where the caller has not decided, from 0 to 1.
    pub sampling: f64,
    /// How often metrics are sent.
    #[serde(deserialize_with = "duration")]
    pub metrics_interval: Duration,
    /// The form of log lines, which go to standard error.
    pub log_format: LogFormat,
    /// A level, or directives such as `info,airlock_server=debug`.
    pub log_level: String,
}

impl Telemetry {
    /// The files that TLS to the collector takes, each with the name of its field.
    pub(super) fn otlp_files(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("telemetry.otlp_ca", self.otlp_ca.as_deref()),
            ("telemetry.otlp_certificate", self.otlp_certificate.as_deref()),
            ("telemetry.otlp_key", self.otlp_key.as_deref()),
        ]
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            otlp_ca: None,
            otlp_certificate: None,
            otlp_key: None,
            service_namespace: None,
            service_name: "airlock-server".to_owned(),
            sampling: 1.0,
            metrics_interval: Duration::from_secs(10),
            log_format: LogFormat::default(),
            log_level: "info".to_owned(),
        }
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines, one object a line.
    Json,
}

fn optional_duration<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
    duration(input).map(Some)
}

/// A time with its unit, such as `500ms`, `30s` or `4m`.
pub(super) fn duration<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(input)?;
    humantime::parse_duration(&text)
        .map_err(|error| D::Error::custom(format!("`{text}` is not a time such as `30s` or `4m`: {error}")))
}
