//! The key `network` of a profile, for warnings. Servers check the key and report its problems; here a wrong entry only
//! means that the rules are not known.

use airlock_network::{Layer, LayerName, Layers, Rules};
use serde::{Deserialize, de::IgnoredAny};

/// The value of the key in a file.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Given {
    /// Hosts that commands can reach.
    Rules(Network),
    /// `"none"`, or a wrong value.
    Other(IgnoredAny),
}

/// The network rules of a profile.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Network {
    #[serde(default)]
    any: bool,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

impl Network {
    /// Replaces the allowed hosts of the parent. Denied hosts of the parent stay denied.
    pub(super) fn apply(&mut self, given: Option<Given>) {
        let Some(given) = given else { return };
        let own = match given {
            Given::Rules(rules) => rules,
            Given::Other(_) => Self::default(),
        };
        (self.any, self.allow) = (own.any, own.allow);
        self.deny.extend(own.deny);
    }

    /// Returns the layer of the profile, or `None` if an entry is wrong.
    pub(super) fn layers(&self) -> Option<Layers> {
        let rules = Rules::parse(self.any, &self.allow, &self.deny).ok()?;
        Some(Layers::new(vec![Layer { name: LayerName::Profile, rules }]))
    }
}
