//! The configuration sections of shared services: a database and a bucket. They contain the defaults and the
//! conversion to options. Plain data; `check/engines.rs` checks it. Passwords are read when the server
//! starts, not here.

use std::{path::PathBuf, time::Duration};

use airlock_config::Time;
use airlock_output::storage::{S3Credentials, S3Options};
use airlock_store::postgres::{PostgresOptions, PostgresTls, TlsMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

/// The maximum of most times in the configuration, in milliseconds.
pub(super) const DAY: u64 = 24 * 3600 * 1000;
/// The period of a repeated action, or a timeout.
pub(super) type Interval = Time<100, DAY>;

/// A larger number is likely a mistake, or too many connections for the database.
const CONNECTIONS_MAX: u32 = 1000;

/// A PostgreSQL database that several servers can share.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Postgres {
    /// The address and the role, `postgres://USER@HOST:PORT/DATABASE`, without a password. For a Unix socket, the
    /// host is the directory of the socket, with each `/` written as `%2F`.
    #[schemars(extend("x-secret" = true))]
    pub url: String,
    /// A file that contains only the role's password. Default: the variable `PGPASSWORD`, if it is set.
    pub password_file: Option<PathBuf>,
    /// The verification of the database's certificate.
    #[serde(default)]
    pub sslmode: TlsMode,
    /// Additional authorities that may sign this certificate, in PEM.
    pub ca: Option<PathBuf>,
    /// The server's own certificate, if the database requires one, in PEM.
    pub certificate: Option<PathBuf>,
    /// The private key of this certificate.
    pub key: Option<PathBuf>,
    /// The maximum number of connections. `notify` uses one more.
    #[serde(default = "connections")]
    #[schemars(range(min = 1, max = CONNECTIONS_MAX))]
    pub connections: u32,
    /// The maximum time that a call waits for a connection, including the time to open a new one.
    #[serde(default = "five_seconds", with = "Interval")]
    pub connect_timeout: Duration,
    /// The timeout of a statement.
    #[serde(default = "ten_seconds", with = "Interval")]
    pub statement_timeout: Duration,
    /// The maximum time that a statement waits for a lock.
    #[serde(default = "five_seconds", with = "Interval")]
    pub lock_timeout: Duration,
    /// Whether servers notify each other of changes. If false, a change is noticed within a second.
    #[serde(default = "yes")]
    pub notify: bool,
}

/// The address of a database and the role: `postgres://USER@HOST:PORT/DATABASE`. For a Unix socket, the host
/// is the directory of the socket, with each `/` written as `%2F`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// A host name, an address, or the directory of a socket.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
}

/// A bucket in S3 or in a compatible service.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct S3 {
    /// The bucket. It must exist.
    pub bucket: String,
    /// The region.
    #[serde(default = "region")]
    pub region: String,
    /// The address of the service. Default: AWS.
    pub endpoint: Option<String>,
    /// A prefix of the name of every object.
    #[serde(default)]
    pub prefix: String,
    /// Puts the bucket into the path of the URL, not into the host name.
    #[serde(default = "yes")]
    pub path_style: bool,
    /// Permits plain text to `endpoint`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Additional authorities that may sign the service's certificate, in PEM.
    pub ca: Option<PathBuf>,
    /// A file that contains only the ID of an access key. Default: AWS's environment variables.
    pub access_key_id_file: Option<PathBuf>,
    /// A file that contains only the secret access key.
    pub secret_access_key_file: Option<PathBuf>,
    /// The timeout of a connection attempt.
    #[serde(default = "five_seconds", with = "Interval")]
    pub connect_timeout: Duration,
    /// The timeout of one request.
    #[serde(default = "thirty_seconds", with = "Interval")]
    pub request_timeout: Duration,
    /// The time for which a request is retried if the storage is unavailable.
    #[serde(default = "ten_seconds", with = "Interval")]
    pub retry_for: Duration,
}

impl Postgres {
    /// Returns the options to open the store with. `password` is the value from the configured source.
    ///
    /// # Errors
    /// Returns a description of the problem if the URL is invalid.
    pub(crate) fn options(
        &self,
        password: Option<String>,
        server_id: &str,
    ) -> Result<PostgresOptions, &'static str> {
        let DatabaseUrl { host, port, user, database } = self.url.parse()?;
        Ok(PostgresOptions {
            host,
            port,
            database,
            user,
            password,
            tls: PostgresTls {
                mode: self.sslmode,
                ca: self.ca.clone(),
                identity: self.certificate.clone().zip(self.key.clone()),
            },
            connections: self.connections,
            connect_timeout: self.connect_timeout,
            statement_timeout: self.statement_timeout,
            lock_timeout: self.lock_timeout,
            notify: self.notify,
            name: format!("airlock-server {server_id}"),
        })
    }
}

impl S3 {
    /// Returns the options to reach the storage with.
    pub(crate) fn options(&self) -> S3Options {
        let files = self.access_key_id_file.clone().zip(self.secret_access_key_file.clone());
        S3Options {
            bucket: self.bucket.clone(),
            region: self.region.clone(),
            endpoint: self.endpoint.clone(),
            prefix: self.prefix.clone(),
            path_style: self.path_style,
            insecure_http: self.insecure_http,
            ca: self.ca.clone(),
            credentials: files.map_or(S3Credentials::Environment, |(access_key_id, secret_access_key)| {
                S3Credentials::Files { access_key_id, secret_access_key }
            }),
            connect_timeout: self.connect_timeout,
            request_timeout: self.request_timeout,
            retry_for: self.retry_for,
        }
    }
}

impl std::str::FromStr for DatabaseUrl {
    type Err = &'static str;

    /// Parses the URL. An error never quotes the text, because it can contain a password.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "it is not postgres://USER@HOST:PORT/DATABASE";
        const DEFAULT_PORT: u16 = 5432;
        let url = Url::parse(text).map_err(|_| FORM)?;
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(FORM);
        }
        if url.password().is_some() {
            return Err("it contains a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("it has parameters, which belong in the keys of [store.postgres]");
        }
        let part = |text: &str| percent_decode(text).filter(|part| !part.is_empty()).ok_or(FORM);
        Ok(Self {
            host: part(url.host_str().unwrap_or_default().trim_matches(['[', ']']))?,
            port: url.port().unwrap_or(DEFAULT_PORT),
            user: part(url.username())?,
            database: part(url.path().trim_start_matches('/'))?,
        })
    }
}

fn percent_decode(text: &str) -> Option<String> {
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn connections() -> u32 {
    16
}

fn region() -> String {
    "us-east-1".to_owned()
}

fn yes() -> bool {
    true
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

fn thirty_seconds() -> Duration {
    Duration::from_secs(30)
}
