//! The slots of exchanges, limited per tenant and in total. Dropping a slot frees it.

use std::time::Duration;

use super::limits::ExchangeLimits;
use crate::api::ApiError;
use airlock_limits::shares::{Full, Share, Shares};

/// The retry delay for clients if all slots are in use.
const RETRY: Duration = Duration::from_secs(1);

/// One slot.
pub(super) type ExchangeSlot = Share<String>;

/// The slots that each tenant holds.
#[derive(Debug, Clone, Default)]
pub(super) struct ExchangeSlots(Shares<String>);

impl ExchangeSlots {
    /// Takes a slot for a tenant.
    ///
    /// # Errors
    /// `Exhausted` if all slots, or those of the tenant, are taken.
    pub(super) fn take(&self, tenant: &str, limits: &ExchangeLimits) -> Result<ExchangeSlot, ApiError> {
        let (all, own) = (limits.exchanges, limits.exchanges_per_tenant);
        self.0.take(tenant.to_owned(), all, own).map_err(|full| {
            let (limit, most) = match full {
                Full::All => ("exchanges", all),
                Full::Own => ("exchanges_per_tenant", own),
            };
            ApiError::Exhausted { limit, value: most as u64, retry_after: RETRY }
        })
    }

    /// Returns the number of slots in use.
    pub(super) fn taken(&self) -> usize {
        self.0.taken()
    }
}
