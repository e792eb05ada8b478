//! The layers of one execution, of which the session's can be replaced while the execution runs.
//!
//! This module must replace only the layer of the session. The layers of the profile, the request and the floor stay, so
//! a change never allows more than they do.

use std::sync::{Arc, Mutex, PoisonError};

use airlock_domain::NetworkRules;
use airlock_network::{LayerName, Layers, Rules};
use tokio::sync::watch;

/// The layers of one execution.
#[derive(Debug)]
pub(crate) struct LiveLayers {
    layers: watch::Sender<Arc<Layers>>,
    /// The version of the session at the last change.
    version: Mutex<u64>,
}

impl LiveLayers {
    /// Starts with the layers of the grant and the floor.
    pub(crate) fn new(layers: Layers) -> Self {
        Self { layers: watch::Sender::new(Arc::new(layers)), version: Mutex::new(0) }
    }

    /// Replaces the session's rules, unless a later version of the session was applied before. Messages of several
    /// servers can arrive in any order.
    pub(crate) fn set_session(&self, version: u64, rules: Option<Rules>) {
        let mut last = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        if version < *last {
            return;
        }
        *last = version;
        self.layers.send_if_modified(|layers| {
            let next = layers.replaced(LayerName::Session, rules);
            let changes = **layers != next;
            if changes {
                *layers = Arc::new(next);
            }
            changes
        });
    }

    /// Returns a receiver of the layers and of their changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Layers>> {
        self.layers.subscribe()
    }
}

/// Reads the new rules of a session. Rules that this version cannot read allow nothing: a change that narrows must not be
/// lost.
pub(crate) fn session_rules(NetworkRules { any, allow, deny, warn, ask }: &NetworkRules) -> Rules {
    let parsed = Rules::parse(*any, allow, deny).and_then(|rules| rules.asking(ask));
    parsed.map(|rules| rules.warning(*warn)).unwrap_or_else(|errors| {
        let error = errors.first().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(
            error,
            "the session's new network rules cannot be read; its running commands have no network"
        );
        Rules::default()
    })
}

#[cfg(test)]
mod tests {
    use airlock_network::{Layer, Target, Verdict};

    use super::*;

    fn rules(allow: &[&str]) -> NetworkRules {
        let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
        NetworkRules { allow, ..NetworkRules::default() }
    }

    fn live() -> LiveLayers {
        let rules = session_rules(&rules(&["a.example"]));
        LiveLayers::new(Layers::new(vec![Layer { name: LayerName::Profile, rules }]))
    }

    fn allows(live: &LiveLayers, target: &str) -> bool {
        let verdict = live.subscribe().borrow().decide(&Target::parse(target).unwrap());
        matches!(verdict, Verdict::Allowed { .. })
    }

    #[test]
    fn an_older_change_that_arrives_late_is_ignored() {
        let live = live();
        assert!(allows(&live, "a.example:443"));
        live.set_session(2, Some(session_rules(&rules(&[]))));
        live.set_session(1, None);
        assert!(!allows(&live, "a.example:443"));
        live.set_session(3, None);
        assert!(allows(&live, "a.example:443"));
    }

    #[test]
    fn rules_that_cannot_be_read_allow_nothing() {
        let live = live();
        live.set_session(1, Some(session_rules(&rules(&["a.example", "*"]))));
        assert!(!allows(&live, "a.example:443"));
        live.set_session(2, Some(session_rules(&rules(&["a.example"]))));
        assert!(allows(&live, "a.example:443"), "the control");
    }
}
