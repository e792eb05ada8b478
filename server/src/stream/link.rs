//! The part of a runner's link that the output streams use.

use airlock_domain::{ExecutionId, RunnerId};

use crate::unavailable::LinkUnavailable;

/// The part of a runner's link that the output streams use. The links implement it.
#[async_trait::async_trait]
pub trait OutputLink: Send + Sync {
    /// Asks the runner to open a `PushOutput` stream of `execution` with `ticket`. Returns after the
    /// request is sent; the caller waits for the stream.
    async fn open_output(
        &self,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable>;

    /// Tells the runner that a job is no longer needed, so that it can delete the spool.
    async fn forget_job(&self, runner: &RunnerId, execution: ExecutionId) -> Result<(), LinkUnavailable>;
}
