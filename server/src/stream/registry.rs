//! Which executions have live output in memory. Holds an entry only while somebody uses it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use airlock_proto::domain::ExecutionId;

use super::{hub::Hub, limits::StreamLimits};

/// The hubs that are in use.
#[derive(Debug, Clone, Default)]
pub(super) struct Registry {
    hubs: Arc<Mutex<HashMap<ExecutionId, Weak<Hub>>>>,
}

/// Takes the entry away when the hub is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    id: ExecutionId,
    registry: Registry,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, Weak<Hub>>> {
        self.hubs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the readers of an execution share.
    pub(super) fn hub(&self, id: ExecutionId, limits: &StreamLimits) -> Arc<Hub> {
        let mut hubs = self.lock();
        if let Some(hub) = hubs.get(&id).and_then(Weak::upgrade) {
            return hub;
        }
        let hub = Arc::new(Hub::new(id, limits, Registered { id, registry: self.clone() }));
        hubs.insert(id, Arc::downgrade(&hub));
        hub
    }

    /// What is kept in memory for readers, in bytes.
    pub(super) fn retained_bytes(&self) -> usize {
        // Collected first: a hub whose last owner this is takes the lock when it is dropped.
        let hubs: Vec<Arc<Hub>> = self.lock().values().filter_map(Weak::upgrade).collect();
        hubs.iter().map(|hub| hub.retained_bytes()).sum()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut hubs = self.registry.lock();
        // Another may have come in its place since the last owner went.
        if hubs.get(&self.id).is_some_and(|hub| hub.strong_count() == 0) {
            hubs.remove(&self.id);
        }
    }
}
