//! The executions with live output in memory. An entry exists only while it is in use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use airlock_domain::ExecutionId;

/// The entries in use.
#[derive(Debug)]
pub(super) struct Registry<T> {
    entries: Arc<Mutex<HashMap<ExecutionId, Weak<T>>>>,
}

impl<T> Clone for Registry<T> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone() }
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { entries: Arc::default() }
    }
}

/// Removes the entry when it is dropped. The entry owns it.
#[derive(Debug)]
pub(super) struct Registered<T> {
    id: ExecutionId,
    registry: Registry<T>,
}

impl<T> Registry<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, Weak<T>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entry of an execution. Makes it if there is none.
    pub(super) fn get(&self, id: ExecutionId, make: impl FnOnce(Registered<T>) -> T) -> Arc<T> {
        let mut entries = self.lock();
        if let Some(entry) = entries.get(&id).and_then(Weak::upgrade) {
            return entry;
        }
        let entry = Arc::new(make(Registered { id, registry: self.clone() }));
        entries.insert(id, Arc::downgrade(&entry));
        entry
    }

    /// Returns all entries. The lock is not held: dropping the last reference to an entry takes it.
    pub(super) fn all(&self) -> Vec<Arc<T>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }
}

impl<T> Drop for Registered<T> {
    fn drop(&mut self) {
        let mut entries = self.registry.lock();
        // A new entry may have replaced this one since its last owner was dropped.
        if entries.get(&self.id).is_some_and(|entry| entry.strong_count() == 0) {
            entries.remove(&self.id);
        }
    }
}
