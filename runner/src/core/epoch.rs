//! The epoch and the links: whether any server can be reached, since when none can, and the end of an
//! epoch once that has lasted for `link_grace`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_proto::domain::{Cause, Epoch};
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::clock;

/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// What is known of the links.
#[derive(Debug)]
pub(crate) struct LinkClock(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    epoch: Epoch,
    up: usize,
    /// When a server was last heard, on the runner's clock. None: not in this epoch.
    heard_ms: Option<u64>,
    /// By the server's place in the configuration, in milliseconds.
    graces: BTreeMap<usize, u64>,
    /// The servers that know everything that this runner knows, by the same place.
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

    /// This life of the runner, as far as servers are concerned.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    /// A server has said Welcome to this epoch. False if the epoch has ended meanwhile.
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

    /// A server was heard.
    pub(crate) fn heard(&self) {
        self.lock().heard_ms = Some(clock::now_ms());
    }

    /// A link that was up is gone.
    pub(crate) fn link_down(&self) {
        let mut inner = self.lock();
        inner.up = inner.up.saturating_sub(1);
    }

    /// Whether any server can be reached.
    pub(crate) fn is_linked(&self) -> bool {
        self.lock().up > 0
    }

    /// A new epoch, if no server was heard for the shortest grace of any.
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
    /// A server has certainly read what this runner could say of earlier epochs. Once all have, the next
    /// start need not say again what the journal cannot vouch for.
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
            tracing::warn!(%error, "the journal was not written");
        }
    }

    /// Watches for the end of `link_grace`: then the epoch ends, and with it its jobs.
    pub(crate) async fn watch_links(self: Arc<Self>, cancel: CancellationToken) {
        while cancel.run_until_cancelled(tokio::time::sleep(PERIOD)).await.is_some() {
            let Some(epoch) = self.clock.fence(clock::now_ms()) else { continue };
            tracing::warn!(%epoch, "no server was heard for `link_grace`; the jobs of the last epoch are ended");
            if let Err(error) = self.journal().begin(epoch) {
                tracing::error!(%error, "a new epoch stands in memory only");
            }
            self.end_all(&Cause::RunnerLost);
        }
    }
}
