//! The named limits and timeouts of exchanges. Plain data.

use std::time::Duration;

use airlock_limits::LimitError;

/// The limits on the number and duration of exchanges. Durations use the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// The maximum number of concurrent exchanges per tenant.
    pub exchanges_per_tenant: usize,
    /// The maximum number of concurrent exchanges of all tenants.
    pub exchanges: usize,
    /// The time limit from `OpenExchange` until the stream with its ticket opens.
    pub exchange_open_wait: Duration,
    /// How long a runner may neither answer nor accept data before it counts as failed.
    pub exchange_answer_wait: Duration,
    /// How long the client of an upload or download may neither send nor receive before the transfer
    /// is ended.
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
