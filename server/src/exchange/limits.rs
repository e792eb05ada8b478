//! The named limits and clocks of exchanges. Plain data.

use std::time::Duration;

use crate::limits::LimitError;

/// How many at once, and how long. Durations are measured on the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeLimits {
    /// Exchanges at once of one tenant.
    pub exchanges_per_tenant: usize,
    /// Exchanges at once of all tenants.
    pub exchanges: usize,
    /// From `OpenExchange` to the stream that carries its ticket.
    pub exchange_open_wait: Duration,
    /// A runner that is to answer, or to take what is sent, and does neither for so long has failed.
    pub exchange_answer_wait: Duration,
    /// An upload or download whose client neither sends nor takes anything for so long is ended.
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
    /// Checks the limits against each other.
    ///
    /// # Errors
    /// The first limit that cannot be.
    pub fn check(&self) -> Result<(), LimitError> {
        let not_zero = [
            ("exchanges_per_tenant", self.exchanges_per_tenant > 0),
            ("exchanges", self.exchanges > 0),
            ("exchange_open_wait", !self.exchange_open_wait.is_zero()),
            ("exchange_answer_wait", !self.exchange_answer_wait.is_zero()),
            ("transfer_idle", !self.transfer_idle.is_zero()),
        ];
        match not_zero.into_iter().find(|(_, holds)| !holds) {
            Some((limit, _)) => Err(LimitError { limit, problem: "must not be 0".to_owned() }),
            None => Ok(()),
        }
    }
}
