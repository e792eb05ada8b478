//! A reader's seat: its place in the counts of readers, given back when it goes.

use std::sync::{Arc, atomic::Ordering};

use airlock_proto::domain::ExecutionId;

use super::{Inner, hub::Hub, stopping};
use crate::api::ApiError;

/// One reader of one execution, counted.
pub(super) struct Seat {
    pub(super) inner: Arc<Inner>,
    pub(super) hub: Arc<Hub>,
    is_view: bool,
}

impl Seat {
    /// Takes a seat for a view.
    ///
    /// # Errors
    /// If all are taken, or the server stops.
    pub(super) fn take(inner: &Arc<Inner>, id: ExecutionId) -> Result<Self, ApiError> {
        if inner.cancel.is_cancelled() {
            return Err(stopping());
        }
        let limits = &inner.limits;
        let full = |limit, value: usize| ApiError::Exhausted {
            limit,
            value: value as u64,
            retry_after: limits.poll,
        };
        let one_more = |readers: usize| (readers < limits.readers).then_some(readers + 1);
        inner
            .readers
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .map_err(|_| full("readers", limits.readers))?;
        let hub = inner.registry.hub(id, limits);
        if !hub.enter(limits.readers_per_execution) {
            inner.readers.fetch_sub(1, Ordering::Relaxed);
            return Err(full("readers_per_execution", limits.readers_per_execution));
        }
        inner.observer.reader_opened();
        Ok(Self { inner: Arc::clone(inner), hub, is_view: true })
    }

    /// Takes a seat for the server itself, beside those of the views.
    pub(super) fn of_server(inner: &Arc<Inner>, id: ExecutionId) -> Self {
        let hub = inner.registry.hub(id, &inner.limits);
        hub.enter(usize::MAX);
        Self { inner: Arc::clone(inner), hub, is_view: false }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.hub.leave();
        if self.is_view {
            self.inner.readers.fetch_sub(1, Ordering::Relaxed);
            self.inner.observer.reader_closed();
        }
    }
}
