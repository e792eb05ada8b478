//! Opening a database: whether it can hold a store, and bringing it to this version's schema.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection, PgPool, migrate::MigrateError, postgres::PgPoolOptions};
use tokio::time::timeout;

use super::PostgresOptions;
use crate::store::{StoreError, sql::migrations::POSTGRES};

/// How long migrations may take, and those of another server be waited for.
const MIGRATIONS_WAIT: Duration = Duration::from_secs(600);
/// A connection is renewed after so long, so that one to a database that gave up its role does not stay.
const CONNECTION_LIFETIME: Duration = Duration::from_secs(300);
/// How long a connection may take to say that it is still there.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// A connection that was idle for so long is asked before it is used.
const UNTRIED: Duration = Duration::from_secs(1);
/// The oldest version that has all that is used here.
const OLDEST: i32 = 130_000;

/// Connects once, and sees to the schema.
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
        return Err(StoreError::Refused(format!("PostgreSQL {found} is too old; use 13 or a later one")));
    }
    if encoding != "UTF8" {
        return Err(StoreError::Refused(format!(
            "the database has the encoding {encoding}; make it with ENCODING 'UTF8'"
        )));
    }
    timeout(MIGRATIONS_WAIT, migrate(&mut connection))
        .await
        .map_err(|_| StoreError::Unavailable("migrations took too long".to_owned()))??;
    Ok(connection.close().await?)
}

/// Servers that start together take turns: the migrator holds a lock of the database.
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

/// The connections that calls use. Makes none yet.
pub(super) fn pool(options: &PostgresOptions, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections.max(1))
        .acquire_timeout(options.connect_timeout)
        .max_lifetime(CONNECTION_LIFETIME)
        // One that was just in use is most likely there; if it is not, the step is taken again.
        .test_before_acquire(false)
        .before_acquire(|connection, about| {
            Box::pin(
                async move { if about.idle_for > UNTRIED { is_there(connection).await } else { Ok(true) } },
            )
        })
        .after_release(|connection, _| Box::pin(is_there(connection)))
        .connect_lazy_with(options.connect())
}

/// Bounded, so that a host that vanished does not keep all of them.
async fn is_there(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    match timeout(ANSWER_WAIT, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}
