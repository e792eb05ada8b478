//! The outputs that are being copied or wait for it, and the slots for copying, which are limited per runner and per
//! tenant. A slow or silent runner thus does not block the others.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::{ExecutionId, RunnerId};
use tokio::sync::{Notify, oneshot};

use super::StreamLimits;

/// The outputs that are being copied or wait for it.
pub(super) type StoringMap = HashMap<ExecutionId, Entry>;

/// An output that is being copied or waits for it.
pub(super) struct Entry {
    pub(super) runner: Option<RunnerId>,
    /// Triggers an immediate retry.
    pub(super) again: Arc<Notify>,
}

/// The runner and the tenant that a slot counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotOwner {
    pub(super) runner: Option<RunnerId>,
    pub(super) tenant: String,
}

/// The slots. Waiters get a slot in order of arrival, except those at the limit of their runner or tenant.
#[derive(Debug)]
pub(super) struct StoringSlots {
    at_once: usize,
    per_runner: usize,
    per_tenant: usize,
    body: Mutex<Body>,
}

#[derive(Debug, Default)]
struct Body {
    taken: usize,
    runners: HashMap<Option<RunnerId>, usize>,
    tenants: HashMap<String, usize>,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    owner: SlotOwner,
    granted: oneshot::Sender<Slot>,
}

/// A slot, which is released when it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    shares: Arc<StoringSlots>,
    owner: SlotOwner,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shares.release(&self.owner);
        self.shares.grant();
    }
}

impl StoringSlots {
    pub(super) fn new(limits: &StreamLimits) -> Arc<Self> {
        Arc::new(Self {
            at_once: limits.storing_at_once,
            per_runner: limits.storing_per_runner,
            per_tenant: limits.storing_per_tenant,
            body: Mutex::default(),
        })
    }

    /// Waits for a slot. Cancel-safe: a slot that was granted meanwhile is released.
    pub(super) async fn acquire(self: &Arc<Self>, owner: SlotOwner) -> Slot {
        loop {
            let (granted, slot) = oneshot::channel();
            self.lock().waiting.push_back(Waiting { owner: owner.clone(), granted });
            self.grant();
            if let Ok(slot) = slot.await {
                return slot;
            }
        }
    }

    /// Grants the free slots.
    fn grant(self: &Arc<Self>) {
        while let Some(Waiting { owner, granted }) = self.next() {
            // Outside the lock: if the waiter was dropped, dropping the slot takes the lock again.
            drop(granted.send(Slot { shares: Arc::clone(self), owner }));
        }
    }

    /// Removes the next waiter that may have a slot, and counts its slot as taken.
    fn next(&self) -> Option<Waiting> {
        let mut body = self.lock();
        body.waiting.retain(|waiting| !waiting.granted.is_closed());
        if body.taken >= self.at_once {
            return None;
        }
        let may = |Waiting { owner, .. }: &Waiting| {
            count(&body.runners, &owner.runner) < self.per_runner
                && count(&body.tenants, &owner.tenant) < self.per_tenant
        };
        let first = body.waiting.iter().position(may)?;
        let next = body.waiting.remove(first)?;
        body.taken += 1;
        *body.runners.entry(next.owner.runner.clone()).or_default() += 1;
        *body.tenants.entry(next.owner.tenant.clone()).or_default() += 1;
        Some(next)
    }

    fn release(&self, owner: &SlotOwner) {
        let mut body = self.lock();
        body.taken = body.taken.saturating_sub(1);
        give_back(&mut body.runners, &owner.runner);
        give_back(&mut body.tenants, &owner.tenant);
    }

    fn lock(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn count<K: Eq + Hash>(counts: &HashMap<K, usize>, key: &K) -> usize {
    counts.get(key).copied().unwrap_or_default()
}

fn give_back<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn shares() -> Arc<StoringSlots> {
        let limits = StreamLimits {
            storing_at_once: 4,
            storing_per_runner: 2,
            storing_per_tenant: 3,
            ..StreamLimits::default()
        };
        StoringSlots::new(&limits)
    }

    fn owner(runner: &str, tenant: &str) -> SlotOwner {
        SlotOwner { runner: Some(runner.parse().unwrap()), tenant: tenant.to_owned() }
    }

    #[test]
    fn no_runner_and_no_tenant_has_more_than_its_share() {
        let shares = shares();
        let now = |runner, tenant| shares.acquire(owner(runner, tenant)).now_or_never();
        let one = now("a", "t").unwrap();
        let two = now("a", "t").unwrap();
        assert!(now("a", "u").is_none(), "the runner has its share");
        let three = now("b", "t").unwrap();
        assert!(now("c", "t").is_none(), "the tenant has its share");
        let four = now("c", "u").unwrap();
        assert!(now("d", "v").is_none(), "all slots are taken");
        drop((one, two, three, four));
        assert!(now("a", "t").is_some(), "no entry of dropped waiters remains");
        let body = shares.lock();
        assert!(body.taken == 0 && body.runners.is_empty() && body.tenants.is_empty());
        assert!(body.waiting.is_empty());
    }

    #[test]
    fn who_waits_for_its_share_holds_up_nobody_and_keeps_its_place() {
        let shares = shares();
        let held = [(); 2].map(|()| shares.acquire(owner("a", "t")).now_or_never().unwrap());
        let mut first = Box::pin(shares.acquire(owner("a", "t")));
        let mut second = Box::pin(shares.acquire(owner("a", "t")));
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        assert!(shares.acquire(owner("b", "t")).now_or_never().is_some());
        let [one, other] = held;
        drop(one);
        assert!(second.as_mut().now_or_never().is_none(), "the first waiter gets the slot first");
        let slot = first.now_or_never().unwrap();
        drop((slot, other));
        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn a_slot_that_nobody_takes_any_more_goes_to_the_next() {
        let shares = shares();
        let held = [(); 2].map(|()| shares.acquire(owner("a", "t")).now_or_never().unwrap());
        let mut gives_up = Box::pin(shares.acquire(owner("a", "t")));
        let mut next = Box::pin(shares.acquire(owner("a", "t")));
        assert!(gives_up.as_mut().now_or_never().is_none() && next.as_mut().now_or_never().is_none());
        let [one, _other] = held;
        // The slot is granted and dropped before it is polled.
        drop(one);
        drop(gives_up);
        assert!(next.now_or_never().is_some());
    }
}
