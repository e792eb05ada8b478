//! The sessions that are in use by other work than executions, such as a transfer of files. A session in
//! use is not idle.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::SessionId;
use airlock_store::record::SessionRecord;

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
