//! How the database is reached, and the named limits of that.

use std::{path::PathBuf, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// How the database is reached.
#[derive(Clone)]
pub struct PostgresOptions {
    /// A host's name or address, or (with a leading `/`) the folder of a Unix socket.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The database.
    pub database: String,
    /// The role.
    pub user: String,
    /// Its password, if it needs one. Never shown.
    pub password: Option<String>,
    /// How the connection is protected. On a Unix socket there is no TLS.
    pub tls: PostgresTls,
    /// Connections at once, one more for hints excepted. At least 1.
    pub connections: u32,
    /// How long a call waits for a connection, a new one included.
    pub connect_timeout: Duration,
    /// How long one statement may take. A transaction that stands still for so long is ended, too, so that a
    /// server that is cut off holds no lock.
    pub statement_timeout: Duration,
    /// How long a statement waits for a lock.
    pub lock_timeout: Duration,
    /// Whether servers tell each other what they changed, so that those who wait elsewhere look at once and
    /// not within a second.
    pub notify: bool,
    /// What the database calls this server among its connections.
    pub name: String,
}

/// How the connection to the database is protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostgresTls {
    /// What is checked.
    pub mode: TlsMode,
    /// Those who may sign the database's certificate, beside those the system trusts; PEM.
    pub ca: Option<PathBuf>,
    /// The server's own certificate and its key, if the database asks for one; PEM.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// What is checked of the database's certificate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// Plain text.
    Disable,
    /// TLS, whoever answers.
    Require,
    /// Who signed it.
    VerifyCa,
    /// Who signed it, and the host's name.
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
    /// Where it is, for messages; without the password.
    pub(super) fn address(&self) -> String {
        format!("{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }

    /// The longest that a call may take: some statements of one transaction, one of them at its limit.
    pub(super) fn patience(&self) -> Duration {
        self.connect_timeout.saturating_add(self.statement_timeout.saturating_mul(2))
    }

    /// For a connection that may take its time.
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

    /// For a connection that the limits hold.
    pub(super) fn connect(&self) -> PgConnectOptions {
        let millis = |time: Duration| time.as_millis().to_string();
        self.connect_patiently().options([
            ("statement_timeout", millis(self.statement_timeout)),
            ("lock_timeout", millis(self.lock_timeout)),
            ("idle_in_transaction_session_timeout", millis(self.statement_timeout)),
        ])
    }
}
