//! The deliveries of a server: what sends them, and their removal and measurement.

use std::{sync::Arc, time::Duration};

use airlock_store::{Delivery, DeliveryStore, StoreError};

use crate::{
    hooks::HookReply,
    shared::{Clock, Observer, micros},
};

/// The maximum number of old deliveries that are removed in one transaction.
const SWEPT_AT_ONCE: u32 = 100;
/// The name in metrics of the hooks that are no longer in the configuration.
pub(super) const REMOVED: &str = "removed";

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

impl Deliveries {
    /// Removes the deliveries to all hooks that are too old, including hooks that are no longer configured.
    pub(super) async fn sweep(&self) -> Result<(), StoreError> {
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

    pub(super) async fn measure(&self) -> Result<(), StoreError> {
        for hook in &self.hooks {
            let oldest = self.store.oldest_delivery(hook).await?;
            self.observer.deliveries_age(hook, oldest.map_or(Duration::ZERO, |at| self.clock.since(at)));
        }
        Ok(())
    }

    /// Returns the name of a hook in metrics, which must be from a bounded set.
    pub(super) fn name_of<'h>(&self, hook: &'h str) -> &'h str {
        if self.hooks.iter().any(|known| known == hook) { hook } else { REMOVED }
    }
}
