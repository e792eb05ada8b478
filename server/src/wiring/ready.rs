//! When a server that is one of several says that it is ready: once it has links to most of the runners that the others
//! have links to, so that what is sent to it seldom needs a hop.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{engine::Engine, probes::Readiness};

/// Hundredths of the runners.
const COVERED: usize = 90;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Says that the server serves once it has its links, and after `most` in any case; not once it stops.
pub(super) async fn when_linked(
    engine: Engine,
    health: HealthReporter,
    most: Duration,
    Readiness { linked: has_links, closed }: Readiness,
) {
    let deadline = Instant::now() + most;
    loop {
        let (linked, live) = engine.coverage();
        if linked * 100 >= live * COVERED || Instant::now() >= deadline {
            tracing::info!(linked, live, "ready");
            break;
        }
        if closed.run_until_cancelled(sleep(LOOK)).await.is_none() {
            return;
        }
    }
    has_links.cancel();
    if !closed.is_cancelled() {
        health.set_service_status("", ServingStatus::Serving).await;
    }
}
