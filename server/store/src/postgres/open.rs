//! Opens a database: checks that it can hold a store, and applies migrations.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection, PgPool, migrate::MigrateError, postgres::PgPoolOptions};
use tokio::time::timeout;

use super::PostgresOptions;
use crate::{StoreError, sql::migrations::POSTGRES};

/// The time limit for migrations, including the wait for those of another server.
const MIGRATIONS_WAIT: Duration = Duration::from_secs(600);
/// The maximum age of a connection. It ensures that connections to a former primary are replaced.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(300);
/// How long a connection may take to answer a check.
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
