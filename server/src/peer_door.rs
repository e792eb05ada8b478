//! The interface between the engine and the other servers of its store. A server uses it to reach a runner
//! without a link of its own. The edge implements the transport. A call is never forwarded.

use airlock_domain::{ExecutionId, RunnerId, SessionId, ToRunner};

use crate::stream_door::DoorError;

/// Calls to another server. Each call is a single hop with the implementation's timeouts, and can be dropped
/// at any time.
#[async_trait::async_trait]
pub trait PeerDoor: Send + Sync {
    /// Sends a message to a runner on the other server's link.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn tell(&self, address: &str, runner: &RunnerId, message: ToRunner) -> Result<(), DoorError>;

    /// Hints that a session has pending work. The hint may be lost.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn nudge(&self, address: &str, session: SessionId) -> Result<(), DoorError>;

    /// As [`crate::stream_door::OutputDoor::open_output`]. The ticket has been used when the call returns.
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

    /// As [`crate::exchange_door::ExchangeDoor::open_exchange`]. The ticket has been used when the call
    /// returns.
    ///
    /// # Errors
    /// See [`DoorError`].
    async fn open_exchange(&self, address: &str, runner: &RunnerId, ticket: &str) -> Result<(), DoorError>;
}

/// An implementation for a server without other servers.
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
