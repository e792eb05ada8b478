//! The sessions that are in use by other work than executions, such as a transfer of files. A session in
//! use is not idle.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::SessionId;
use airlock_store::record::SessionRecord;
use tokio::sync::{Notify, futures::Notified};

/// The sessions in use.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionUses {
    uses: Arc<Mutex<HashMap<SessionId, u32>>>,
}

/// A session that is in use until this value is dropped.
#[derive(Debug)]
pub struct SessionInUse {
    /// The record at the start of the use.
    pub record: SessionRecord,
    uses: SessionUses,
}

impl SessionUses {
    pub(crate) fn begin(&self, record: SessionRecord) -> SessionInUse {
        *self.lock().entry(record.id).or_default() += 1;
        SessionInUse { record, uses: self.clone() }
    }

    pub(crate) fn contains(&self, id: SessionId) -> bool {
        self.lock().contains_key(&id)
    }

    pub(crate) fn all(&self) -> Vec<SessionId> {
        self.lock().keys().copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, u32>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionInUse {
    fn drop(&mut self) {
        let mut uses = self.uses.lock();
        if let Some(count) = uses.get_mut(&self.record.id) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                uses.remove(&self.record.id);
            }
        }
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
        let notify = self.lock().entry(id).or_default().clone();
        SessionWait { waits: self, id, notify }
    }

    /// Notifies all waiters for this session.
    pub(crate) fn notify(&self, id: SessionId) {
        if let Some(notify) = self.lock().get(&id) {
            notify.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Notify>>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut waits = self.waits.lock();
        // One reference is held by the map and one by this waiter.
        if Arc::strong_count(&self.notify) <= 2 {
            waits.remove(&self.id);
        }
    }
}
