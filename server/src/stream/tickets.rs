//! The answer of a runner to `OpenOutput`, and its ticket.

use airlock_domain::ExecutionId;

use super::messages::Push;

/// The answer of a runner to `OpenOutput`.
pub(super) enum Opened {
    /// An output stream.
    Push(Push),
    /// The runner holds nothing for the execution.
    Missing,
}

/// The tickets of output streams. There is at most one per execution.
pub(super) type Tickets = crate::tickets::Tickets<ExecutionId, Opened>;
