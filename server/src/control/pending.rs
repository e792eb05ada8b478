//! A set of work items that a task takes. Hints may be lost or duplicated.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// A set of sessions or runners to check. Each is contained at most once.
#[derive(Debug)]
pub(crate) struct PendingSet<T> {
    pending: Mutex<HashSet<T>>,
    notify: Notify,
}

impl<T> Default for PendingSet<T> {
    fn default() -> Self {
        Self { pending: Mutex::default(), notify: Notify::new() }
    }
}

impl<T: Clone + Eq + Hash> PendingSet<T> {
    /// Adds an entry and notifies the receiver.
    pub(crate) fn insert(&self, id: T) {
        if self.lock().insert(id) {
            self.notify.notify_one();
        }
    }

    /// Waits until there is something to take. Spurious returns are possible.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Takes up to `at_most` entries that are not in `busy`.
    pub(crate) fn take(&self, at_most: usize, busy: &HashSet<T>) -> Vec<T> {
        let mut pending = self.lock();
        let taken: Vec<_> = pending.iter().filter(|id| !busy.contains(id)).take(at_most).cloned().collect();
        for id in &taken {
            pending.remove(id);
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<T>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
