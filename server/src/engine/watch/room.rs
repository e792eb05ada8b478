//! How many watches there are, of all tenants and of each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{api::ApiError, execution::exhausted};

/// The watches that are open, by tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchRoom {
    taken: Arc<Mutex<HashMap<String, u32>>>,
}

/// One watch, counted until it is dropped.
#[derive(Debug)]
pub(super) struct WatchSeat {
    room: WatchRoom,
    tenant: String,
}

impl WatchRoom {
    /// Takes a seat, of `at_most` and of `per_tenant`.
    ///
    /// # Errors
    /// `Exhausted`, with the limit.
    pub(super) fn take(&self, tenant: &str, at_most: u32, per_tenant: u32) -> Result<WatchSeat, ApiError> {
        let mut taken = self.lock();
        if taken.values().sum::<u32>() >= at_most {
            return Err(exhausted("watches", u64::from(at_most)));
        }
        let own = taken.get(tenant).copied().unwrap_or(0);
        if own >= per_tenant {
            return Err(exhausted("watches_per_tenant", u64::from(per_tenant)));
        }
        taken.insert(tenant.to_owned(), own + 1);
        Ok(WatchSeat { room: self.clone(), tenant: tenant.to_owned() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, u32>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchSeat {
    fn drop(&mut self) {
        let mut taken = self.room.lock();
        let left = taken.get(&self.tenant).copied().unwrap_or(0).saturating_sub(1);
        if left == 0 {
            taken.remove(&self.tenant);
        } else {
            taken.insert(self.tenant.clone(), left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(refused: Result<WatchSeat, ApiError>) -> &'static str {
        match refused {
            Err(ApiError::Exhausted { limit, .. }) => limit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn seats_are_counted_of_all_and_of_each_tenant_and_given_back() {
        let room = WatchRoom::default();
        let first = room.take("a", 3, 2).unwrap();
        let _second = room.take("a", 3, 2).unwrap();
        assert_eq!(limit(room.take("a", 3, 2)), "watches_per_tenant");
        let _third = room.take("b", 3, 2).unwrap();
        assert_eq!(limit(room.take("c", 3, 2)), "watches");
        drop(first);
        let _again = room.take("a", 3, 2).unwrap();
        assert_eq!(room.lock().len(), 2);
    }
}
