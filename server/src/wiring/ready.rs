//! The readiness of a server, and the steps of its shutdown that tasks wait for. One of several servers is ready when it
//! has links to most of the connected runners, so that few requests need another server.

use std::{sync::Arc, time::Duration};

use airlock_control::runners::Runners;
use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{config::Config, probes::Readiness};

/// The required share of the runners, in percent.
const COVERED: usize = 90;
/// The interval between two checks.
const LOOK: Duration = Duration::from_millis(100);

/// Marks the server as ready: at once if it is the only one, otherwise when it has its links.
pub(super) async fn follow(
    config: &Config,
    runners: &Arc<Runners>,
    health: &HealthReporter,
    (tasks, readiness): (&TaskTracker, &Readiness),
) {
    readiness.opened.cancel();
    if let Some(peers) = &config.peers {
        health.set_service_status("", ServingStatus::NotServing).await;
        let (wait, readiness) = (peers.ready_wait, readiness.clone());
        tasks.spawn(when_linked(runners.clone(), health.clone(), wait, readiness));
    } else {
        readiness.linked.cancel();
    }
}

/// Marks the server as ready when it has its links, or after `most`. Never marks a server that stops.
async fn when_linked(runners: Arc<Runners>, health: HealthReporter, most: Duration, readiness: Readiness) {
    let deadline = Instant::now() + most;
    loop {
        let (linked, live) = runners.coverage();
        if linked * 100 >= live * COVERED || Instant::now() >= deadline {
            tracing::info!(linked, live, "ready");
            break;
        }
        if readiness.closed.run_until_cancelled(sleep(LOOK)).await.is_none() {
            return;
        }
    }
    readiness.linked.cancel();
    if !readiness.closed.is_cancelled() {
        health.set_service_status("", ServingStatus::Serving).await;
    }
}

/// The steps of a shutdown that tasks wait for.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    /// No new calls. Waiting calls end.
    pub(super) closed: CancellationToken,
    /// No new connections. Open calls end with a status.
    pub(super) draining: CancellationToken,
    /// All connections end.
    pub(super) cut: CancellationToken,
}
