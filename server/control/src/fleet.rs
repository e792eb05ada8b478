//! The servers of one store, and the routes to runners: a link of this server, or a call to a server that has
//! one.
//!
//! The list of servers can be some seconds old. It determines only the destination of a message, never the
//! state of an execution.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::{ExecutionId, RunnerId, SessionId, ToRunner};
use airlock_output::stream::{LinkUnavailable, OutputLink};
use airlock_store::record::ServerRecord;

use crate::{exchange::ExchangeLink, links::Links};

/// A cheap handle to the servers of one store. All clones share the same state.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
}

struct Inner {
    server_id: String,
    links: Links,
    peers: Arc<dyn PeerClient>,
    others: Mutex<Vec<ServerRecord>>,
}

impl Fleet {
    /// Creates a fleet without other servers.
    #[must_use]
    pub fn new(server_id: impl Into<String>, links: Links, peers: Arc<dyn PeerClient>) -> Self {
        let server_id = server_id.into();
        Self { inner: Arc::new(Inner { server_id, links, peers, others: Mutex::default() }) }
    }

    /// Replaces the list of servers. This server is omitted.
    pub(crate) fn learn(&self, servers: Vec<ServerRecord>) {
        let others = servers.into_iter().filter(|server| server.id != self.inner.server_id).collect();
        *self.others() = others;
    }

    /// Returns the IDs of the other servers that have a link to a runner.
    pub(crate) fn linked(&self, runner: &RunnerId) -> Vec<String> {
        self.with_link(runner, |server| Some(server.id.clone()))
    }

    /// Returns the runners that other servers have links to.
    pub(crate) fn runners(&self) -> HashSet<RunnerId> {
        self.others().iter().flat_map(|server| &server.links).map(|(runner, _)| runner.clone()).collect()
    }

    /// Reports whether another server can be asked for a runner.
    pub(crate) fn reaches(&self, runner: &RunnerId) -> bool {
        !self.addresses(runner).is_empty()
    }

    /// Sends a message to a runner on any available link.
    ///
    /// # Errors
    /// Returns an error if no link exists or it has just ended. If the response of another server was lost,
    /// the runner may have received the message.
    pub(crate) async fn tell(&self, runner: &RunnerId, message: ToRunner) -> Result<(), LinkUnavailable> {
        let inner = &self.inner;
        if inner.links.get(runner).is_some() {
            return inner.links.tell(runner, message).await;
        }
        let mut last = LinkUnavailable::NotConnected;
        for address in self.addresses(runner) {
            match inner.peers.tell(&address, runner, message.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Hints to a server with a link to this runner that a session has pending work.
    pub(crate) async fn hint_session(&self, runner: &RunnerId, session: SessionId) {
        for address in self.addresses(runner) {
            if self.inner.peers.hint_session(&address, session).await.is_ok() {
                return;
            }
        }
    }

    fn addresses(&self, runner: &RunnerId) -> Vec<String> {
        self.with_link(runner, |server| server.address.clone())
    }

    fn with_link(&self, runner: &RunnerId, what: impl Fn(&ServerRecord) -> Option<String>) -> Vec<String> {
        let has = |server: &&ServerRecord| server.links.iter().any(|(linked, _)| linked == runner);
        self.others().iter().filter(has).filter_map(what).collect()
    }

    fn others(&self) -> MutexGuard<'_, Vec<ServerRecord>> {
        self.inner.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Fleet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fleet").field("others", &self.others().len()).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl OutputLink for Fleet {
    async fn open_output(
        &self,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable> {
        if self.inner.links.get(runner).is_some() {
            return self.inner.links.open_output(runner, execution, ticket).await;
        }
        let mut last = LinkUnavailable::NotConnected;
        for address in self.addresses(runner) {
            match self.inner.peers.open_output(&address, runner, execution, ticket).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn forget_job(&self, runner: &RunnerId, execution: ExecutionId) -> Result<(), LinkUnavailable> {
        self.tell(runner, ToRunner::ForgetJob { execution_id: execution }).await
    }
}

#[async_trait::async_trait]
impl ExchangeLink for Fleet {
    async fn open_exchange(&self, runner: &RunnerId, ticket: &str) -> Result<(), LinkUnavailable> {
        if self.inner.links.get(runner).is_some() {
            return self.inner.links.open_exchange(runner, ticket).await;
        }
        let mut last = LinkUnavailable::NotConnected;
        for address in self.addresses(runner) {
            match self.inner.peers.open_exchange(&address, runner, ticket).await {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

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
