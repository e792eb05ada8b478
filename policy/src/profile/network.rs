//! The key `network` of a profile, for warnings. Servers check the key and report its problems; here a wrong entry only
//! means that the rules are not known.

use airlock_network::{Layer, LayerName, Layers, Rules};
use serde::{Deserialize, de::IgnoredAny};

use crate::rules::{Rule, Rules as PolicyRules};

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
    #[serde(default)]
    warn: bool,
    /// The profile has no network, whatever its rules allow.
    #[serde(skip)]
    is_off: bool,
}

impl Network {
    /// Replaces the allowed hosts and `warn` of the parent. Denied hosts of the parent stay denied.
    pub(super) fn apply(&mut self, given: Option<Given>) {
        let Some(given) = given else { return };
        let own = match given {
            Given::Rules(rules) => rules,
            Given::Other(_) => Self { is_off: true, ..Self::default() },
        };
        self.is_off = own.is_off;
        (self.any, self.allow, self.warn) = (own.any, own.allow, own.warn);
        self.deny.extend(own.deny);
    }

    /// Returns the layer of the profile with its `Network` rules, or `None` if an entry is wrong.
    pub(super) fn layers(&self, own: &PolicyRules) -> Option<Layers> {
        let with = |list: &[String], rules: &[Rule]| {
            let hosts = PolicyRules::hosts(rules).map(str::to_owned);
            list.iter().cloned().chain(hosts).collect::<Vec<_>>()
        };
        let rules = if self.is_off {
            Rules::parse(false, &[], &with(&self.deny, &own.deny)).ok()?
        } else {
            let (allow, deny) = (with(&self.allow, &own.allow), with(&self.deny, &own.deny));
            Rules::parse(self.any, &allow, &deny).and_then(|rules| rules.asking(&with(&[], &own.ask))).ok()?
        };
        let rules = rules.warning(self.warn);
        Some(Layers::new(vec![Layer { name: LayerName::Profile, rules }]))
    }
}
