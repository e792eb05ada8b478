//! The sections of the configuration and their defaults. Plain data; `check.rs` checks it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use airlock_config::{Address, Time, YEAR};
use airlock_domain::{Bind, NetworkRules, PortRange};
use airlock_store::Durability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::engines::{Interval, Postgres, S3};

/// The minimum retention in milliseconds. With a shorter one, outputs could be removed before they are read.
const RETENTION_MIN: u64 = 60_000;

/// The time for which outputs are kept.
type Retention = Time<RETENTION_MIN, YEAR>;
/// A time of at least a second.
type OneSecond = Time<1000, YEAR>;

/// The listener of the server and its certificate.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// IP address and port. With port 0, the system chooses the port.
    #[schemars(with = "Address")]
    pub address: SocketAddr,
    /// IP address and port of `/healthz` and `/readyz`, in plain text and without authentication. If it is not set,
    /// there are no probes.
    #[schemars(with = "Option<Address>")]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The server's certificate, followed by the intermediate certificates up to the root.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// The authorities that sign client certificates. Without it, no client certificate is accepted.
    pub client_ca: Option<PathBuf>,
    /// Whether a client must have a certificate.
    #[serde(default)]
    pub client_certificates: ClientCertificates,
}

/// Whether clients must have a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientCertificates {
    /// A certificate or a token.
    #[default]
    Optional,
    /// A certificate is always required, even with a token.
    Required,
}

/// The store: a SQLite file, or a database that servers share.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outputs {
    /// The directory. It is created if it does not exist.
    pub directory: Option<PathBuf>,
    /// The bucket that replaces the directory.
    pub s3: Option<S3>,
    /// The time from the end of an execution to the removal of its output. If it is not set, outputs are not
    /// removed.
    #[serde(default, with = "Retention")]
    pub retention: Option<Duration>,
    /// If the runner of an unstored output is unreachable for this time, the output is `LOST`. Must be more
    /// than `link.lost_after`.
    #[serde(default = "week", with = "OneSecond")]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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

/// The parts of the host that built-in profiles show, the network of the profile `agent`, and the maximum timeout of
/// built-in profiles. The runner's floor applies in addition.
#[derive(Debug, Clone, Default)]
pub struct Ground {
    /// A root file system, as in `sandbox.rootfs`.
    pub rootfs: Option<String>,
    /// Directories and files of the host, as in `sandbox.root_binds`.
    pub root_binds: Vec<Bind>,
    /// The rules of the key `network` of the profile `agent`.
    pub network: NetworkRules,
    /// The key `port_forward` of the profile `agent`.
    pub port_forward: Vec<PortRange>,
    /// As in `limits.timeout_max`.
    pub timeout_max: Option<Duration>,
}

/// The other servers of the same store, and the settings of this server as one of them.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peers {
    /// The address at which the others reach this server: `https://HOST:PORT`, or only an IP address, which is
    /// combined with the port of `listen.address`. If it is not set, they do not reach it. The variable
    /// `AIRLOCK_ADVERTISE` also sets it, if the file has the table.
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
    #[serde(default = "answer_wait", with = "Interval")]
    pub answer_wait: Duration,
    /// A new server is ready when it has links to 90 % of the runners that the others have links to, or after
    /// this time.
    #[serde(default = "ready_wait", with = "Interval")]
    pub ready_wait: Duration,
    /// Concurrent streams that this server relays for others.
    #[serde(default = "relays")]
    #[schemars(range(min = 1))]
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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Telemetry {
    /// The gRPC address of an OTLP collector, such as `http://127.0.0.1:4317`, or `https://` for TLS. If it is not
    /// set, traces, metrics and logs are not sent.
    pub otlp_endpoint: Option<String>,
    /// The authorities that may sign the collector's certificate, in PEM. Default: the system's.
    pub otlp_ca: Option<PathBuf>,
    /// This server's client certificate for the collector, followed by intermediate certificates, in PEM.
    pub otlp_certificate: Option<PathBuf>,
    /// The private key.
    pub otlp_key: Option<PathBuf>,
    /// The name of this service in telemetry.
    #[schemars(length(min = 1))]
    pub service_name: String,
    /// The installation of this service. Alerts and dashboards use it to separate installations.
    pub service_namespace: Option<String>,
    /// The share of traces to keep if the caller has not decided, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub sampling: f64,
    /// The interval at which metrics are sent.
    #[serde(with = "Interval")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}
