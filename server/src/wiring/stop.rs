//! The shutdown in order and within its time limits: new calls, views, executions, links and connections,
//! telemetry.

use std::{net::SocketAddr, time::Duration};

use tokio::time::{Instant, timeout, timeout_at};

use super::{RunningServer, ServeError, ServingStatus, Store};

/// The maximum time that current operations of the store may take.
const STORE_CLOSE: Duration = Duration::from_secs(1);

impl RunningServer {
    /// Returns the address of the listener.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns only if the server stops without a request, with the reason. Cancel-safe.
    pub async fn wait(&mut self) -> ServeError {
        tokio::select! {
            served = &mut self.serving => match served {
                Ok(Err(error)) => ServeError::Transport(error),
                Ok(Ok(())) | Err(_) => ServeError::Ended,
            },
            _ = &mut self.accepting => ServeError::Ended,
        }
    }

    /// Shuts the server down within `limits.shutdown_grace` plus six seconds: one for the store and five for
    /// telemetry. Commands continue on their runners. Must not be dropped before it returns.
    pub async fn shut_down(mut self) {
        let deadline = Instant::now() + self.grace;
        tracing::info!("shutting down");
        self.health.set_service_status("", ServingStatus::NotServing).await;
        self.tokens.closed.cancel();

        // Views end with a status to resume from. Then the services hand over their executions, and the last
        // reports of runners are processed before their links are closed.
        let in_order = async {
            self.exchanges.shut_down().await;
            self.streams.shut_down().await;
            self.services.shut_down().await;
            if let Some(peers) = &self.peers {
                peers.shut_down().await;
            }
            self.tokens.draining.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        };
        let orderly = timeout_at(deadline, in_order).await.is_ok();
        self.tokens.draining.cancel();
        let drained = timeout_at(deadline, &mut self.serving).await.is_ok();
        self.tokens.cut.cancel();
        if !drained {
            // Every connection ends, and with the last one the task.
            drop((&mut self.serving).await);
        }
        drop((&mut self.accepting).await);
        if let Some(probes) = self.probes.take() {
            drop(probes.await);
        }
        close(self.store.as_ref()).await;
        tracing::info!(orderly, drained, "shut down");
        self.telemetry.shut_down().await;
    }
}

/// A store that is still in use is closed when the process ends.
async fn close(store: &dyn Store) {
    if timeout(STORE_CLOSE, store.close()).await.is_err() {
        tracing::warn!("store not closed: it is still in use");
    }
}
