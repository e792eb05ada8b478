//! The proxy: it accepts connections for executions, within their shares.

use std::{io, sync::Arc, time::Duration};

use airlock_network::AddressGuard;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time,
};

use crate::{
    access::Access,
    limits::Limits,
    open::{Common, Execution},
    resolve::Resolver,
    serve,
    shares::{Share, Shares},
    upstream::Upstream,
};

/// The wait after a failed `accept`, such as one for lack of file descriptors.
const RETRY: Duration = Duration::from_millis(100);

/// The proxy of a runner, for all its executions.
pub struct Proxy {
    common: Arc<Common>,
    shares: Shares,
}

impl Proxy {
    /// Creates a proxy. `guard` knows the addresses that are not public. Without `upstream`, the proxy connects to
    /// targets itself.
    #[must_use]
    pub fn new(
        upstream: Option<Upstream>,
        limits: Limits,
        resolver: Arc<dyn Resolver>,
        guard: AddressGuard,
    ) -> Self {
        let shares = Shares::new(&limits);
        let pipes = Semaphore::new(limits.pipes);
        let common = Common { limits, resolver, guard, upstream, pipes, open: Arc::new(()) };
        Self { common: Arc::new(common), shares }
    }

    /// Returns the number of open connections of commands.
    #[must_use]
    pub fn open(&self) -> usize {
        Arc::strong_count(&self.common.open).saturating_sub(1)
    }

    /// Serves one execution until its access is cancelled. Then the listener and all connections of the execution are
    /// closed, within [`Limits::close`].
    ///
    /// Dropping the future closes them, too.
    pub async fn serve(&self, listener: TcpListener, access: Access) {
        let cancel = access.cancel.clone();
        let limits = &self.common.limits;
        let share = self.shares.share(limits);
        let execution = Arc::new(Execution::new(access, Arc::clone(&self.common)));
        let mut connections = JoinSet::new();
        cancel.run_until_cancelled(accept(&listener, &share, &execution, &mut connections)).await;
        drop(listener);
        // Tasks of the execution only wait, so they end when they are aborted. The limit is a safeguard.
        let _ = time::timeout(limits.close, connections.shutdown()).await;
    }
}

/// Accepts connections, each of which runs in a task of `connections`.
async fn accept(
    listener: &TcpListener,
    share: &Share,
    execution: &Arc<Execution>,
    connections: &mut JoinSet<()>,
) {
    while let Some(slot) = share.slot().await {
        let stream = match accepted(listener, connections).await {
            Ok(stream) => stream,
            Err(_) => {
                time::sleep(RETRY).await;
                continue;
            }
        };
        let (execution, open) = (Arc::clone(execution), Arc::clone(&execution.common.open));
        connections.spawn(async move {
            serve::serve(stream, execution).await;
            drop((slot, open));
        });
    }
}

/// Waits for a connection, and removes ended tasks in the meantime.
async fn accepted(listener: &TcpListener, connections: &mut JoinSet<()>) -> io::Result<TcpStream> {
    loop {
        tokio::select! {
            accepted = listener.accept() => return accepted.map(|(stream, _)| stream),
            Some(_) = connections.join_next() => {}
        }
    }
}
