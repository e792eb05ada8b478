//! The executions with live output in memory. An entry exists only while it is in use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use airlock_domain::ExecutionId;

use super::{hub::Hub, limits::StreamLimits};

/// The hubs in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Registry {
    hubs: Arc<Mutex<HashMap<ExecutionId, Weak<Hub>>>>,
}

/// Removes the entry when the hub is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    id: ExecutionId,
    registry: Registry,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, Weak<Hub>>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the hub that the readers of an execution share.
    pub(super) fn hub(&self, id: ExecutionId, limits: &StreamLimits) -> Arc<Hub> {
        let mut hubs = self.lock();
        if let Some(hub) = hubs.get(&id).and_then(Weak::upgrade) {
            return hub;
        }
        let hub = Arc::new(Hub::new(id, limits, Registered { id, registry: self.clone() }));
        hubs.insert(id, Arc::downgrade(&hub));
        hub
    }

    /// Returns the memory that is held for readers, in bytes.
    pub(super) fn retained_bytes(&self) -> usize {
        // Collect first: dropping the last reference to a hub takes the lock.
        let hubs: Vec<Arc<Hub>> = self.lock().values().filter_map(Weak::upgrade).collect();
        hubs.iter().map(|hub| hub.retained_bytes()).sum()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut hubs = self.registry.lock();
        // A new hub may have replaced this one since its last owner was dropped.
        if hubs.get(&self.id).is_some_and(|hub| hub.strong_count() == 0) {
            hubs.remove(&self.id);
        }
    }
}
