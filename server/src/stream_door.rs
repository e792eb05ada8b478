//! Where the engine and the output streams meet. The engine owns the links to the runners; the streams
//! own everything that is done with output. Neither knows more of the other than these two traits.

use airlock_proto::domain::{ExecutionId, RunnerId};

use crate::model::ExecutionRecord;

/// Why a runner could not be told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DoorError {
    /// It has no link to this server just now. When it is back it reports every job that it was not
    /// told to forget, and the engine calls [`OutputKeeper::ended`] again for each that has ended.
    #[error("the runner has no link to this server")]
    NotConnected,
    /// The link ended, or took no message for too long, while this one waited to be sent.
    #[error("the link to the runner has just ended")]
    LinkEnded,
}

/// What the streams ask of a runner; the links implement it.
#[async_trait::async_trait]
pub trait OutputDoor: Send + Sync {
    /// Asks the runner for a `PushOutput` stream of `execution`, to carry `ticket`. Returns when the
    /// message is on its way; whether and when the stream opens is the streams' to wait for.
    async fn open_output(
        &self,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), DoorError>;

    /// Tells the runner that nothing more is wanted of a job: its spool may go.
    async fn forget_job(&self, runner: &RunnerId, execution: ExecutionId) -> Result<(), DoorError>;
}

/// What the engine tells the streams; the streams implement it. The call returns soon and may be
/// repeated for the same execution; the work is done in tasks of the streams' own.
#[async_trait::async_trait]
pub trait OutputKeeper: Send + Sync {
    /// `record` is `FINISHED`, and its runner is connected: copy what it holds of the output into the
    /// storage, say in the store what became of it, then [`OutputDoor::forget_job`]. For an execution
    /// that was `RUNNER_LOST` by the passing of time it is called when its runner comes back, whether
    /// or not that still knows of it.
    async fn ended(&self, record: &ExecutionRecord);
}
