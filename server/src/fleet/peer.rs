//! The interface to the other servers of the store. A server uses it to reach a runner
//! without a link of its own. The edge implements the transport. A call is never forwarded.

use airlock_domain::{ExecutionId, RunnerId, SessionId, ToRunner};
use airlock_output::stream::LinkUnavailable;

/// Calls to another server. Each call is a single hop with the implementation's timeouts, and can be dropped
/// at any time.
#[async_trait::async_trait]
pub trait PeerClient: Send + Sync {
    /// Sends a message to a runner on the other server's link.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn tell(&self, address: &str, runner: &RunnerId, message: ToRunner) -> Result<(), LinkUnavailable>;

    /// Hints that a session has pending work. The hint may be lost.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn hint_session(&self, address: &str, session: SessionId) -> Result<(), LinkUnavailable>;

    /// Like [`airlock_output::stream::OutputLink::open_output`]. The ticket has been used when the call returns.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn open_output(
        &self,
        address: &str,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable>;

    /// Like [`crate::exchange::ExchangeLink::open_exchange`]. The ticket has been used when the call
    /// returns.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn open_exchange(
        &self,
        address: &str,
        runner: &RunnerId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable>;
}

/// An implementation for a server without other servers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPeers;

#[async_trait::async_trait]
impl PeerClient for NoPeers {
    async fn tell(&self, _: &str, _: &RunnerId, _: ToRunner) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }

    async fn hint_session(&self, _: &str, _: SessionId) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }

    async fn open_output(
        &self,
        _: &str,
        _: &RunnerId,
        _: ExecutionId,
        _: &str,
    ) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }

    async fn open_exchange(&self, _: &str, _: &RunnerId, _: &str) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }
}
