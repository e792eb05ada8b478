//! The interfaces between the engine and the output streams. The engine owns the links to the runners,
//! and the streams own all work on output. They depend on each other only through these two traits.

use airlock_domain::{ExecutionId, RunnerId};

use crate::model::ExecutionRecord;

/// Why a message could not be sent to a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DoorError {
    /// The runner has no link to this server. When it reconnects, it reports every job that it was not
    /// told to forget. The engine then calls [`OutputKeeper::ended`] again for each job that has
    /// ended.
    #[error("the runner has no link to this server")]
    NotConnected,
    /// The link ended or was blocked for too long while the message waited to be sent.
    #[error("the link to the runner ended")]
    LinkEnded,
}

/// The part of a runner's link that the streams use. The links implement it.
#[async_trait::async_trait]
pub trait OutputDoor: Send + Sync {
    /// Asks the runner to open a `PushOutput` stream of `execution` with `ticket`. Returns after the
    /// request is sent; the caller waits for the stream.
    async fn open_output(
        &self,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), DoorError>;

    /// Tells the runner that a job is no longer needed, so that it can delete the spool.
    async fn forget_job(&self, runner: &RunnerId, execution: ExecutionId) -> Result<(), DoorError>;
}

/// The part of the streams that the engine uses. The streams implement it. The call returns quickly,
/// may be repeated for the same execution, and does its work in background tasks.
#[async_trait::async_trait]
pub trait OutputKeeper: Send + Sync {
    /// Copies the output that the runner holds into the storage, records the result in the store, and
    /// then calls [`OutputDoor::forget_job`]. `record` is `FINISHED` and its runner is connected. For
    /// an execution that became `RUNNER_LOST` by a timeout, it is called when the runner reconnects,
    /// even if the runner no longer has the job.
    async fn ended(&self, record: &ExecutionRecord);
}
