//! Hints that there may be work: sessions with queued executions, runners with free slots, and waiters for a session.
//! Hints may be lost or duplicated; the reconciliation finds what they missed.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::SessionId;
use tokio::sync::{Notify, futures::Notified};

/// A set of sessions or runners to check. Each is contained at most once.
#[derive(Debug)]
pub(crate) struct Wake<T> {
    pending: Mutex<HashSet<T>>,
    notify: Notify,
}

impl<T> Default for Wake<T> {
    fn default() -> Self {
        Self { pending: Mutex::default(), notify: Notify::new() }
    }
}

impl<T: Clone + Eq + Hash> Wake<T> {
    /// Adds an entry and notifies the receiver.
    pub(crate) fn wake(&self, id: T) {
        if lock(&self.pending).insert(id) {
            self.notify.notify_one();
        }
    }

    /// Waits until there is something to take. Spurious returns are possible.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Takes up to `at_most` entries that are not in `busy`.
    pub(crate) fn take(&self, at_most: usize, busy: &HashSet<T>) -> Vec<T> {
        let mut pending = lock(&self.pending);
        let taken: Vec<_> = pending.iter().filter(|id| !busy.contains(id)).take(at_most).cloned().collect();
        for id in &taken {
            pending.remove(id);
        }
        taken
    }
}

/// The waiters for changes of a session. An entry exists only while there is a waiter.
#[derive(Debug, Default)]
pub(crate) struct SessionWaits {
    waits: Mutex<HashMap<SessionId, Arc<Notify>>>,
}

/// A waiter for changes of one session.
#[derive(Debug)]
pub(crate) struct SessionWait<'a> {
    waits: &'a SessionWaits,
    id: SessionId,
    notify: Arc<Notify>,
}

impl SessionWaits {
    /// Registers a waiter that sees every change of this session from now on.
    pub(crate) fn enter(&self, id: SessionId) -> SessionWait<'_> {
        let notify = lock(&self.waits).entry(id).or_default().clone();
        SessionWait { waits: self, id, notify }
    }

    /// Notifies all waiters for this session.
    pub(crate) fn notify(&self, id: SessionId) {
        if let Some(notify) = lock(&self.waits).get(&id) {
            notify.notify_waiters();
        }
    }
}

impl SessionWait<'_> {
    /// Returns a future for the next change after this call, even if it occurs before the first poll.
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for SessionWait<'_> {
    fn drop(&mut self) {
        let mut waits = lock(&self.waits.waits);
        // One reference is held by the map and one by this waiter.
        if Arc::strong_count(&self.notify) <= 2 {
            waits.remove(&self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
