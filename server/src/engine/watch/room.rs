//! How many watches there are, of all tenants and of each.

use crate::{
    api::ApiError,
    execution::exhausted,
    shares::{Full, Share, Shares},
};

/// One watch, counted until it is dropped.
pub(super) type WatchSeat = Share<String>;

/// The watches that are open, by tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchRoom(Shares<String>);

impl WatchRoom {
    /// Takes a seat, of `at_most` and of `per_tenant`.
    ///
    /// # Errors
    /// `Exhausted`, with the limit.
    pub(super) fn take(&self, tenant: &str, at_most: u32, per_tenant: u32) -> Result<WatchSeat, ApiError> {
        let taken = self.0.take(tenant.to_owned(), at_most as usize, per_tenant as usize);
        taken.map_err(|full| match full {
            Full::All => exhausted("watches", u64::from(at_most)),
            Full::Own => exhausted("watches_per_tenant", u64::from(per_tenant)),
        })
    }
}
