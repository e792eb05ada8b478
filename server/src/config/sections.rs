//! The sections of the configuration and their defaults. Plain data; `check.rs` checks it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use airlock_domain::{Bind, limits};
use airlock_store::Durability;
use serde::Deserialize;

use super::{
    duration::{duration, optional_duration},
    engines::{Postgres, S3},
};

/// The listener of the server and its certificate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// IP address and port. With port 0, the system chooses the port.
    pub address: SocketAddr,
    /// IP address and port of `/healthz` and `/readyz`, in plain text and without authentication. `None`: no
    /// probes.
    pub probes: Option<SocketAddr>,
    /// Plain text without certificates. Permitted only on a loopback address.
    #[serde(default)]
    pub insecure_loopback: bool,
    /// The server's certificate. Required unless `insecure_loopback` is set.
    pub tls: Option<Tls>,
}

impl Listen {
    /// Plain text on a loopback port that the system chooses.
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

/// TLS files in PEM.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The server's certificate, followed by the intermediate certificates up to the root.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The authorities that sign client certificates. `None`: no client certificate is accepted.
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
    /// A certificate is always required, even with a token.
    Required,
}

/// The store: a SQLite file, or a database that servers share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// The SQLite file. It is created if it does not exist.
    pub path: Option<PathBuf>,
    /// The failures that a write to the file survives.
    #[serde(default)]
    pub durability: Durability,
    /// The database that replaces the file.
    pub postgres: Option<Postgres>,
}

impl Store {
    /// Returns a store in this file with default settings.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path: Some(path), durability: Durability::default(), postgres: None }
    }
}

/// The storage of finished output: a directory, or a bucket that servers share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// The directory. It is created if it does not exist.
    pub directory: Option<PathBuf>,
    /// The bucket that replaces the directory.
    pub s3: Option<S3>,
    /// The time from the end of an execution to the removal of its output. `None`: outputs are not removed.
    #[serde(default, deserialize_with = "optional_duration")]
    pub retention: Option<Duration>,
    /// If the runner of an unstored output is unreachable for this time, the output is `LOST`. Must be more
    /// than `link.lost_after`.
    #[serde(default = "week", deserialize_with = "duration")]
    pub lost_after: Duration,
}

fn week() -> Duration {
    Duration::from_secs(7 * 24 * 3600)
}

impl Outputs {
    /// Returns a storage in this directory without retention.
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory: Some(directory), s3: None, retention: None, lost_after: week() }
    }
}

/// The profiles that policy decides with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Profiles {
    /// A directory of `NAME.toml` files. The profiles in it are added to the built-in ones.
    pub directory: Option<PathBuf>,
    /// The profile of identities that do not name one.
    pub default: String,
    /// Whether the built-in profiles permit self-approval. Also applies to profiles that extend them and do not set it.
    /// For a machine with one user.
    pub self_approval: bool,
    /// The base settings of the built-in profiles. They cannot be set in a file; a program that embeds a
    /// server sets them.
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

/// The parts of the host that built-in profiles show, and their maximum timeout. The runner's floor applies
/// in addition.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// A root file system, as in `sandbox.rootfs`.
    pub rootfs: Option<String>,
    /// Directories and files of the host, as in `sandbox.root_binds`.
    pub root_binds: Vec<Bind>,
    /// As in `limits.timeout_max`.
    pub timeout_max: Option<Duration>,
}

