//! Notifications that an execution has changed, or that something happened in a tenant. They are hints
//! only: the receiver reads the current state from the store.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use airlock_domain::ExecutionId;
use tokio::sync::watch;

/// The notifiers of executions and tenants. An entry exists only while a watch on it exists.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    executions: Notifiers<ExecutionId>,
    tenants: Notifiers<String>,
}

/// A watch on one execution.
pub type ChangeWatch = Watch<ExecutionId>;
/// A watch on the starts, moves to the background and ends of a tenant's executions.
pub type TenantWatch = Watch<String>;

/// One notifier per watched key.
#[derive(Debug)]
struct Notifiers<K> {
    senders: Arc<Mutex<HashMap<K, Weak<watch::Sender<u64>>>>>,
}

/// A subscription to one notifier.
#[derive(Debug)]
pub struct Watch<K: Eq + Hash> {
    sender: Option<Arc<watch::Sender<u64>>>,
    receiver: watch::Receiver<u64>,
    key: K,
    notifiers: Notifiers<K>,
}

impl Changes {
    /// Creates a watch that sees every change of an execution from now on.
    #[must_use]
    pub fn watch(&self, id: ExecutionId) -> ChangeWatch {
        self.executions.watch(id)
    }

    /// Notifies every watch on `id`.
    pub fn notify(&self, id: ExecutionId) {
        self.executions.notify(&id);
    }

    /// Creates a watch that sees every event in a tenant from now on.
    #[must_use]
    pub fn watch_tenant(&self, tenant: &str) -> TenantWatch {
        self.tenants.watch(tenant.to_owned())
    }

    /// Notifies every watch on a tenant.
    pub fn notify_tenant(&self, tenant: &str) {
        self.tenants.notify(tenant);
    }
}

impl<K> Default for Notifiers<K> {
    fn default() -> Self {
        Self { senders: Arc::default() }
    }
}

impl<K> Clone for Notifiers<K> {
    fn clone(&self) -> Self {
        Self { senders: Arc::clone(&self.senders) }
    }
}

impl<K: Eq + Hash + Clone> Notifiers<K> {
    fn watch(&self, key: K) -> Watch<K> {
        let mut senders = self.lock();
        let sender = senders.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let sender = Arc::new(watch::Sender::new(0));
            senders.insert(key.clone(), Arc::downgrade(&sender));
            sender
        });
        drop(senders);
        let receiver = sender.subscribe();
        Watch { sender: Some(sender), receiver, key, notifiers: self.clone() }
    }
}

impl<K: Eq + Hash> Notifiers<K> {
    fn notify<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let sender = self.lock().get(key).and_then(Weak::upgrade);
        if let Some(sender) = sender {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<K, Weak<watch::Sender<u64>>>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Watch<K> {
    /// Waits for the next change since the last call. Cancel-safe. Callers must add a timeout: a hint
    /// of another server can be lost.
    pub async fn changed(&mut self) {
        // The watch holds the sender, so this cannot fail.
        let _ = self.receiver.changed().await;
    }
}

impl<K: Eq + Hash> Drop for Watch<K> {
    fn drop(&mut self) {
        let mut senders = self.notifiers.lock();
        drop(self.sender.take());
        if senders.get(&self.key).is_some_and(|weak| weak.strong_count() == 0) {
            senders.remove(&self.key);
        }
    }
}
