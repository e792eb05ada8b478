//! Where the exchanges meet the links to the runners: the one thing that they ask of a runner's control
//! stream. What is said on an exchange itself is not the links' business.

use airlock_proto::domain::RunnerId;

use crate::stream_door::DoorError;

/// What the exchanges ask of a runner; the links implement it.
#[async_trait::async_trait]
pub trait ExchangeDoor: Send + Sync {
    /// Asks the runner for an `Exchange` stream, to carry `ticket`. Returns when the message is on its
    /// way; whether and when the stream opens is the asker's to wait for.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn open_exchange(&self, runner: &RunnerId, ticket: &str) -> Result<(), DoorError>;
}
