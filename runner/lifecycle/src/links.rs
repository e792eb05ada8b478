//! The links of a runner to its servers, and the epoch that depends on them. An epoch ends when no server could be
//! reached for `link_grace`. The jobs of the epoch end with it.

use std::collections::{BTreeMap, BTreeSet};

use airlock_domain::Epoch;

/// The state of the links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Links {
    epoch: Epoch,
    up: usize,
    /// The time at which a server was last heard, on the runner's clock. `None`: not in this epoch.
    heard_ms: Option<u64>,
    /// The `link_grace` in milliseconds by the server's position in the configuration.
    graces: BTreeMap<usize, u64>,
    /// The servers that have received everything that this runner reports, by the same position.
    told: BTreeSet<usize>,
    /// The IDs of the servers with an open link.
    linked: Vec<String>,
}

/// Something that happened to a link. Times are on the runner's clock, in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEvent {
    /// A server welcomed this runner.
    Up {
        /// The server's position in the configuration.
        server: usize,
        /// The server's ID.
        server_id: String,
        /// The epoch that it welcomed.
        epoch: Epoch,
        /// The time for which jobs continue while no server can be reached.
        grace_ms: u64,
        /// The current time.
        now_ms: u64,
    },
    /// A server was heard.
    Heard {
        /// The current time.
        now_ms: u64,
    },
    /// A link has ended.
    Down {
        /// The server's ID.
        server_id: String,
    },
    /// A server has read the reports about earlier epochs.
    Told {
        /// The server's position in the configuration.
        server: usize,
    },
    /// Time has passed.
    Tick {
        /// The current time.
        now_ms: u64,
        /// The epoch to begin if this one has ended.
        next: Epoch,
    },
}

/// Something that the runner does for the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkEffect {
    /// Closes the new link: the epoch that its server welcomed has ended.
    Close,
    /// Begins this epoch. The jobs of the last one end.
    BeginEpoch(Epoch),
}

impl Links {
    /// Creates the state without links.
    #[must_use]
    pub fn new(epoch: Epoch) -> Self {
        Self {
            epoch,
            up: 0,
            heard_ms: None,
            graces: BTreeMap::new(),
            told: BTreeSet::new(),
            linked: Vec::new(),
        }
    }

    /// Returns the current epoch.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Reports whether a server is linked.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.up > 0
    }

    /// Reports whether the server with this ID is linked.
    #[must_use]
    pub fn is_linked_to(&self, server_id: &str) -> bool {
        self.linked.iter().any(|linked| linked == server_id)
    }

    /// Returns the number of servers that have read the reports about earlier epochs.
    #[must_use]
    pub fn told_count(&self) -> usize {
        self.told.len()
    }

    /// Takes one event. Returns the next state, and the effect to perform.
    #[must_use]
    pub fn step(mut self, event: LinkEvent) -> (Self, Option<LinkEffect>) {
        let effect = self.take(event);
        (self, effect)
    }

    fn take(&mut self, event: LinkEvent) -> Option<LinkEffect> {
        match event {
            LinkEvent::Up { epoch, .. } if epoch != self.epoch => return Some(LinkEffect::Close),
            LinkEvent::Up { server, server_id, grace_ms, now_ms, .. } => {
                self.up += 1;
                self.heard_ms = Some(now_ms);
                self.graces.insert(server, grace_ms);
                self.linked.push(server_id);
            }
            LinkEvent::Heard { now_ms } => self.heard_ms = Some(now_ms),
            LinkEvent::Down { server_id } => {
                self.up = self.up.saturating_sub(1);
                if let Some(at) = self.linked.iter().position(|linked| *linked == server_id) {
                    self.linked.swap_remove(at);
                }
            }
            LinkEvent::Told { server } => {
                self.told.insert(server);
            }
            LinkEvent::Tick { now_ms, next } if self.is_over(now_ms) => {
                self.heard_ms = None;
                self.epoch = next;
                return Some(LinkEffect::BeginEpoch(next));
            }
            LinkEvent::Tick { .. } => {}
        }
        None
    }

    /// Reports whether no server was heard for the shortest `link_grace`.
    fn is_over(&self, now_ms: u64) -> bool {
        let (Some(grace), Some(heard)) = (self.graces.values().min(), self.heard_ms) else { return false };
        self.up == 0 && now_ms.saturating_sub(heard) >= *grace
    }
}

#[cfg(test)]
mod tests;
