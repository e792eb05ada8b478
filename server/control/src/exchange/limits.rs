//! The named limits and timeouts of exchanges, and the slots of exchanges, limited per tenant and in total.

use std::time::Duration;

use airlock_limits::{
    LimitError,
    shares::{Full, Share, Shares},
};

use crate::api::ApiError;

/// The limits on the number and duration of exchanges. Durations use the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// The maximum number of concurrent exchanges per tenant.
    pub exchanges_per_tenant: usize,
    /// The maximum number of concurrent exchanges of all tenants.
    pub exchanges: usize,
    /// The time limit from `OpenExchange` until the stream with its ticket opens.
    pub exchange_open_wait: Duration,
    /// The time without an answer or accepted data after which a runner counts as failed.
    pub exchange_answer_wait: Duration,
    /// The time after which an upload or download is ended if its client neither sends nor receives.
    pub transfer_idle: Duration,
}

impl Default for ExchangeLimits {
    fn default() -> Self {
        Self {
            exchanges_per_tenant: 128,
            exchanges: 512,
            exchange_open_wait: Duration::from_secs(10),
            exchange_answer_wait: Duration::from_secs(5 * 60),
            transfer_idle: Duration::from_secs(5 * 60),
        }
    }
}

impl ExchangeLimits {
    /// Checks that the limits are valid.
    ///
    /// # Errors
    /// The first limit that is invalid.
    pub fn check(&self) -> Result<(), LimitError> {
        let not_zero = [
            ("exchanges_per_tenant", self.exchanges_per_tenant > 0),
            ("exchanges", self.exchanges > 0),
            ("exchange_open_wait", !self.exchange_open_wait.is_zero()),
            ("exchange_answer_wait", !self.exchange_answer_wait.is_zero()),
            ("transfer_idle", !self.transfer_idle.is_zero()),
        ];
        not_zero.into_iter().try_for_each(|(limit, holds)| LimitError::require(limit, holds, "must not be 0"))
    }
}

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
