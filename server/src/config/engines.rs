//! The sections of what several servers share: a database and a bucket. Their defaults, and what they become.
//! Plain data; `check/engines.rs` checks it. Passwords are read when the server starts, not here.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use url::Url;

use super::sections::duration;
use crate::{
    outputs::{S3Credentials, S3Options},
    store::postgres::{PostgresOptions, PostgresTls, TlsMode},
};

/// A PostgreSQL database that several servers may share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Postgres {
    /// Where it is, and as whom; see [`DatabaseUrl`].
    pub url: String,
    /// A file with nothing but the role's password; else `PGPASSWORD`, if it is set.
    pub password_file: Option<PathBuf>,
    /// What is checked of the database's certificate.
    #[serde(default)]
    pub sslmode: TlsMode,
    /// Those who may sign it, beside those the system trusts; PEM.
    pub ca: Option<PathBuf>,
    /// The server's own certificate, if the database asks for one; PEM.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Connections at once; one more is for `notify`.
    #[serde(default = "connections")]
    pub connections: u32,
    /// How long a call waits for a connection, a new one included.
    #[serde(default = "five_seconds", deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// How long one statement may take.
    #[serde(default = "ten_seconds", deserialize_with = "duration")]
    pub statement_timeout: Duration,
    /// How long a statement waits for a lock.
    #[serde(default = "five_seconds", deserialize_with = "duration")]
    pub lock_timeout: Duration,
    /// Whether servers tell each other what they changed; else it is seen within a second.
    #[serde(default = "yes")]
    pub notify: bool,
}

/// Where a database is, and as whom: `postgres://USER@HOST:PORT/DATABASE`. For a Unix socket the host is its
/// folder, with each `/` written as `%2F`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    /// A host's name or address, or a socket's folder.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
}

/// A bucket of S3, or of what speaks like it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3 {
    /// The bucket; it must be there.
    pub bucket: String,
    /// Its region.
    #[serde(default = "region")]
    pub region: String,
    /// The address of what speaks S3; none: AWS.
    pub endpoint: Option<String>,
    /// Before the name of every object.
    #[serde(default)]
    pub prefix: String,
    /// The bucket is in the address's path, not in its host's name.
    #[serde(default = "yes")]
    pub path_style: bool,
    /// Lets `endpoint` be plain text.
    #[serde(default)]
    pub insecure_http: bool,
    /// Those who may sign its certificate, beside those the system trusts; PEM.
    pub ca: Option<PathBuf>,
    /// A file with nothing but the id of an access key; without it, AWS's environment variables are asked.
    pub access_key_id_file: Option<PathBuf>,
    /// A file with nothing but that key.
    pub secret_access_key_file: Option<PathBuf>,
    /// How long a connection may take.
    #[serde(default = "five_seconds", deserialize_with = "duration")]
    pub connect_timeout: Duration,
    /// How long one request may take.
    #[serde(default = "thirty_seconds", deserialize_with = "duration")]
    pub request_timeout: Duration,
    /// A request that fails for want of the storage is repeated for so long.
    #[serde(default = "ten_seconds", deserialize_with = "duration")]
    pub retry_for: Duration,
}

impl Postgres {
    /// How the store is opened; `password` was read from where this says.
    ///
    /// # Errors
    /// What is wrong with its address.
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
    /// How the storage is reached.
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

    /// What is wrong never quotes the text: it may hold a password.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "it is not postgres://USER@HOST:PORT/DATABASE";
        const DEFAULT_PORT: u16 = 5432;
        let url = Url::parse(text).map_err(|_| FORM)?;
        if !["postgres", "postgresql"].contains(&url.scheme()) {
            return Err(FORM);
        }
        if url.password().is_some() {
            return Err("it holds a password");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err("it has parameters, which have keys of their own");
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
