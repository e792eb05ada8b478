//! The way down, in order and within its time: nothing new, then the views, then what is driven, then
//! the links and connections, then what was measured.

use std::{net::SocketAddr, time::Duration};

use tokio::time::{Instant, timeout, timeout_at};

use super::{RunningServer, ServeError, ServingStatus, Store};

/// How long what is under way in the store may take to end.
const STORE_CLOSE: Duration = Duration::from_secs(1);

impl RunningServer {
    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns only if the server stops by itself, and why. Cancel-safe.
    pub async fn wait(&mut self) -> ServeError {
        tokio::select! {
            served = &mut self.serving => match served {
                Ok(Err(error)) => ServeError::Transport(error),
                Ok(Ok(())) | Err(_) => ServeError::Ended,
            },
            _ = &mut self.accepting => ServeError::Ended,
        }
    }

    /// Stops, within `limits.shutdown_grace` and six seconds more: one for the store, five for telemetry. Commands go on on
    /// their runners. Do not drop it midway.
    pub async fn shut_down(mut self) {
        let deadline = Instant::now() + self.grace;
        tracing::info!("shutting down");
        self.health.set_service_status("", ServingStatus::NotServing).await;
        self.tokens.closed.cancel();

        // Views end with a status to resume by; then the engine hands over what it drives, and the
        // last that runners report is taken in before their links are closed.
        let in_order = async {
            self.exchanges.shut_down().await;
            self.streams.shut_down().await;
            self.engine.shut_down().await;
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
            // Every connection ends now, and the task with the last of them.
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

/// One that somebody holds closes with the process.
async fn close(store: &dyn Store) {
    if timeout(STORE_CLOSE, store.close()).await.is_err() {
        tracing::warn!("the store is held by somebody else, and was not closed");
    }
}
