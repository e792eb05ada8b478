//! The opening of a store file: options, lock, permissions, settings and schema.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    Connection as _, SqliteConnection, SqlitePool,
    migrate::MigrateError,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{Durability, StoreError, sql::migrations::SQLITE};

/// The maximum size of the write-ahead log after a checkpoint, in bytes.
const LOG_BYTES: &str = "16777216";
/// The file mode. Only the owner has access, because the store contains commands and environments.
const OWNER_ONLY: u32 = 0o600;

/// Locks the store against a second server, which would control the same executions.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    let path = with_suffix(path, ".lock");
    let file = private().open(&path).map_err(|error| unavailable("open", &path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
            "`{}` is locked by another server; several servers share a PostgreSQL database (`store.postgres`)",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(unavailable("lock", &path, &error)),
    }
}

/// Creates the file before SQLite would create it readable for all users. SQLite copies the mode to
/// its log.
pub(super) fn create_private(path: &Path) -> Result<(), StoreError> {
    private().open(path).map(drop).map_err(|error| unavailable("open", path, &error))
}

pub(super) async fn writer(path: &Path, options: SqliteOptions) -> Result<SqlitePool, StoreError> {
    let synchronous = match options.durability {
        Durability::Process => SqliteSynchronous::Normal,
        Durability::Disk => SqliteSynchronous::Full,
    };
    let connect = connect(path, options)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .pragma("journal_size_limit", LOG_BYTES);
    let pool =
        pool(options).max_connections(1).before_acquire(|connection, _| Box::pin(is_clean(connection)));
    Ok(pool.connect_with(connect).await?)
}

/// Returns whether a connection can begin a transaction. When the disk is full, SQLite rolls back on
/// its own and the driver's rollback fails. The connection then permanently counts as inside a
/// transaction and must be replaced.
async fn is_clean(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // The rollback of a dropped transaction may still be queued. The ping waits for it.
        connection.ping().await?;
    }
    Ok(!connection.is_in_transaction())
}

pub(super) fn readers(path: &Path, options: SqliteOptions) -> SqlitePool {
    let connect = connect(path, options).pragma("query_only", "ON");
    pool(options).max_connections(options.readers.max(1)).connect_lazy_with(connect)
}

fn connect(path: &Path, options: SqliteOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(false)
        .foreign_keys(true)
        .busy_timeout(options.busy_timeout)
}

/// Connections to a file neither age nor break, so the pool does not check or replace them.
fn pool(options: SqliteOptions) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .acquire_timeout(options.acquire_timeout)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

pub(super) async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    SQLITE.run(pool).await.map_err(|error| match error {
        MigrateError::VersionMissing(found) => StoreError::Newer {
            found,
            known: SQLITE.iter().map(|migration| migration.version).max().unwrap_or_default(),
        },
        MigrateError::Execute(error) => error.into(),
        other => StoreError::Corrupt(other.to_string()),
    })
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(OWNER_ONLY);
    options
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn unavailable(what: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot {what} `{}`: {error}", path.display()))
}

/// The options of a store file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The failures that a committed step survives.
    pub durability: Durability,
    /// The number of connections that read. One additional connection writes. At least 1.
    pub readers: u32,
    /// The maximum time that SQLite waits for a lock on the file, which a backup can hold.
    pub busy_timeout: Duration,
    /// How long a call waits for a free connection before it fails with [`StoreError::Unavailable`].
    pub acquire_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            acquire_timeout: Duration::from_secs(10),
        }
    }
}
