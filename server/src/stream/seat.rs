//! A reader's seat: its place in the counts of readers, given back when it goes.

use std::sync::Arc;

use airlock_proto::domain::ExecutionId;

use super::{Inner, hub::Hub, stopping};
use crate::{
    api::ApiError,
    model::ExecutionRecord,
    shares::{Full, Share},
};

/// One reader of one execution, counted.
pub(super) struct Seat {
    pub(super) inner: Arc<Inner>,
    pub(super) hub: Arc<Hub>,
    /// Its place among all readers; the server itself takes none.
    share: Option<Share<String>>,
}

impl Seat {
    /// Takes a seat for a view.
    ///
    /// # Errors
    /// If all are taken, or all of the execution's tenant, or the server stops.
    pub(super) fn take(inner: &Arc<Inner>, record: &ExecutionRecord) -> Result<Self, ApiError> {
        if inner.cancel.is_cancelled() {
            return Err(stopping());
        }
        let limits = &inner.limits;
        let full = |limit, value: usize| ApiError::Exhausted {
            limit,
            value: value as u64,
            retry_after: limits.poll,
        };
        let (all, own) = (limits.readers, limits.readers_per_tenant);
        let share = inner.readers.take(record.tenant.clone(), all, own).map_err(|reached| match reached {
            Full::All => full("readers", all),
            Full::Own => full("readers_per_tenant", own),
        })?;
        let hub = inner.registry.hub(record.id, limits);
        if !hub.enter(limits.readers_per_execution) {
            return Err(full("readers_per_execution", limits.readers_per_execution));
        }
        inner.observer.reader_opened();
        Ok(Self { inner: Arc::clone(inner), hub, share: Some(share) })
    }

    /// Takes a seat for the server itself, beside those of the views.
    pub(super) fn of_server(inner: &Arc<Inner>, id: ExecutionId) -> Self {
        let hub = inner.registry.hub(id, &inner.limits);
        hub.enter(usize::MAX);
        Self { inner: Arc::clone(inner), hub, share: None }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.leave();
        if self.share.take().is_some() {
            self.inner.observer.reader_closed();
        }
    }
}
