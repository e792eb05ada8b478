//! The delivery of results to hooks: at least once, also after a restart and from another server.
//!
//! The step that ends an execution stores a delivery for each hook that was asked about it. Each hook has a task of its
//! own on each server, so that a hook that fails delays no other. The task takes due deliveries with a lease: another
//! server takes them if this one dies. A delivery is removed when the hook has accepted it, or when it is too old.

mod report;
mod task;

use std::{sync::Arc, time::Duration};

use airlock_store::{Delivery, DeliveryStore, StoreError};

pub(crate) use report::Reports;
use task::deliver_forever;

use crate::{
    hooks::HookReply,
    shared::{Clock, Lifecycle, Observer, micros},
};

/// The interval of the removal of old deliveries.
const SWEEP: Duration = Duration::from_secs(60);
/// The interval of the measurement.
const MEASURE: Duration = Duration::from_secs(5);
/// The maximum number of old deliveries that are removed in one transaction.
const SWEPT_AT_ONCE: u32 = 100;
/// The name in metrics of the hooks that are no longer in the configuration.
const REMOVED: &str = "removed";

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The hook has accepted the result.
    Accepted,
    /// The execution no longer exists.
    Gone,
    /// The hook did not accept the result.
    Failed(HookReply),
}

/// Sends a result to its hook.
#[async_trait::async_trait]
pub(crate) trait Sender: Send + Sync {
    /// Attempts a delivery once. A dropped future cancels the call.
    async fn send(&self, delivery: &Delivery) -> Result<Sent, StoreError>;
    /// Returns the longest time for which a question to the hook waits. `None`: the hook is not configured.
    fn longest_wait(&self, hook: &str) -> Option<Duration>;
}

/// The deliveries of this server.
pub(crate) struct Deliveries {
    pub(crate) store: Arc<dyn DeliveryStore>,
    pub(crate) sender: Arc<dyn Sender>,
    /// The names of the configured hooks.
    pub(crate) hooks: Vec<String>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) clock: Arc<Clock>,
    /// The age after which a delivery is dropped, by the store's clock.
    pub(crate) max_age: Duration,
    /// The name of this server in leases.
    pub(crate) server_id: String,
}

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

impl Deliveries {
    /// Removes the deliveries to all hooks that are too old, including hooks that are no longer configured.
    async fn sweep(&self) -> Result<(), StoreError> {
        loop {
            let dropped = self.store.expire_deliveries(micros(self.max_age), SWEPT_AT_ONCE).await?;
            for delivery in &dropped {
                self.observer.result_delivered(self.name_of(&delivery.hook), "dropped");
                tracing::warn!(
                    hook = delivery.hook,
                    execution_id = %delivery.execution_id,
                    attempts = delivery.attempt,
                    "result dropped: the hook did not accept it within limits.hook_delivery"
                );
            }
            if dropped.len() < SWEPT_AT_ONCE as usize {
                return Ok(());
            }
        }
    }

    async fn measure(&self) -> Result<(), StoreError> {
        for hook in &self.hooks {
            let oldest = self.store.oldest_delivery(hook).await?;
            self.observer.deliveries_age(hook, oldest.map_or(Duration::ZERO, |at| self.clock.since(at)));
        }
        Ok(())
    }

    /// Returns the name of a hook in metrics, which must be from a bounded set.
    fn name_of<'h>(&self, hook: &'h str) -> &'h str {
        if self.hooks.iter().any(|known| known == hook) { hook } else { REMOVED }
    }
}

#[cfg(test)]
mod tests;
