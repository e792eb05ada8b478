//! What a runner answers to `OpenOutput`, and the tickets that it answers with.

use airlock_proto::domain::ExecutionId;

use super::push::Push;

/// What the runner's answer to `OpenOutput` was.
pub(super) enum Opened {
    /// An output stream.
    Push(Push),
    /// The runner holds nothing for the execution.
    Missing,
}

/// At most one for each execution.
pub(super) type Tickets = crate::tickets::Tickets<ExecutionId, Opened>;
