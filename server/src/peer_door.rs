//! Where the engine meets the other servers of its store: what one server asks of another that has a link which
//! it lacks itself. How that travels is the edge's business; nothing that comes this way is passed on again.

use airlock_proto::domain::{ExecutionId, RunnerId, SessionId, ToRunner};

use crate::stream_door::DoorError;

/// What a server asks of another. Each call is one hop, bounded by the implementation's own time-outs, and can be
/// dropped at any time.
#[async_trait::async_trait]
pub trait PeerDoor: Send + Sync {
    /// Has a runner told something on the other server's link.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn tell(&self, address: &str, runner: &RunnerId, message: ToRunner) -> Result<(), DoorError>;

    /// Says that a session has something to do. A hint: it may be lost.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn nudge(&self, address: &str, session: SessionId) -> Result<(), DoorError>;

    /// As [`crate::stream_door::OutputDoor::open_output`]; when it returns, the ticket was used.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn open_output(
        &self,
        address: &str,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), DoorError>;

    /// As [`crate::exchange_door::ExchangeDoor::open_exchange`]; when it returns, the ticket was used.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn open_exchange(&self, address: &str, runner: &RunnerId, ticket: &str) -> Result<(), DoorError>;
}

/// Of a server that reaches no other.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

#[async_trait::async_trait]
impl PeerDoor for NoPeers {
    async fn tell(&self, _: &str, _: &RunnerId, _: ToRunner) -> Result<(), DoorError> {
        Err(DoorError::NotConnected)
    }

    async fn nudge(&self, _: &str, _: SessionId) -> Result<(), DoorError> {
        Err(DoorError::NotConnected)
    }

    async fn open_output(&self, _: &str, _: &RunnerId, _: ExecutionId, _: &str) -> Result<(), DoorError> {
        Err(DoorError::NotConnected)
    }

    async fn open_exchange(&self, _: &str, _: &RunnerId, _: &str) -> Result<(), DoorError> {
        Err(DoorError::NotConnected)
    }
}
