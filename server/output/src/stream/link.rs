//! The interface to the link of a runner, and the messages of one output stream with its ticket.

use airlock_domain::{ExecutionId, PushFromRunner, PushToRunner, RunnerId, limits::READS_AT_ONCE};
use futures::stream::BoxStream;
use tokio::sync::mpsc;

use crate::tickets;

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

/// The reason why a message could not be sent to a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LinkUnavailable {
    /// The runner has no link to this server. When it reconnects, it reports every job that it was not
    /// told to forget. The executions that have ended are then passed to the output streams again.
    #[error("the runner has no link to this server")]
    NotConnected,
    /// The link ended or was blocked for too long while the message waited to be sent.
    #[error("the link to the runner ended")]
    LinkEnded,
}

/// The number of messages to a runner that may wait for the transport. Each read is one message, plus
/// one if it is cancelled.
pub(super) const OUTGOING: usize = 2 * READS_AT_ONCE;

/// The first message of a runner on an output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushHello {
    /// The runner. The transport layer has compared it with the authenticated identity.
    pub runner_id: RunnerId,
    /// The execution of the output.
    pub execution_id: ExecutionId,
    /// The ticket from `OpenOutput`.
    pub ticket: String,
    /// Whether the runner holds no output of the execution.
    pub missing: bool,
}

/// The messages of one output stream, in order.
pub(super) type Incoming = BoxStream<'static, Result<PushFromRunner, PushBroken>>;

/// The transport of an output stream failed, or a message could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PushBroken(
    /// The details for the operator.
    pub String,
);

/// An open output stream.
pub(super) struct Push {
    pub(super) incoming: Incoming,
    pub(super) outgoing: mpsc::Sender<PushToRunner>,
}

/// An output stream that was opened on behalf of another server.
pub struct LentOutput {
    /// The messages of the runner.
    pub incoming: BoxStream<'static, Result<PushFromRunner, PushBroken>>,
    /// The messages to the runner.
    pub outgoing: mpsc::Sender<PushToRunner>,
}

/// The error of an output stream that could not be opened on behalf of another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runner has no link to this server, or did not open an output stream in time")]
pub struct NotLent;

/// The answer of a runner to `OpenOutput`.
pub(super) enum Opened {
    /// An output stream.
    Push(Push),
    /// The runner holds nothing for the execution.
    Missing,
}

/// The tickets of output streams. There is at most one per execution.
pub(super) type Tickets = tickets::Tickets<ExecutionId, Opened>;
