//! The state of the links, and the epoch that depends on it. An epoch ends when no server could be reached for
//! `link_grace`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::Epoch;

use crate::clock;

/// The state of the links.
#[derive(Debug)]
pub(crate) struct LinkState(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: Epoch,
    up: usize,
    /// When a server was last heard, on the runner's clock. `None`: not in this epoch.
    heard_ms: Option<u64>,
    /// The `link_grace` in milliseconds by the server's position in the configuration.
    graces: BTreeMap<usize, u64>,
    /// The servers that have received everything that this runner reports, by the same position.
    told: BTreeSet<usize>,
    /// The IDs of the servers with an open link.
    linked: Vec<String>,
}

impl LinkState {
    pub(super) fn new(epoch: Epoch) -> Self {
        Self(Mutex::new(Inner {
            epoch,
            up: 0,
            heard_ms: None,
            graces: BTreeMap::new(),
            told: BTreeSet::new(),
            linked: Vec::new(),
        }))
    }

    /// Returns the current epoch of the runner.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    /// Records a link to a server that welcomed this epoch. Returns false if the epoch has ended meanwhile.
    pub(crate) fn link_up(&self, server: usize, server_id: &str, epoch: Epoch, grace: Duration) -> bool {
        let mut inner = self.lock();
        if inner.epoch != epoch {
            return false;
        }
        inner.up += 1;
        inner.heard_ms = Some(clock::now_ms());
        inner.graces.insert(server, clock::millis(grace));
        inner.linked.push(server_id.to_owned());
        true
    }

    /// Records that a server was heard.
    pub(crate) fn heard(&self) {
        self.lock().heard_ms = Some(clock::now_ms());
    }

    /// Records that the link to a server has ended.
    pub(crate) fn link_down(&self, server_id: &str) {
        let mut inner = self.lock();
        inner.up = inner.up.saturating_sub(1);
        if let Some(at) = inner.linked.iter().position(|linked| linked == server_id) {
            inner.linked.swap_remove(at);
        }
    }

    /// Reports whether a server is linked.
    pub(crate) fn is_linked(&self) -> bool {
        self.lock().up > 0
    }

    /// Reports whether the server with this ID is linked.
    pub(crate) fn is_linked_to(&self, server_id: &str) -> bool {
        self.lock().linked.iter().any(|linked| linked == server_id)
    }

    /// Records that a server has read the reports about earlier epochs. Returns the number of such servers.
    pub(crate) fn server_told(&self, server: usize) -> usize {
        let mut inner = self.lock();
        inner.told.insert(server);
        inner.told.len()
    }

    /// Begins a new epoch if no server was heard for the shortest `link_grace`.
    pub(crate) fn fence(&self, now_ms: u64) -> Option<Epoch> {
        let mut inner = self.lock();
        let grace = inner.graces.values().min().copied()?;
        let heard = inner.heard_ms?;
        if inner.up > 0 || now_ms.saturating_sub(heard) < grace {
            return None;
        }
        inner.heard_ms = None;
        inner.epoch = Epoch::new();
        Some(inner.epoch)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
