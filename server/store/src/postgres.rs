//! The store in a PostgreSQL database, for several servers at once.
//!
//! Each method is one transaction or one statement. Row locks serialize concurrent steps of several servers
//! (`engine.rs`). If the database rolls back a transaction, or its connection fails before the commit, it is
//! retried a few times. Nothing is cached: each query sees what other servers have committed.

mod engine;
mod hints;
mod open;

/// Evaluates a step and retries it if it was rolled back. The step is an expression that creates a future.
macro_rules! attempt {
    ($store:expr, $step:expr) => {{
        let steps = async {
            let mut undone = 0;
            loop {
                match async { $step.await }.await {
                    Err($crate::StoreError::Undone(why)) if undone == $crate::postgres::AGAIN => {
                        return Err($crate::StoreError::Unavailable(why));
                    }
                    Err($crate::StoreError::Undone(_)) => {
                        tokio::time::sleep($crate::postgres::PAUSE.saturating_mul(1 << undone)).await;
                        undone += 1;
                    }
                    taken => return taken,
                }
            }
        };
        tokio::time::timeout($store.patience, steps).await.unwrap_or_else(|_| {
            Err($crate::StoreError::Unavailable("the database does not answer".to_owned()))
        })
    }};
}

#[path = "queries/tables.rs"]
#[expect(clippy::duplicate_mod, reason = "the same queries are compiled for each engine")]
mod tables;

use std::{sync::Arc, time::Duration};

use airlock_domain::ExecutionId;
use sqlx::PgPool;

pub use open::{PostgresOptions, PostgresTls, TlsMode};

use self::hints::Hints;
use crate::{Store, StoreError, changes::Changes, record::Micros};

/// The maximum number of retries of a step that was rolled back.
const AGAIN: u32 = 5;
/// The pause before the first retry. It doubles with each retry.
const PAUSE: Duration = Duration::from_millis(5);
/// The time limit for closing connections.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// The store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pool: PgPool,
    hints: Option<Hints>,
    /// The time limit of a call, retries included.
    patience: Duration,
}

/// The engine of the operations.
type Engine = PostgresStore;

impl PostgresStore {
    /// Connects, applies missing migrations, and starts to notify `changes` about changes by other servers.
    ///
    /// # Errors
    /// * [`StoreError::Unavailable`] if the database cannot be reached.
    /// * [`StoreError::Refused`] if it cannot hold a store.
    /// * [`StoreError::Corrupt`] if a migration fails.
    /// * [`StoreError::Newer`] if a later version wrote it.
    pub async fn open(options: &PostgresOptions, changes: Changes) -> Result<Arc<Self>, StoreError> {
        open::prepare(options).await.map_err(|error| match error {
            StoreError::Undone(why) => StoreError::Unavailable(why),
            other => other,
        })?;
        let hints = options.notify.then(|| Hints::start(open::pool(options, 1), changes));
        let pool = open::pool(options, options.connections);
        Ok(Arc::new(Self { pool, hints, patience: options.patience() }))
    }

    async fn begin(&self) -> Result<engine::Tx, StoreError> {
        Ok(self.pool.begin().await?)
    }

    fn reader(&self) -> &PgPool {
        &self.pool
    }

    /// Hints to other servers that an execution has changed.
    fn hint(&self, id: ExecutionId, tenant: &str) {
        if let Some(hints) = &self.hints {
            hints.send(id, tenant);
        }
    }
}

#[async_trait::async_trait]
impl Store for PostgresStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        attempt!(self, engine::clock(&mut *self.pool.acquire().await?))
    }

    async fn close(&self) {
        if let Some(hints) = &self.hints {
            hints.stop().await;
        }
        let _ = tokio::time::timeout(CLOSE_WAIT, self.pool.close()).await;
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
