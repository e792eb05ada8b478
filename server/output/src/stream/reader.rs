//! The registration of a reader, which counts against the limits until it is dropped.

use std::sync::Arc;

use airlock_domain::ExecutionId;
use airlock_limits::shares::{Full, Share};
use airlock_store::record::ExecutionRecord;

use super::{error::StreamError, hub::Hub, state::Inner};

impl Inner {
    /// Returns the hub that the readers of an execution share.
    pub(super) fn hub(&self, id: ExecutionId) -> Arc<Hub> {
        self.registry.get(id, |registered| Hub::new(id, &self.limits, registered))
    }
}

/// One registered reader of one execution.
pub(super) struct ReaderRegistration {
    pub(super) inner: Arc<Inner>,
    pub(super) hub: Arc<Hub>,
    /// The slot among all readers. `None` for the server's own readers.
    share: Option<Share<String>>,
}

impl ReaderRegistration {
    /// Registers a view.
    ///
    /// # Errors
    /// If the readers of all tenants, of the tenant or of the execution are at their limit, or the
    /// server stops.
    pub(super) fn take(inner: &Arc<Inner>, record: &ExecutionRecord) -> Result<Self, StreamError> {
        if inner.cancel.is_cancelled() {
            return Err(StreamError::Stopping);
        }
        let limits = &inner.limits;
        let full = |limit, value: usize| StreamError::Exhausted {
            limit,
            value: value as u64,
            retry_after: limits.poll,
        };
        let (all, own) = (limits.readers, limits.readers_per_tenant);
        let share = inner.readers.take(record.tenant.clone(), all, own).map_err(|reached| match reached {
            Full::All => full("readers", all),
            Full::Own => full("readers_per_tenant", own),
        })?;
        let hub = inner.hub(record.id);
        if !hub.enter(limits.readers_per_execution) {
            return Err(full("readers_per_execution", limits.readers_per_execution));
        }
        inner.observer.reader_opened();
        Ok(Self { inner: Arc::clone(inner), hub, share: Some(share) })
    }

    /// Registers a reader of the server itself, which does not count against the limits.
    pub(super) fn of_server(inner: &Arc<Inner>, id: ExecutionId) -> Self {
        let hub = inner.hub(id);
        hub.enter(usize::MAX);
        Self { inner: Arc::clone(inner), hub, share: None }
    }
}

impl Drop for ReaderRegistration {
    fn drop(&mut self) {
        self.hub.leave();
        if self.share.take().is_some() {
            self.inner.observer.reader_closed();
        }
    }
}
