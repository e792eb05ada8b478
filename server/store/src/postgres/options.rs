//! The connection settings of the database and their named limits.

use std::{path::PathBuf, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// The connection settings of the database.
#[derive(Clone)]
pub struct PostgresOptions {
    /// A host name or address, or the directory of a Unix socket if it begins with `/`.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The name of the database.
    pub database: String,
    /// The name of the role.
    pub user: String,
    /// The password of the role, if needed. Never shown.
    pub password: Option<String>,
    /// The protection of the connection. A Unix socket never uses TLS.
    pub tls: PostgresTls,
    /// The maximum number of connections, without the one for hints. At least 1.
    pub connections: u32,
    /// How long a call waits for a connection, including a new one.
    pub connect_timeout: Duration,
    /// The time limit of one statement. It also ends a transaction that is idle for this long, so that an
    /// unreachable server holds no lock.
    pub statement_timeout: Duration,
    /// How long a statement waits for a lock.
    pub lock_timeout: Duration,
    /// Whether servers send each other hints about changes. Without hints, waiting clients see changes
    /// within a second.
    pub notify: bool,
    /// The application name of this server's connections.
    pub name: String,
}

/// The protection of the connection to the database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostgresTls {
    /// The checks of the server's certificate.
    pub mode: TlsMode,
    /// A PEM file of CA certificates that are trusted in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// PEM files with the client certificate and its key, if the database requires one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The checks of the database's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// TLS without any check of the certificate.
    Require,
    /// TLS with a check of the certificate's issuer.
    VerifyCa,
    /// TLS with a check of the certificate's issuer and host name.
    #[default]
    VerifyFull,
}

impl std::fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("address", &self.address())
            .field("tls", &self.tls)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl PostgresOptions {
    /// Returns the address for messages, without the password.
    pub(super) fn address(&self) -> String {
        format!("{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }

    /// Returns the time limit of a call: `connect_timeout` plus twice `statement_timeout`.
    pub(super) fn patience(&self) -> Duration {
        self.connect_timeout.saturating_add(self.statement_timeout.saturating_mul(2))
    }

    /// Returns the options of a connection without statement limits.
    pub(super) fn connect_patiently(&self) -> PgConnectOptions {
        let mut options = PgConnectOptions::new_without_pgpass()
            .host(&self.host)
            .port(self.port)
            .username(&self.user)
            .database(&self.database)
            .application_name(&self.name);
        if let Some(password) = &self.password {
            options = options.password(password);
        }
        if self.host.starts_with('/') {
            return options.socket(&self.host).ssl_mode(PgSslMode::Disable);
        }
        if let Some(ca) = &self.tls.ca {
            options = options.ssl_root_cert(ca);
        }
        if let Some((certificate, key)) = &self.tls.identity {
            options = options.ssl_client_cert(certificate).ssl_client_key(key);
        }
        options.ssl_mode(match self.tls.mode {
            TlsMode::Disable => PgSslMode::Disable,
            TlsMode::Require => PgSslMode::Require,
            TlsMode::VerifyCa => PgSslMode::VerifyCa,
            TlsMode::VerifyFull => PgSslMode::VerifyFull,
        })
    }

    /// Returns the options of a connection with statement limits.
    pub(super) fn connect(&self) -> PgConnectOptions {
        let millis = |time: Duration| time.as_millis().to_string();
        self.connect_patiently().options([
            ("statement_timeout", millis(self.statement_timeout)),
            ("lock_timeout", millis(self.lock_timeout)),
            ("idle_in_transaction_session_timeout", millis(self.statement_timeout)),
        ])
    }
}
