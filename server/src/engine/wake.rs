//! Hints that something may be done: which sessions' queues to look at, and who waits for a session.
//! Any of them may be lost or doubled; the poll finds what they missed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::SessionId;
use tokio::sync::Notify;

/// Sessions whose queues want to be looked at. Holds each session once.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    pending: Mutex<HashSet<SessionId>>,
    notify: Notify,
}

impl Wake {
    /// Wants this session's queue to be looked at.
    pub(crate) fn wake(&self, id: SessionId) {
        if lock(&self.pending).insert(id) {
            self.notify.notify_one();
        }
    }

    /// Returns when there is something to take, or earlier.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }

    /// Takes up to `at_most` sessions, none of those in `busy`.
    pub(crate) fn take(&self, at_most: usize, busy: &HashSet<SessionId>) -> Vec<SessionId> {
        let mut pending = lock(&self.pending);
        let taken: Vec<_> = pending.iter().filter(|id| !busy.contains(id)).take(at_most).copied().collect();
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

impl SessionWaits {
    /// What tells of the next change of this session. Give it back with [`SessionWaits::leave`].
    pub(crate) fn enter(&self, id: SessionId) -> Arc<Notify> {
        lock(&self.waits).entry(id).or_default().clone()
    }

    pub(crate) fn leave(&self, id: SessionId, notify: Arc<Notify>) {
        drop(notify);
        let mut waits = lock(&self.waits);
        if waits.get(&id).is_some_and(|notify| Arc::strong_count(notify) == 1) {
            waits.remove(&id);
        }
    }

    /// Tells everybody who waits for this session.
    pub(crate) fn notify(&self, id: SessionId) {
        if let Some(notify) = lock(&self.waits).get(&id) {
            notify.notify_waiters();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
