//! The state of the links, and the epoch that depends on it. The loop around the machine of
//! `airlock_runner_lifecycle::links`.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::Epoch;
use airlock_runner_lifecycle::links::{LinkEffect, LinkEvent, Links};

use crate::clock;

/// The state of the links.
#[derive(Debug)]
pub(crate) struct LinkState(Mutex<Links>);

impl LinkState {
    pub(super) fn new(epoch: Epoch) -> Self {
        Self(Mutex::new(Links::new(epoch)))
    }

    /// Returns the current epoch of the runner.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lock().epoch()
    }

    /// Records a link to a server that welcomed this epoch. Returns false if the epoch has ended meanwhile.
    pub(crate) fn link_up(&self, server: usize, server_id: &str, epoch: Epoch, grace: Duration) -> bool {
        let (server_id, grace_ms, now_ms) = (server_id.to_owned(), clock::millis(grace), clock::now_ms());
        let effect = self.step(LinkEvent::Up { server, server_id, epoch, grace_ms, now_ms });
        effect != Some(LinkEffect::Close)
    }

    /// Records that a server was heard.
    pub(crate) fn heard(&self) {
        self.step(LinkEvent::Heard { now_ms: clock::now_ms() });
    }

    /// Records that the link to a server has ended.
    pub(crate) fn link_down(&self, server_id: &str) {
        self.step(LinkEvent::Down { server_id: server_id.to_owned() });
    }

    /// Reports whether a server is linked.
    pub(crate) fn is_linked(&self) -> bool {
        self.lock().is_linked()
    }

    /// Reports whether the server with this ID is linked.
    pub(crate) fn is_linked_to(&self, server_id: &str) -> bool {
        self.lock().is_linked_to(server_id)
    }

    /// Records that a server has read the reports about earlier epochs. Returns the number of such servers.
    pub(crate) fn server_told(&self, server: usize) -> usize {
        self.step(LinkEvent::Told { server });
        self.lock().told_count()
    }

    /// Begins a new epoch if no server was heard for the shortest `link_grace`.
    pub(crate) fn fence(&self, now_ms: u64) -> Option<Epoch> {
        match self.step(LinkEvent::Tick { now_ms, next: Epoch::new() }) {
            Some(LinkEffect::BeginEpoch(epoch)) => Some(epoch),
            Some(LinkEffect::Close) | None => None,
        }
    }

    fn step(&self, event: LinkEvent) -> Option<LinkEffect> {
        let mut links = self.lock();
        // No caller sees the placeholder, because the lock is held until the next state is set.
        let placeholder = Links::new(links.epoch());
        let (next, effect) = mem::replace(&mut *links, placeholder).step(event);
        *links = next;
        effect
    }

    fn lock(&self) -> MutexGuard<'_, Links> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
