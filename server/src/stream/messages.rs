//! The messages of one output stream.

use airlock_domain::{ExecutionId, PushFromRunner, PushToRunner, RunnerId, limits::READS_AT_ONCE};
use futures::stream::BoxStream;
use tokio::sync::mpsc;

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
