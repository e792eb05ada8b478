//! Tells those who wait that an execution has changed. Only a hint: the truth is in the store, and
//! whoever waits reads it there.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use airlock_proto::domain::ExecutionId;
use tokio::sync::watch;

/// Who waits for changes of which execution. Holds an entry only while somebody watches.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    senders: Arc<Mutex<HashMap<ExecutionId, Weak<watch::Sender<u64>>>>>,
}

/// A watch on one execution.
#[derive(Debug)]
pub struct ChangeWatch {
    sender: Option<Arc<watch::Sender<u64>>>,
    receiver: watch::Receiver<u64>,
    id: ExecutionId,
    changes: Changes,
}

impl Changes {
    /// A watch that sees every change from now on.
    #[must_use]
    pub fn watch(&self, id: ExecutionId) -> ChangeWatch {
        let mut senders = self.lock();
        let sender = senders.get(&id).and_then(Weak::upgrade).unwrap_or_else(|| {
            let sender = Arc::new(watch::Sender::new(0));
            senders.insert(id, Arc::downgrade(&sender));
            sender
        });
        drop(senders);
        let receiver = sender.subscribe();
        ChangeWatch { sender: Some(sender), receiver, id, changes: self.clone() }
    }

    /// Wakes everybody who watches `id`.
    pub fn notify(&self, id: ExecutionId) {
        let sender = self.lock().get(&id).and_then(Weak::upgrade);
        if let Some(sender) = sender {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, Weak<watch::Sender<u64>>>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangeWatch {
    /// Returns at the next change since the last call. Cancel-safe. Bound it with a time-out: with
    /// several servers a change made elsewhere is not seen here.
    pub async fn changed(&mut self) {
        // The sender lives as long as the watch, so that this cannot fail.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for ChangeWatch {
    fn drop(&mut self) {
        let mut senders = self.changes.lock();
        drop(self.sender.take());
        if senders.get(&self.id).is_some_and(|weak| weak.strong_count() == 0) {
            senders.remove(&self.id);
        }
    }
}
