//! The task that delivers results to one hook: the choice of the next deliveries, their calls, and the pauses after
//! failures.
//!
//! Each attempt is a task of its own. An attempt that only makes progress while this task is not reading the store could
//! hold the connection that this task waits for.

use std::{collections::HashMap, sync::Arc, time::Duration};

use airlock_backoff::Backoff;
use airlock_domain::HookOutcome;
use airlock_store::{Delivery, StoreError, TakeDeliveries};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::Instant,
};

use super::server::{Deliveries, Sent};
use crate::{hooks::HookReply, shared::micros};

/// The maximum number of concurrent deliveries to one hook from this server.
pub(super) const AT_ONCE: usize = 8;
/// The maximum number of them of one tenant, so that results on which a hook hangs leave room for other tenants.
pub(super) const AT_ONCE_PER_TENANT: usize = 4;
/// The maximum number of deliveries of one tenant that are taken at once.
const TAKEN_PER_TENANT: u32 = 2;
/// The time between two looks for due deliveries.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);
/// The longest pause after [`AT_ONCE`] failures in a row, until the hook accepts a result.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The delay after the first failed attempt of a delivery.
pub(super) const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest delay between two attempts of a delivery.
const RETRY_MAX: Duration = Duration::from_secs(5 * 60);
/// The time for which a call can run, unless the hook's own time for questions is longer.
const CALL_MIN: Duration = Duration::from_secs(10);
/// A lease is this much longer than the longest call, so that it covers the record of the outcome.
const LEASE_MARGIN: Duration = Duration::from_secs(20);

/// Delivers results to one hook until the task is dropped, which also ends its attempts.
pub(super) async fn deliver_forever(deliveries: Arc<Deliveries>, hook: String) {
    let mut task = Task {
        deliveries,
        hook,
        running: JoinSet::new(),
        tenants: HashMap::new(),
        next_look: Instant::now(),
        pauses: Backoff::new(INTERVAL, PAUSE_MAX),
        failures: 0,
    };
    loop {
        if task.running.len() < AT_ONCE && task.next_look <= Instant::now() {
            task.look().await;
        }
        tokio::select! {
            Some(ended) = task.running.join_next_with_id() => task.note(ended),
            () = tokio::time::sleep_until(task.next_look), if task.running.len() < AT_ONCE => {}
        }
    }
}

/// The end of an attempt: whether the delivery is over.
type Ended = Result<bool, StoreError>;

struct Task {
    deliveries: Arc<Deliveries>,
    hook: String,
    running: JoinSet<Ended>,
    /// The tenants of the running attempts.
    tenants: HashMap<Id, String>,
    next_look: Instant,
    pauses: Backoff,
    /// The number of failed attempts since the hook last accepted a result.
    failures: usize,
}

impl Task {
    /// Takes due deliveries and begins their attempts.
    async fn look(&mut self) {
        let room = AT_ONCE - self.running.len();
        let call = self.deliveries.sender.longest_wait(&self.hook).unwrap_or_default().max(CALL_MIN);
        let take = TakeDeliveries {
            hook: self.hook.clone(),
            server_id: self.deliveries.server_id.clone(),
            at_most: u32::try_from(room).unwrap_or(1),
            per_tenant: TAKEN_PER_TENANT,
            except: self.busy_tenants(),
            lease_micros: micros(call + LEASE_MARGIN),
        };
        match self.deliveries.store.take_deliveries(&take).await {
            Ok(taken) => {
                // If there was nothing to take, the next end of an attempt or the interval can change this.
                self.next_look = Instant::now() + if taken.is_empty() { INTERVAL } else { Duration::ZERO };
                for delivery in taken {
                    let tenant = delivery.tenant.clone();
                    let attempt = attempt(self.deliveries.clone(), delivery, call);
                    self.tenants.insert(self.running.spawn(attempt).id(), tenant);
                }
            }
            Err(error) => self.pause(&error),
        }
    }

    /// Returns the tenants that have no room for the deliveries that are taken at once.
    fn busy_tenants(&self) -> Vec<String> {
        let mut counts = HashMap::<&String, usize>::new();
        for tenant in self.tenants.values() {
            *counts.entry(tenant).or_default() += 1;
        }
        let is_busy = |running: usize| running + TAKEN_PER_TENANT as usize > AT_ONCE_PER_TENANT;
        counts
            .into_iter()
            .filter(|(_, running)| is_busy(*running))
            .map(|(tenant, _)| tenant.clone())
            .collect()
    }

    /// Records the end of an attempt.
    fn note(&mut self, ended: Result<(Id, Ended), JoinError>) {
        let ended = match ended {
            Ok((id, ended)) => {
                self.tenants.remove(&id);
                ended
            }
            Err(error) => {
                self.tenants.remove(&error.id());
                Err(StoreError::Unavailable(format!("an attempt was interrupted: {error}")))
            }
        };
        match ended {
            Ok(true) => {
                self.pauses.reset();
                self.next_look = Instant::now();
                if std::mem::take(&mut self.failures) >= AT_ONCE {
                    tracing::info!(hook = self.hook, "the hook accepts results again");
                }
            }
            Ok(false) => {
                self.failures = self.failures.saturating_add(1);
                if self.failures == AT_ONCE {
                    tracing::warn!(
                        hook = self.hook,
                        "the hook accepts no results; they are sent again with growing delays"
                    );
                }
                // A few results that the hook does not accept must not delay the others.
                if self.failures >= AT_ONCE {
                    self.wait();
                }
            }
            Err(error) => self.pause(&error),
        }
    }

    fn pause(&mut self, error: &StoreError) {
        tracing::debug!(hook = self.hook, %error, "deliveries to a hook cannot be read or recorded");
        self.wait();
    }

    /// Waits before the next look, so that a backlog does not become a storm of failing calls.
    fn wait(&mut self) {
        self.next_look = self.next_look.max(Instant::now() + self.pauses.jittered_step());
    }
}

/// Attempts a delivery and records the outcome. Returns whether the delivery is over.
async fn attempt(deliveries: Arc<Deliveries>, delivery: Delivery, call: Duration) -> Ended {
    let delivery = &delivery;
    let sent = match tokio::time::timeout(call, deliveries.sender.send(delivery)).await {
        Ok(sent) => sent?,
        Err(_) => Sent::Failed(HookReply {
            outcome: HookOutcome::Timeout,
            reason: format!("the hook did not answer within {call:?}"),
        }),
    };
    match sent {
        Sent::Accepted => deliveries.observer.result_delivered(&delivery.hook, "accepted"),
        Sent::Gone => {}
        Sent::Failed(reply) => {
            deliveries.observer.result_delivered(&delivery.hook, "failed");
            tracing::debug!(
                hook = delivery.hook,
                execution_id = %delivery.execution_id,
                attempt = delivery.attempt,
                outcome = reply.outcome.name(),
                reason = reply.reason,
                "result not delivered"
            );
            deliveries.store.delay_delivery(delivery, micros(delay_after(delivery.attempt))).await?;
            return Ok(false);
        }
    }
    deliveries.store.finish_delivery(delivery).await?;
    Ok(true)
}

/// Returns the delay after a failed attempt: growing, and with jitter.
fn delay_after(attempt: u32) -> Duration {
    let mut backoff = Backoff::new(RETRY_FIRST, RETRY_MAX);
    for _ in 1..attempt.min(16) {
        backoff.step();
    }
    backoff.jittered_step()
}
