//! The delivery of results to hooks: at least once, also after a restart and from another server.
//!
//! The step that ends an execution stores a delivery for each hook that was asked about it. Each hook has a task of its
//! own on each server, so that a hook that fails delays no other. The task takes due deliveries with a lease: another
//! server takes them if this one dies. A delivery is removed when the hook has accepted it, or when it is too old.

mod report;
mod server;
mod task;

use std::{sync::Arc, time::Duration};

pub(crate) use report::Reports;
pub(crate) use server::Deliveries;
use task::deliver_forever;

use crate::shared::Lifecycle;

/// The interval of the removal of old deliveries.
const SWEEP: Duration = Duration::from_secs(60);
/// The interval of the measurement.
const MEASURE: Duration = Duration::from_secs(5);

/// Starts the tasks, which end with `lifecycle`.
pub(crate) fn start(deliveries: &Arc<Deliveries>, lifecycle: &Lifecycle) {
    for hook in &deliveries.hooks {
        lifecycle.spawn(deliver_forever(deliveries.clone(), hook.clone()));
    }
    if !deliveries.hooks.is_empty() {
        lifecycle.spawn(measure_forever(deliveries.clone()));
    }
    lifecycle.spawn(sweep_forever(deliveries.clone()));
}

/// Measures the age of the deliveries until the task is dropped.
async fn measure_forever(deliveries: Arc<Deliveries>) {
    loop {
        if let Err(error) = deliveries.measure().await {
            tracing::debug!(%error, "deliveries to hooks cannot be measured");
        }
        tokio::time::sleep(MEASURE).await;
    }
}

/// Removes old deliveries until the task is dropped.
async fn sweep_forever(deliveries: Arc<Deliveries>) {
    loop {
        if let Err(error) = deliveries.sweep().await {
            tracing::debug!(%error, "old deliveries to hooks cannot be removed");
        }
        tokio::time::sleep(SWEEP).await;
    }
}

#[cfg(test)]
mod tests;
