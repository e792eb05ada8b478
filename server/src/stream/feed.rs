//! The latest record of one execution. Concurrent readers share one read of the store.

use std::sync::Arc;

use airlock_domain::ExecutionId;
use airlock_store::{Store, record::ExecutionRecord};
use tokio::{sync::Mutex, time::Instant};

use crate::api::ApiError;

/// The latest record, and when it was read.
#[derive(Debug, Default)]
pub(super) struct Feed {
    latest: Mutex<Option<(Instant, Arc<ExecutionRecord>)>>,
}

impl Feed {
    /// Returns the record as of `not_before` or later.
    ///
    /// # Errors
    /// If the store cannot be read, or no longer contains the execution.
    pub(super) async fn record(
        &self,
        store: &dyn Store,
        id: ExecutionId,
        not_before: Instant,
    ) -> Result<Arc<ExecutionRecord>, ApiError> {
        let mut latest = self.latest.lock().await;
        if let Some((read, record)) = latest.as_ref()
            && *read >= not_before
        {
            return Ok(Arc::clone(record));
        }
        let read = Instant::now();
        let Some(record) = store.execution(id).await? else {
            return Err(ApiError::NotFound { what: "execution", id: id.to_string() });
        };
        let record = Arc::new(record);
        *latest = Some((read, Arc::clone(&record)));
        Ok(record)
    }
}
