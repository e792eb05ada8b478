//! The places of exchanges: so many of one tenant, so many in all. A place is given back when it is
//! dropped.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::ExchangeLimits;
use crate::api::ApiError;

/// When to try again where all places are taken.
const RETRY: Duration = Duration::from_secs(1);

/// Who has how many.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats {
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_tenant: HashMap<String, usize>,
}

/// One place.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Seats,
    tenant: String,
}

impl Seats {
    /// A place for a tenant.
    ///
    /// # Errors
    /// `Exhausted`.
    pub(super) fn take(&self, tenant: &str, limits: &ExchangeLimits) -> Result<Seat, ApiError> {
        let mut taken = self.lock();
        let own = taken.by_tenant.get(tenant).copied().unwrap_or_default();
        for (limit, most, now) in [
            ("exchanges_per_tenant", limits.exchanges_per_tenant, own),
            ("exchanges", limits.exchanges, taken.all),
        ] {
            if now >= most {
                return Err(ApiError::Exhausted { limit, value: most as u64, retry_after: RETRY });
            }
        }
        taken.all += 1;
        taken.by_tenant.insert(tenant.to_owned(), own + 1);
        Ok(Seat { seats: self.clone(), tenant: tenant.to_owned() })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.by_tenant.get_mut(&self.tenant) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by_tenant.remove(&self.tenant);
            }
        }
    }
}
