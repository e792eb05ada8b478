//! The store in a SQLite file, for one server. This is the default.
//!
//! One connection writes, in `BEGIN IMMEDIATE` transactions; a few others read. Each method is one transaction or one
//! statement. A dropped call is rolled back. A lock file prevents other processes from writing.

mod engine;
mod open;

/// Evaluates a step. Nothing is repeated, because there is one writer.
macro_rules! attempt {
    ($store:expr, $step:expr) => {
        $step.await
    };
}

#[path = "queries/tables.rs"]
mod tables;

use std::{fs::File, path::Path, sync::Arc};

use airlock_domain::ExecutionId;
use sqlx::SqlitePool;

pub use open::SqliteOptions;

use crate::{Store, StoreError, record::Micros};

/// The store in a SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    write: SqlitePool,
    read: SqlitePool,
    /// Locked for the lifetime of the store.
    _lock: File,
}

/// The engine of the operations.
type Engine = SqliteStore;

impl SqliteStore {
    /// Opens the store in the file `path`, and creates the file if it is missing, accessible to its
    /// owner only. The directory must exist. Missing migrations are applied.
    ///
    /// # Errors
    /// * [`StoreError::Unavailable`] if the file cannot be opened or another process has it open.
    /// * [`StoreError::Corrupt`] if it is not a store.
    /// * [`StoreError::Newer`] if a later version wrote it.
    pub async fn open(path: &Path, options: SqliteOptions) -> Result<Arc<Self>, StoreError> {
        let lock = open::lock(path)?;
        open::create_private(path)?;
        let write = open::writer(path, options).await?;
        open::migrate(&write).await?;
        let read = open::readers(path, options);
        Ok(Arc::new(Self { write, read, _lock: lock }))
    }

    async fn begin(&self) -> Result<engine::Tx, StoreError> {
        Ok(self.write.begin_with("BEGIN IMMEDIATE").await?)
    }

    fn reader(&self) -> &SqlitePool {
        &self.read
    }

    /// Does nothing: no other server uses the file.
    fn hint(&self, _: ExecutionId, _: &str) {}
}

#[async_trait::async_trait]
impl Store for SqliteStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        engine::clock(&mut *self.read.acquire().await?).await
    }

    async fn close(&self) {
        self.read.close().await;
        // Closing the last connection writes the log back into the file.
        self.write.close().await;
    }
}

#[cfg(test)]
mod tests;
