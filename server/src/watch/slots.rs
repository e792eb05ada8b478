//! The limits on the number of watches, in total and per tenant.

use crate::{api::ApiError, control::exhausted};
use airlock_limits::shares::{Full, Share, Shares};

/// One watch, counted until it is dropped.
pub(super) type WatchSlot = Share<String>;

/// The open watches, by tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchSlots(Shares<String>);

impl WatchSlots {
    /// Registers a watch within both limits.
    ///
    /// # Errors
    /// `Exhausted` with the name of the limit.
    pub(super) fn take(&self, tenant: &str, at_most: u32, per_tenant: u32) -> Result<WatchSlot, ApiError> {
        let taken = self.0.take(tenant.to_owned(), at_most as usize, per_tenant as usize);
        taken.map_err(|full| match full {
            Full::All => exhausted("watches", u64::from(at_most)),
            Full::Own => exhausted("watches_per_tenant", u64::from(per_tenant)),
        })
    }
}
