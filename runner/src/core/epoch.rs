//! The epoch and the state of the links. An epoch ends when no server could be reached for `link_grace`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{Cause, Epoch};
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::clock;

/// The interval of the check.
const PERIOD: Duration = Duration::from_millis(100);

/// The state of the links.
#[derive(Debug)]
pub(crate) struct LinkClock(Mutex<Inner>);

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
}

impl LinkClock {
    pub(super) fn new(epoch: Epoch) -> Self {
        Self(Mutex::new(Inner {
            epoch,
            up: 0,
            heard_ms: None,
            graces: BTreeMap::new(),
            told: BTreeSet::new(),
        }))
    }

    /// Returns the current epoch of the runner.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    /// Records a link to a server that welcomed this epoch. Returns false if the epoch has ended meanwhile.
    pub(crate) fn link_up(&self, server: usize, epoch: Epoch, grace: Duration) -> bool {
        let mut inner = self.lock();
        if inner.epoch != epoch {
            return false;
        }
        inner.up += 1;
        inner.heard_ms = Some(clock::now_ms());
        inner.graces.insert(server, clock::millis(grace));
        true
    }

    /// Records that a server was heard.
    pub(crate) fn heard(&self) {
        self.lock().heard_ms = Some(clock::now_ms());
    }

    /// Records that a link has ended.
    pub(crate) fn link_down(&self) {
        let mut inner = self.lock();
        inner.up = inner.up.saturating_sub(1);
    }

    /// Reports whether a server is linked.
    pub(crate) fn is_linked(&self) -> bool {
        self.lock().up > 0
    }

    /// Begins a new epoch if no server was heard for the shortest `link_grace`.
    fn fence(&self, now_ms: u64) -> Option<Epoch> {
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

impl Core {
    /// Records that a server has read the reports about earlier epochs. After all servers have, the next start does not
    /// report again that the journal may be incomplete.
    pub(crate) fn server_told(&self, server: usize) {
        let told = {
            let mut inner = self.clock.lock();
            inner.told.insert(server);
            inner.told.len()
        };
        let mut journal = self.journal();
        if told < self.config.servers.len() || journal.intact() {
            return;
        }
        if let Err(error) = journal.told() {
            tracing::warn!(%error, "cannot write the journal");
        }
    }

    /// Waits for the end of `link_grace`. Then the epoch ends, and its jobs with it.
    pub(crate) async fn watch_links(self: Arc<Self>, cancel: CancellationToken) {
        while cancel.run_until_cancelled(tokio::time::sleep(PERIOD)).await.is_some() {
            let Some(epoch) = self.clock.fence(clock::now_ms()) else { continue };
            tracing::warn!(%epoch, "no server connected within `link_grace`; the jobs of the last epoch are \
                                    ended");
            if let Err(error) = self.journal().begin(epoch) {
                tracing::error!(%error, "new epoch not journaled");
            }
            self.end_all(&Cause::RunnerLost);
        }
    }
}
