//! Slots for work that needs a processor: searches of output, and decisions. The number of concurrent slots is limited,
//! and they are assigned in the order of requests. A tenant can have at most as many entries in this queue as there are
//! slots, so that other tenants wait only a few turns.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// All slots. A slot is released on drop.
#[derive(Debug)]
pub struct Slots {
    at_once: usize,
    all: Arc<Semaphore>,
    /// Tenants that hold a slot or wait for one.
    by_tenant: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// One slot. The order of the fields matters: on drop, the slot is released before the tenant's turn, so that
/// other tenants precede this one.
#[derive(Debug)]
pub struct Slot {
    _slot: OwnedSemaphorePermit,
    _turn: OwnedSemaphorePermit,
}

impl Slots {
    /// Creates the slots. At most `at_once` are taken at the same time.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self { at_once, all: Arc::new(Semaphore::new(at_once)), by_tenant: Mutex::default() }
    }

    /// Waits for a slot for work of this tenant. Dropping the future cancels the wait.
    ///
    /// # Errors
    /// Never: the slots are not closed.
    pub async fn take(&self, tenant: &str) -> Result<Slot, AcquireError> {
        let turn = self.of_tenant(tenant).acquire_owned().await?;
        let slot = self.all.clone().acquire_owned().await?;
        Ok(Slot { _slot: slot, _turn: turn })
    }

    fn of_tenant(&self, tenant: &str) -> Arc<Semaphore> {
        let mut by_tenant = self.by_tenant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = by_tenant.get(tenant).and_then(Weak::upgrade) {
            return turns;
        }
        by_tenant.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(self.at_once));
        by_tenant.insert(tenant.to_owned(), Arc::downgrade(&turns));
        turns
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::{JoinSet, yield_now};

    use super::*;

    async fn settle() {
        for _ in 0..100 {
            yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_tenant_with_many_searches_does_not_keep_the_others_from_theirs() {
        let slots = Arc::new(Slots::new(2));
        let order = Arc::new(Mutex::new(Vec::new()));
        let held = [slots.take("hog").await.unwrap(), slots.take("hog").await.unwrap()];
        let mut tasks = JoinSet::new();
        let tenants = std::iter::repeat_n("hog", 50).chain(["quick", "quick"]);
        for tenant in tenants {
            let (slots, order) = (slots.clone(), order.clone());
            tasks.spawn(async move {
                let slot = slots.take(tenant).await.unwrap();
                order.lock().unwrap().push(tenant);
                settle().await;
                drop(slot);
            });
            settle().await;
        }
        assert_eq!(order.lock().unwrap().len(), 0);
        drop(held);
        while tasks.join_next().await.is_some() {}
        let order = order.lock().unwrap();
        let last = order.iter().rposition(|tenant| *tenant == "quick");
        assert!(last < Some(4), "{order:?}");
        assert_eq!(order.len(), 52);
    }

    #[tokio::test]
    async fn who_gives_up_or_has_ended_takes_nobodys_place() {
        let slots = Slots::new(1);
        let held = slots.take("a").await.unwrap();
        for tenant in ["a", "b"] {
            let mut waiting = Box::pin(slots.take(tenant));
            assert!(futures::poll!(&mut waiting).is_pending());
        }
        drop(held);
        drop(slots.take("b").await.unwrap());
        drop(slots.take("c").await.unwrap());
        assert_eq!(slots.by_tenant.lock().unwrap().len(), 1, "only the latest value is kept");
    }
}
