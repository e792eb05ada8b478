//! The places of exchanges: so many of one tenant, so many in all. A place is given back when it is
//! dropped.

use std::time::Duration;

use super::ExchangeLimits;
use crate::{
    api::ApiError,
    shares::{Full, Share, Shares},
};

/// When to try again where all places are taken.
const RETRY: Duration = Duration::from_secs(1);

/// One place.
pub(super) type Seat = Share<String>;

/// Who has how many.
#[derive(Debug, Clone, Default)]
pub(super) struct Seats(Shares<String>);

impl Seats {
    /// A place for a tenant.
    ///
    /// # Errors
    /// `Exhausted`.
    pub(super) fn take(&self, tenant: &str, limits: &ExchangeLimits) -> Result<Seat, ApiError> {
        let (all, own) = (limits.exchanges, limits.exchanges_per_tenant);
        self.0.take(tenant.to_owned(), all, own).map_err(|full| {
            let (limit, most) = match full {
                Full::All => ("exchanges", all),
                Full::Own => ("exchanges_per_tenant", own),
            };
            ApiError::Exhausted { limit, value: most as u64, retry_after: RETRY }
        })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.0.taken()
    }
}
