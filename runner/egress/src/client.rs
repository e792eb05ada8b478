//! The state of one connection of a command to the proxy, and the reasons to close it.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_network::Target;
use tokio::{net::TcpStream, sync::OnceCell, time};
use tokio_util::sync::CancellationToken;

use crate::open::{Execution, Opened, Watch};

/// A client that asked for a tunnel: the bytes that it has already sent, and the connection to its target.
pub(crate) struct Asked {
    pub(crate) client: TcpStream,
    pub(crate) early: Vec<u8>,
    pub(crate) opened: Opened,
}

/// A client that speaks plain HTTP in a tunnel, and the bytes that were read from it.
pub(crate) struct PlainHttp {
    pub(crate) client: TcpStream,
    pub(crate) early: Vec<u8>,
    pub(crate) target: Target,
}

/// The state of one HTTP connection.
pub(crate) struct Client {
    pub(crate) execution: Arc<Execution>,
    /// Bytes that were exchanged with the client.
    pub(crate) transferred: AtomicU64,
    /// The rules for the request that is being forwarded.
    forwarding: Mutex<Option<Watch>>,
    failures: AtomicU32,
    /// The addresses of the client and of the proxy. `None`: the connection is inside one that was authenticated.
    addresses: Option<(SocketAddr, SocketAddr)>,
    /// Whether the client is a process of the execution.
    is_own: OnceCell<bool>,
    /// Cancelled when the client of a tunnel has ended its side before the answer.
    pub(crate) closed: CancellationToken,
}

impl Client {
    /// `stream` is the connection of the client, unless it is inside one that was authenticated.
    pub(crate) fn new(execution: Arc<Execution>, stream: Option<&TcpStream>) -> Self {
        let addresses = |stream: &TcpStream| stream.peer_addr().ok().zip(stream.local_addr().ok());
        Self {
            execution,
            transferred: AtomicU64::new(0),
            forwarding: Mutex::new(None),
            failures: AtomicU32::new(0),
            addresses: stream.and_then(addresses),
            is_own: OnceCell::new(),
            closed: CancellationToken::new(),
        }
    }

    /// Returns whether the client is a process of the execution, which needs no credential. Determined once.
    pub(crate) async fn is_own(&self) -> bool {
        let Some((client, proxy)) = self.addresses else { return false };
        *self.is_own.get_or_init(|| self.execution.has_process(client, proxy)).await
    }

    /// Counts a wrong credential. Returns true if the connection must be closed.
    pub(crate) fn count_failure(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= self.execution.limits().failures
    }

    /// Sets the rules that the connection depends on, until the next request.
    pub(crate) fn set_forwarding(&self, watch: Option<Watch>) {
        *self.forwarding.lock().unwrap_or_else(PoisonError::into_inner) = watch;
    }

    fn forwarding(&self) -> Option<Watch> {
        self.forwarding.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends when a change of the rules no longer permits the request that is being forwarded.
    pub(crate) async fn revoked(&self) {
        let mut layers = self.execution.access.layers.clone();
        while self.forwarding().is_none_or(|watch| watch.permits()) {
            if layers.changed().await.is_err() {
                // The rules cannot change any more.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Ends when nothing was transferred for the time `idle`. It checks once in this time.
pub(crate) async fn idle(idle: Duration, transferred: impl Fn() -> u64) {
    let mut before = transferred();
    loop {
        time::sleep(idle).await;
        let now = transferred();
        if now == before {
            return;
        }
        before = now;
    }
}
