//! When a server that is one of several says that it is ready: once it has links to most of the runners that the others
//! have links to, so that what is sent to it seldom needs a hop.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{config::Config, engine::Engine, probes::Readiness};

/// Hundredths of the runners.
const COVERED: usize = 90;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Says that the server takes new work: at once where it is the only one, else once it has its links.
pub(super) async fn follow(
    config: &Config,
    engine: &Engine,
    health: &HealthReporter,
    (tasks, readiness): (&TaskTracker, &Readiness),
) {
    readiness.opened.cancel();
    if let Some(peers) = &config.peers {
        health.set_service_status("", ServingStatus::NotServing).await;
        let (wait, readiness) = (peers.ready_wait, readiness.clone());
        tasks.spawn(when_linked(engine.clone(), health.clone(), wait, readiness));
    } else {
        readiness.linked.cancel();
    }
}

/// Says that the server serves once it has its links, and after `most` in any case; not once it stops.
async fn when_linked(engine: Engine, health: HealthReporter, most: Duration, readiness: Readiness) {
    let deadline = Instant::now() + most;
    loop {
        let (linked, live) = engine.coverage();
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
