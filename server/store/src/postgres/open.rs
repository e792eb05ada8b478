//! The connection settings of a database, and its opening: checks that it can hold a store, and applies migrations.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::{
    Connection as _, PgConnection, PgPool,
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgPoolOptions, PgSslMode},
};
use tokio::time::timeout;

use crate::{StoreError, sql::migrations::POSTGRES};

/// The time limit for migrations, including the wait for those of another server.
const MIGRATIONS_WAIT: Duration = Duration::from_secs(600);
/// The maximum age of a connection. It ensures that connections to a former primary are replaced.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(300);
/// The maximum time that a connection may take to answer a check.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// The idle time after which a connection is checked before it is used.
const UNTRIED: Duration = Duration::from_secs(1);
/// The oldest supported version of PostgreSQL.
const OLDEST: i32 = 130_000;

/// Connects once, checks the database and applies migrations.
pub(super) async fn prepare(options: &PostgresOptions) -> Result<(), StoreError> {
    let cannot = |why: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("cannot connect to `{}`: {why}", options.address()))
    };
    let connect = options.connect_patiently();
    let mut connection = timeout(options.connect_timeout, PgConnection::connect_with(&connect))
        .await
        .map_err(|_| cannot(&"no answer in time"))?
        .map_err(|error| cannot(&error))?;
    let (version, encoding): (i32, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::int, current_setting('server_encoding')",
    )
    .fetch_one(&mut connection)
    .await?;
    if version < OLDEST {
        let found = version / 10_000;
        return Err(StoreError::Refused(format!("PostgreSQL {found} is too old; use 13 or later")));
    }
    if encoding != "UTF8" {
        return Err(StoreError::Refused(format!(
            "the database has the encoding {encoding}; create it with ENCODING 'UTF8'"
        )));
    }
    timeout(MIGRATIONS_WAIT, migrate(&mut connection))
        .await
        .map_err(|_| StoreError::Unavailable("migrations took too long".to_owned()))??;
    Ok(connection.close().await?)
}

/// Applies missing migrations. The migrator locks the database, so servers that start together take
/// turns.
async fn migrate(connection: &mut PgConnection) -> Result<(), StoreError> {
    POSTGRES.run(connection).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) => StoreError::Newer {
            found,
            known: POSTGRES.iter().map(|migration| migration.version).max().unwrap_or_default(),
        },
        MigrateError::Execute(error) => error.into(),
        other => StoreError::Corrupt(other.to_string()),
    })
}

/// Creates the connection pool for calls. Does not connect yet.
pub(super) fn pool(options: &PostgresOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections.max(1))
        .acquire_timeout(options.connect_timeout)
        .max_lifetime(CONNECTION_LIFETIME)
        // A recently used connection is most likely usable. If it is not, the step is retried.
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(
                async move { if about.idle_for > UNTRIED { is_there(connection).await } else { Ok(true) } },
            )
        })
        .after_release(|connection, _| Box::pin(is_there(connection)))
        .connect_lazy_with(options.connect())
}

/// Checks a connection with a time limit, so that a host that vanished does not block the whole pool.
async fn is_there(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match timeout(ANSWER_WAIT, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

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
    /// The maximum time that a call waits for a connection, including a new one.
    pub connect_timeout: Duration,
    /// The time limit of one statement. It also ends a transaction that is idle for this long, so that an
    /// unreachable server holds no lock.
    pub statement_timeout: Duration,
    /// The maximum time that a statement waits for a lock.
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
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
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
    fn connect_patiently(&self) -> PgConnectOptions {
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
