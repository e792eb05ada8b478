//! The layers of rules, and the decision about a target.

use crate::{
    presets,
    refusal::{self, LayerName, Refusal, join},
    rules::Rules,
    target::Target,
};

/// The rules of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The origin.
    pub name: LayerName,
    /// The rules.
    pub rules: Rules,
}

/// Every layer that applies to an execution. Without a layer, everything is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layers(Vec<Layer>);

/// The decision about a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every layer allows the target, and no layer denies it.
    Allowed {
        /// The rule that allows the target: `any`, the entry, or `PRESET: ENTRY`. It ends in `/tcp` exactly if every layer
        /// allows a raw tunnel.
        rule: String,
    },
    /// A rule asks a person about the target. Every layer lets it through after a positive answer.
    Asked {
        /// The rule, such as `Network(example.com)`.
        rule: String,
        /// The verdict after a positive answer: `Allowed` or `Warned`.
        answered: Box<Self>,
    },
    /// No layer denies the target. At least one layer does not allow it, but only warns. All others allow it.
    Warned {
        /// The layers that do not allow the target, and the change after which they would.
        refusal: Refusal,
        /// Whether every layer permits a raw tunnel.
        raw: bool,
    },
    /// A layer denies the target, or does not allow it and does not only warn.
    Refused(Refusal),
}

impl Layers {
    /// Combines the layers. A refusal names the first layer that refuses.
    #[must_use]
    pub const fn new(layers: Vec<Layer>) -> Self {
        Self(layers)
    }

    /// Returns the layers with other rules of one origin. `None`: this origin has no rules. The other layers stay, so the
    /// result is never wider than they allow.
    #[must_use]
    pub fn replaced(&self, name: LayerName, rules: Option<Rules>) -> Self {
        let others = self.0.iter().filter(|layer| layer.name != name).cloned();
        let mut layers: Vec<Layer> = others.chain(rules.map(|rules| Layer { name, rules })).collect();
        layers.sort_by_key(|layer| layer.name);
        Self(layers)
    }

    /// Decides about a target. Every layer must allow it, or only warn. An entry that denies it in any layer wins.
    ///
    /// This does not decide about the address that a name resolves to: see [`crate::AddressGuard::check`].
    #[must_use]
    pub fn decide(&self, target: &Target) -> Verdict {
        self.judge(target, false)
    }

    /// Decides about a tunnel to a target that carries neither TLS nor HTTP. Every layer must allow it by an entry that
    /// ends in `/tcp`, or only warn.
    #[must_use]
    pub fn decide_raw(&self, target: &Target) -> Verdict {
        self.judge(target, true)
    }

    /// Returns the first layer that allows nothing, and the change after which every layer allows these presets. Without
    /// presets, the change names no host.
    #[must_use]
    pub fn closed(&self, presets: &[&str]) -> Option<(LayerName, String)> {
        let closed = self.without(|rules| !rules.allow_nothing());
        let layer = *closed.first()?;
        let entries = match presets {
            [] => "its hosts".to_owned(),
            presets => join(presets.iter().map(|preset| (*preset).to_owned()), "and"),
        };
        Some((layer, refusal::add(&entries, &closed)))
    }

    /// Returns the rule that asks a person about a target. It is not asked if the rules refuse the target.
    #[must_use]
    pub fn asks(&self, target: &Target) -> Option<String> {
        let entry = self.0.iter().find_map(|layer| layer.rules.asks(target))?;
        let written = entry.split_once(": ").map_or(entry, |(preset, _)| preset);
        Some(format!("Network({written})"))
    }

    fn judge(&self, target: &Target, raw: bool) -> Verdict {
        let verdict = self.after_answer(target, raw);
        match self.asks(target) {
            Some(rule) if !matches!(verdict, Verdict::Refused(_)) => {
                Verdict::Asked { rule, answered: Box::new(verdict) }
            }
            _ => verdict,
        }
    }

    /// Decides as if every question had a positive answer.
    fn after_answer(&self, target: &Target, raw: bool) -> Verdict {
        if let Some(refusal) = self.denied(target, target) {
            return Verdict::Refused(refusal);
        }
        let allowed = |rules: &Rules| rules.allows(target).is_some_and(|allowed| allowed.raw || !raw);
        let refusing = self.without(|rules| allowed(rules) || rules.warns(target));
        if !refusing.is_empty() {
            return Verdict::Refused(not_allowed(target, raw, &refusing));
        }
        let silent = self.without(allowed);
        let mut rules = self.0.iter().filter_map(|layer| layer.rules.allows(target));
        // The rule that allows the least decides about a raw tunnel.
        let least = rules.clone().find(|allowed| !allowed.raw);
        match least.or_else(|| rules.next()) {
            Some(allowed) if silent.is_empty() => Verdict::Allowed { rule: allowed.rule.to_owned() },
            _ => Verdict::Warned { refusal: not_allowed(target, raw, &silent), raw: least.is_none() },
        }
    }

    /// Returns the layers whose rules do not satisfy a condition. Without layers, this is the profile.
    pub(crate) fn without(&self, condition: impl Fn(&Rules) -> bool) -> Vec<LayerName> {
        match self.0.is_empty() {
            true => vec![LayerName::Profile],
            false => {
                let others = self.0.iter().filter(|layer| !condition(&layer.rules));
                others.map(|layer| layer.name).collect()
            }
        }
    }

    /// Returns the refusal of `target` if an entry denies `judged`: the target, or its host replaced by an address.
    pub(crate) fn denied(&self, judged: &Target, target: &Target) -> Option<Refusal> {
        let denials: Vec<(LayerName, &str)> = self
            .0
            .iter()
            .filter_map(|layer| layer.rules.denies(judged).map(|rule| (layer.name, rule)))
            .collect();
        let (layer, rule) = *denials.first()?;
        Some(Refusal {
            target: target.to_string(),
            address: None,
            rule: Some(rule.to_owned()),
            is_asked: false,
            layer,
            others: denials.iter().skip(1).map(|(layer, _)| *layer).collect(),
            remedy: refusal::remove(&denials),
        })
    }
}

fn not_allowed(target: &Target, raw: bool, silent: &[LayerName]) -> Refusal {
    let preset = presets::suggested(target, raw).map(|preset| preset.name().to_owned());
    let entry = if raw { target.raw_entry() } else { target.entry() };
    Refusal {
        target: target.to_string(),
        address: None,
        rule: None,
        is_asked: false,
        layer: silent.first().copied().unwrap_or(LayerName::Profile),
        others: silent.iter().skip(1).copied().collect(),
        remedy: refusal::add(&join(preset.into_iter().chain([entry]), "or"), silent),
    }
}

#[cfg(test)]
mod tests;
