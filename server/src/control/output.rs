//! The part of the output streams that the control of executions uses.

use airlock_output::stream::Streams;
use airlock_store::record::ExecutionRecord;

/// The part of the output streams that the control of executions uses. The streams implement it. The call
/// returns quickly, may be repeated for the same execution, and does its work in background tasks.
#[async_trait::async_trait]
pub trait OutputKeeper: Send + Sync {
    /// Copies the output that the runner holds into the storage, records the result in the store, and then
    /// tells the runner to forget the job. `record` is `FINISHED` and its runner is connected. For an
    /// execution that became `RUNNER_LOST` by a timeout, it is called when the runner reconnects, even if the
    /// runner no longer has the job.
    async fn ended(&self, record: &ExecutionRecord);
}

#[async_trait::async_trait]
impl OutputKeeper for Streams {
    async fn ended(&self, record: &ExecutionRecord) {
        self.keep(record);
    }
}