/// The limits of this server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of one message.
    pub message_bytes: usize,
    /// Open connections.
    pub connections: u32,
    /// Open connections from one address. For IPv6, from one /64 network. A proxy or NAT counts as one
    /// address.
    pub connections_per_peer: u32,
    /// A connection without an open call is closed after this time. A runner's link is an open call.
    #[serde(deserialize_with = "duration")]
    pub connection_idle: Duration,
    /// The timeout of a unary call. Must be more than `open_wait`. `Wait` has its own timeout.
    #[serde(deserialize_with = "duration")]
    pub call_timeout: Duration,
    /// Concurrent calls of Wait and WriteStdin.
    pub waits: usize,
    /// Concurrent calls of Wait and WriteStdin per tenant.
    pub waits_per_tenant: usize,
    /// Concurrent calls that list sessions, executions, approvals, rules or runners.
    pub lists: usize,
    /// Concurrent list calls per tenant.
    pub lists_per_tenant: usize,
    /// Concurrent calls of Check.
    pub checks: usize,
    /// Concurrent calls of Check per tenant.
    pub checks_per_tenant: usize,
    /// Concurrent streams on one connection.
    pub streams_per_connection: u32,
    /// The time from the first byte of a connection to the end of its TLS handshake.
    #[serde(deserialize_with = "duration")]
    pub handshake_timeout: Duration,
    /// Failed authentications per peer and minute. Further tokens are refused without a comparison.
    pub authentication_failures_per_minute: u32,
    /// Unfinished executions per tenant.
    pub executions_per_tenant: u64,
    /// Open sessions per tenant.
    pub sessions_per_tenant: u64,
    /// Unfinished executions per session.
    pub executions_per_session: u32,
    /// Queued executions per tenant.
    pub queue_per_tenant: u64,
    /// Executions that one tenant can start per second. After a pause, the same number can start at once.
    pub starts_per_second: u64,
    /// Denied starts of one tenant per second. After a pause, the same number is permitted at once.
    pub denials_per_second: u64,
    /// Bytes of output of one tenant's executions that ended on the same day (UTC).
    pub output_bytes_per_day: u64,
    /// Queued executions of all tenants.
    pub queue: u64,
    /// Runners with a link to this server.
    pub runners: u32,
    /// The maximum time in the queue. After it, an execution ends as `QUEUE_EXPIRED`.
    #[serde(deserialize_with = "duration")]
    pub queue_wait: Duration,
    /// How long an approval stays open.
    #[serde(deserialize_with = "duration")]
    pub approval_valid: Duration,
    /// How long the creation of a session waits for its runner.
    #[serde(deserialize_with = "duration")]
    pub open_wait: Duration,
    /// How long the closing of a session waits for its runner to remove it. After it, the removal continues
    /// later.
    #[serde(deserialize_with = "duration")]
    pub close_wait: Duration,
    /// Concurrent readers of one execution.
    pub readers_per_execution: usize,
    /// Concurrent readers of all executions.
    pub readers: usize,
    /// Concurrent readers of one tenant's executions.
    pub readers_per_tenant: usize,
    /// Concurrent watches.
    pub watches: u32,
    /// Concurrent watches per tenant.
    pub watches_per_tenant: u32,
    /// Remembered rules per session.
    pub rules_per_session: u64,
    /// Remembered rules per tenant.
    pub rules_per_tenant: u64,
    /// Bytes of each of the two rings for the live output of one execution.
    pub ring_bytes: usize,
    /// Concurrent exchanges (operations on files and input) per tenant.
    pub exchanges_per_tenant: usize,
    /// Concurrent exchanges of all tenants.
    pub exchanges: usize,
    /// How long an exchange waits for its runner to connect.
    #[serde(deserialize_with = "duration")]
    pub exchange_open_wait: Duration,
    /// An exchange fails if its runner neither responds nor accepts data for this time.
    #[serde(deserialize_with = "duration")]
    pub exchange_answer_wait: Duration,
    /// An upload or download ends if its client neither sends nor accepts data for this time.
    #[serde(deserialize_with = "duration")]
    pub transfer_idle: Duration,
    /// The time from the start of the shutdown to the end of the process, without telemetry.
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
    /// The interval of heartbeats in both directions.
    #[serde(deserialize_with = "duration")]
    pub heartbeat_interval: Duration,
    /// A link is closed after this time without a message.
    #[serde(deserialize_with = "duration")]
    pub heartbeat_timeout: Duration,
    /// How long commands continue while no server can be reached.
    #[serde(deserialize_with = "duration")]
    pub link_grace: Duration,
    /// The maximum time between SIGTERM and SIGKILL that a profile can set.
    #[serde(deserialize_with = "duration")]
    pub ending_grace: Duration,
    /// The commands of a runner are `RUNNER_LOST` after this time without a link. Must be more than
    /// `link_grace`, `ending_grace` and `heartbeat_timeout` together.
    #[serde(deserialize_with = "duration")]
    pub lost_after: Duration,
    /// How long a runner can take to accept a job.
    #[serde(deserialize_with = "duration")]
    pub start_window: Duration,
    /// How long a server can control an execution or store an output without a renewal. After it, another
    /// server takes over.
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

/// The other servers of the same store, and the settings of this server as one of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// The address at which the others reach this server, `https://host:port`. `None`: they do not.
    pub advertise: Option<String>,
    /// The name that the certificate of each of them must contain.
    pub server_name: String,
    /// The authorities that may sign these certificates, in PEM.
    pub ca: PathBuf,
    /// This server's client certificate for calls to them, followed by intermediate certificates, in PEM.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The timeout of a response from another server.
    #[serde(default = "answer_wait", deserialize_with = "duration")]
    pub answer_wait: Duration,
    /// A new server is ready when it has links to 90 % of the runners that the others have links to, or after
    /// this time.
    #[serde(default = "ready_wait", deserialize_with = "duration")]
    pub ready_wait: Duration,
    /// Concurrent streams that this server relays for others.
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
    /// The gRPC address of an OTLP collector, such as `http://127.0.0.1:4317`, or `https://` for TLS. `None`:
    /// traces and metrics are not sent.
    pub otlp_endpoint: Option<String>,
    /// The authorities that may sign the collector's certificate, in PEM. `None`: the system's.
    pub otlp_ca: Option<PathBuf>,
    /// This server's client certificate for the collector, followed by intermediate certificates, in PEM.
    pub otlp_certificate: Option<PathBuf>,
    /// The private key.
    pub otlp_key: Option<PathBuf>,
    /// The name of this service in telemetry.
    pub service_name: String,
    /// The installation of this service. Alerts and dashboards use it to separate installations.
    pub service_namespace: Option<String>,
    /// The share of traces to keep if the caller has not decided, from 0 to 1.
    pub sampling: f64,
    /// The interval at which metrics are sent.
    #[serde(deserialize_with = "duration")]
    pub metrics_interval: Duration,
    /// The format of log lines, which are written to stderr.
    pub log_format: LogFormat,
    /// A level, or directives such as `info,airlock_server=debug`.
    pub log_level: String,
}

impl Telemetry {
    /// Returns the files for TLS to the collector, each with the name of its field.
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

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}
