//! The smallest list that would have let the connections of an execution through.

use std::collections::BTreeSet;

use crate::{
    address::AddressKind,
    host::Host,
    names,
    presets::{Preset, presets},
    refusal::LayerName,
    rules::entry::Entry,
    target::{Target, WEB_PORTS},
};

/// A connection of an execution, as its result lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// The name or address that the command asked for.
    pub host: String,
    /// The port. 0: the target was invalid.
    pub port: u16,
    /// Whether it was refused.
    pub refused: bool,
    /// The entry that allowed or denied it. Empty if no entry matches.
    pub rule: String,
    /// The layers that refused it, or that warned about it.
    pub layers: Vec<LayerName>,
    /// The kind of the address that was refused. Empty if the host itself was not allowed.
    pub address_kind: String,
    /// The remedy for a refusal.
    pub reason: String,
}

/// A proposal for `allow` of a profile's network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The presets, and then the other hosts in the order of their names.
    pub allow: Vec<String>,
    /// The connections that need another change, each once.
    pub others: Vec<OtherChange>,
}

/// A connection that a list of the profile alone does not let through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherChange {
    /// The host and the port.
    pub target: String,
    /// The reason, in one line.
    pub reason: String,
}

/// Proposes the smallest list. It contains a preset if the connections use each of its hosts. An internal address, and a
/// host that the floor or a `deny` list refuses, is not in the list.
#[must_use]
pub fn suggest(connections: &[Used]) -> Suggestion {
    let mut needed = BTreeSet::new();
    let mut others = BTreeSet::new();
    // A connection that a person allowed needs no entry.
    for used in connections.iter().filter(|used| used.refused || !used.rule.starts_with("Network(")) {
        let text = format!("{}:{}", used.host, used.port);
        let judged = match Target::parse(&text) {
            Ok(target) => judge(used, &target).map(|also| (target, also)),
            Err(error) => Err(format!("it is not a valid target: {error}")),
        };
        let reason = match judged {
            Ok((target, also)) => {
                needed.insert(Needed { raw: is_raw(used, &target), target });
                also
            }
            Err(reason) => Some(reason),
        };
        others.extend(reason.map(|reason| OtherChange { target: text, reason }));
    }
    Suggestion { allow: smallest(&needed), others: others.into_iter().collect() }
}

/// A target of the list, and whether it needs a raw tunnel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Needed {
    target: Target,
    raw: bool,
}

/// Returns the further change that a target of the list needs.
///
/// # Errors
/// Returns the reason why the target is not in the list.
fn judge(used: &Used, target: &Target) -> Result<Option<String>, String> {
    if !used.refused {
        return Ok(None);
    }
    let Used { rule, layers, address_kind, reason, .. } = used;
    let Some(first) = layers.first() else {
        return Ok(Some(format!("the rules allow it, but not this use; {reason}")));
    };
    if !rule.is_empty() {
        let verb = if rule.starts_with("Network(") { "asks about" } else { "denies" };
        return Err(format!("`{rule}` of the {first} {verb} it; {reason}"));
    }
    if !address_kind.is_empty() {
        return Err(format!("it is at an internal address ({address_kind}); {reason}"));
    }
    match &target.host {
        Host::Address(address) if AddressKind::of(*address) != AddressKind::Public => {
            return Err(format!("it is an internal address ({}); {reason}", AddressKind::of(*address)));
        }
        Host::Name(name) if names::is_private(name) => {
            return Err(format!("it is a name of a local network; {reason}"));
        }
        _ => {}
    }
    if layers.contains(&LayerName::Floor) {
        return Err(format!("the floor of the runner refuses it; {reason}"));
    }
    let narrowed = layers.iter().find(|layer| **layer != LayerName::Profile);
    Ok(narrowed.map(|layer| format!("the {layer} refuses it, too; {reason}")))
}

/// A connection that an entry for raw tunnels allowed may be one. Otherwise, the port decides.
fn is_raw(used: &Used, target: &Target) -> bool {
    used.rule.ends_with("/tcp") || target.entry() == target.raw_entry()
}

/// Returns the presets of which every host is needed, and entries for the rest.
fn smallest(needed: &BTreeSet<Needed>) -> Vec<String> {
    let is_raw_too = |one: &Needed| !one.raw && needed.contains(&Needed { raw: true, ..one.clone() });
    let mut rest: BTreeSet<&Needed> = needed.iter().filter(|one| !is_raw_too(one)).collect();
    let mut allow = Vec::new();
    for preset in presets().iter().filter(|preset| is_exact(preset, needed)) {
        let before = rest.len();
        rest.retain(|one| !preset.entries().iter().any(|entry| one.is_allowed_by(entry)));
        if rest.len() < before {
            allow.push(preset.name().to_owned());
        }
    }
    let entries: BTreeSet<String> = rest.iter().map(|one| one.entry(&rest)).collect();
    allow.extend(entries);
    allow
}

fn is_exact(preset: &Preset, needed: &BTreeSet<Needed>) -> bool {
    let mut entries = preset.entries().iter();
    entries.all(|entry| entry.is_one_host() && needed.iter().any(|one| one.is_allowed_by(entry)))
}

impl Needed {
    fn is_allowed_by(&self, entry: &Entry) -> bool {
        entry.allows(&self.target) && entry.is_raw() == self.raw
    }

    /// Returns the entry that allows only this target, or this host with both ports of the web if all of them are needed.
    fn entry(&self, all: &BTreeSet<&Self>) -> String {
        let Self { target, raw } = self;
        let with = |port| Self { target: Target { port, ..target.clone() }, raw: false };
        match raw {
            true => target.raw_entry(),
            false if WEB_PORTS.iter().all(|port| all.contains(&with(*port))) => target.entry(),
            false => target.to_string(),
        }
    }
}

#[cfg(test)]
mod tests;
