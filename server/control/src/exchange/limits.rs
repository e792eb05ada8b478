//! The named limits and timeouts of exchanges, and the slots of exchanges, limited per tenant and in total.

use std::{hash::Hash, time::Duration};

use airlock_domain::{ExchangeOrder, SessionId};
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
    /// The maximum number of forwarded connections per session. They do not count as exchanges.
    pub forwards_per_session: usize,
    /// The maximum number of forwarded connections per tenant.
    pub forwards_per_tenant: usize,
    /// The maximum number of forwarded connections of all tenants.
    pub forwards: usize,
    /// The time after which a forwarded connection without traffic is ended.
    pub forward_idle: Duration,
}

impl Default for ExchangeLimits {
    fn default() -> Self {
        Self {
            exchanges_per_tenant: 128,
            exchanges: 512,
            exchange_open_wait: Duration::from_secs(10),
            exchange_answer_wait: Duration::from_secs(5 * 60),
            transfer_idle: Duration::from_secs(5 * 60),
            forwards_per_session: 128,
            forwards_per_tenant: 256,
            forwards: 1024,
            forward_idle: Duration::from_secs(60 * 60),
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
            ("forwards_per_session", self.forwards_per_session > 0),
            ("forwards_per_tenant", self.forwards_per_tenant > 0),
            ("forwards", self.forwards > 0),
            ("forward_idle", !self.forward_idle.is_zero()),
        ];
        not_zero.into_iter().try_for_each(|(limit, holds)| LimitError::require(limit, holds, "must not be 0"))
    }
}

/// The retry delay for clients if all slots are in use.
const RETRY: Duration = Duration::from_secs(1);

/// One slot.
pub(super) struct ExchangeSlot {
    _tenant: Share<String>,
    /// Set for a forwarded connection.
    _session: Option<Share<SessionId>>,
}

/// The slots that each tenant holds. A forwarded connection can last for hours, so these connections have slots of their
/// own.
#[derive(Debug, Clone, Default)]
pub(super) struct ExchangeSlots {
    exchanges: Shares<String>,
    forwards: Shares<String>,
    forwards_by_session: Shares<SessionId>,
}

impl ExchangeSlots {
    /// Takes a slot for a tenant.
    ///
    /// # Errors
    /// `Exhausted` if all slots, or those of the tenant or the session, are taken.
    pub(super) fn take(
        &self,
        tenant: &str,
        order: &ExchangeOrder,
        limits: &ExchangeLimits,
    ) -> Result<ExchangeSlot, ApiError> {
        let ExchangeOrder::Forward { session_id, .. } = order else {
            let all = ("exchanges", limits.exchanges);
            let own = ("exchanges_per_tenant", limits.exchanges_per_tenant);
            return Ok(ExchangeSlot {
                _tenant: share(&self.exchanges, tenant.to_owned(), all, own)?,
                _session: None,
            });
        };
        let all = ("forwards", limits.forwards);
        let own = ("forwards_per_session", limits.forwards_per_session);
        let session = share(&self.forwards_by_session, *session_id, all, own)?;
        let own = ("forwards_per_tenant", limits.forwards_per_tenant);
        Ok(ExchangeSlot {
            _tenant: share(&self.forwards, tenant.to_owned(), all, own)?,
            _session: Some(session),
        })
    }

    /// Returns the number of slots in use.
    pub(super) fn taken(&self) -> usize {
        self.exchanges.taken() + self.forwards.taken()
    }
}

/// Takes a slot within two limits, each with its name.
fn share<K: Clone + Eq + Hash>(
    shares: &Shares<K>,
    key: K,
    all: (&'static str, usize),
    own: (&'static str, usize),
) -> Result<Share<K>, ApiError> {
    shares.take(key, all.1, own.1).map_err(|full| {
        let (limit, most) = match full {
            Full::All => all,
            Full::Own => own,
        };
        ApiError::Exhausted { limit, value: most as u64, retry_after: RETRY }
    })
}
