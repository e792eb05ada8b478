//! Hints that something may be done: which sessions' queues to look at, which runners' free slots, and who waits for a session.
//! Any of them may be lost or doubled; the poll finds what they missed.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::SessionId;
use tokio::sync::{Notify, futures::Notified};

/// Sessions or runners that want to be looked at. Holds each once.
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
    /// Wants this one to be looked at.
    pub(crate) fn wake(&self, id: T) {
        if lock(&self.pending).insert(id) {
            self.notify.notify_one();
        }
    }

    /// Returns when there is something to take, or earlier.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Takes up to `at_most`, none of those in `busy`.
    pub(crate) fn take(&self, at_most: usize, busy: &HashSet<T>) -> Vec<T> {
        let mut pending = lock(&self.pending);
        let taken: Vec<_> = pending.iter().filter(|id| !busy.contains(id)).take(at_most).cloned().collect();
        for id in &taken {
            pending.remove(id);
        }
        taken
    }
}

/// Who waits for a session to change. Holds an entry only while somebody waits.
#[derive(Debug, Default)]
pub(crate) struct SessionWaits {
    waits: Mutex<HashMap<SessionId, Arc<Notify>>>,
}

/// One who waits for a session.
#[derive(Debug)]
pub(crate) struct SessionWait<'a> {
    waits: &'a SessionWaits,
    id: SessionId,
    notify: Arc<Notify>,
}

impl SessionWaits {
    /// Sees every change of this session from now on.
    pub(crate) fn enter(&self, id: SessionId) -> SessionWait<'_> {
        let notify = lock(&self.waits).entry(id).or_default().clone();
        SessionWait { waits: self, id, notify }
    }

    /// Tells everybody who waits for this session.
    pub(crate) fn notify(&self, id: SessionId) {
        if let Some(notify) = lock(&self.waits).get(&id) {
            notify.notify_waiters();
        }
    }
}

impl SessionWait<'_> {
    /// Returns at the next change after this call, even if it comes before the first poll.
    pub(crate) fn notified(&self) -> Notified<'_> {
        self.notify.notified()
    }
}

impl Drop for SessionWait<'_> {
    fn drop(&mut self) {
        let mut waits = lock(&self.waits.waits);
        // The map's and this one.
        if Arc::strong_count(&self.notify) <= 2 {
            waits.remove(&self.id);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
