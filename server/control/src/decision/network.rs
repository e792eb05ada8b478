//! The network rules of a grant.

use std::{iter, time::Duration};

use airlock_domain::{
    ConnectionQuestions, Mode, NetworkRules,
    limits::{NETWORK_BYTES, NETWORK_ENTRIES},
};
use airlock_network::{Layer, LayerName, Layers, Target};
use airlock_policy::{Decision, Rule, Verdict};

use crate::{
    api::FieldViolation,
    profiles::{ProfileNetwork, ResolvedProfile, parsed_network},
    shared::violation,
};

/// Returns whether a command may use the network that its profile, session and request allow.
///
/// A read-only command gets none, because its proof does not cover what another host does. In the mode `plan`, only
/// read-only commands run; an approval does not change that. Outside the sandbox, the proxy does not confine a command.
pub(super) fn is_permitted(decision: &Decision, unsandboxed: bool, mode: Mode) -> bool {
    !decision.read_only && !unsandboxed && mode != Mode::Plan
}

/// Returns the layers of a grant. Without layers, the command has no network.
pub(super) fn layers(
    profile: &NetworkRules,
    session: Option<&NetworkRules>,
    request: Option<&NetworkRules>,
) -> Vec<NetworkRules> {
    let layers: Vec<&NetworkRules> = iter::once(profile).chain(session).chain(request).collect();
    // A connection needs every layer.
    if layers.iter().any(|rules| rules.allow_nothing()) {
        return Vec::new();
    }
    layers.into_iter().cloned().collect()
}

/// Returns the questions of a grant about connections. A positive answer to a command covers the hosts that its text
/// names and that a rule asks about.
pub(super) fn questions(
    profile: &ResolvedProfile,
    decision: &Decision,
    waits: bool,
    egress: &[NetworkRules],
) -> ConnectionQuestions {
    if egress.iter().all(|rules| rules.ask.is_empty()) {
        return ConnectionQuestions::default();
    }
    let rules: Vec<_> = profile.policy.rules().ask.iter().filter_map(Rule::hosts).collect();
    let asks = |host: &str| {
        Target::parse(host).is_ok_and(|target| rules.iter().any(|pattern| pattern.matches(&target)))
    };
    let named = decision.network.iter().flat_map(|used| &used.hosts);
    // Without a question about the command, nobody has answered for its hosts.
    let asked = named.filter(|host| decision.verdict == Verdict::Ask && asks(host));
    let mut answered: Vec<String> = asked.cloned().collect();
    answered.sort_unstable();
    answered.dedup();
    // A host that is left out is asked about when the command connects to it.
    let mut bytes = 0;
    answered.truncate(NETWORK_ENTRIES);
    answered.retain(|host| {
        bytes += host.len();
        bytes <= NETWORK_BYTES
    });
    let wait = if waits { profile.connection_wait } else { Duration::ZERO };
    ConnectionQuestions { answered, wait }
}

/// Returns the rules of a command for the policy's warnings, or `None` if an entry is wrong.
pub(crate) fn known(
    profile: &ProfileNetwork,
    session: Option<&NetworkRules>,
    request: Option<&NetworkRules>,
) -> Option<Layers> {
    let mut layers = vec![Layer { name: LayerName::Profile, rules: profile.parsed()?.clone() }];
    for (name, rules) in [(LayerName::Session, session), (LayerName::Request, request)] {
        if let Some(rules) = rules {
            layers.push(Layer { name, rules: parsed_network(rules)? });
        }
    }
    Some(Layers::new(layers))
}

/// Returns a violation if the rules in `field` allow hosts, although the profile or the session allows none.
pub(crate) fn refused(
    field: &str,
    rules: Option<&NetworkRules>,
    profile: &ResolvedProfile,
    session: Option<&NetworkRules>,
) -> Option<FieldViolation> {
    rules.filter(|rules| !rules.allow_nothing())?;
    if profile.network.allow_nothing() {
        let name = profile.name();
        let message = format!("profile `{name}` has no network; use a profile that has one, or remove it");
        return Some(violation(field, message));
    }
    session.filter(|session| session.allow_nothing())?;
    let message = "the session's `network` allows nothing; update the session, or remove it".to_owned();
    Some(violation(field, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(allow: &str) -> NetworkRules {
        NetworkRules { allow: vec![allow.to_owned()], ..NetworkRules::default() }
    }

    #[test]
    fn a_layer_that_allows_nothing_leaves_no_network() {
        let (profile, session, request) = (only("a"), only("b"), only("c"));
        let none = NetworkRules { deny: vec!["d".to_owned()], ..NetworkRules::default() };
        assert_eq!(layers(&profile, None, None), std::slice::from_ref(&profile));
        assert_eq!(
            layers(&profile, Some(&session), Some(&request)),
            [profile.clone(), session.clone(), request.clone()]
        );
        for (profile, session, request) in [
            (&none, Some(&session), Some(&request)),
            (&profile, Some(&none), None),
            (&profile, None, Some(&none)),
        ] {
            assert_eq!(layers(profile, session, request), []);
        }
        let any = NetworkRules { any: true, ..NetworkRules::default() };
        assert_eq!(layers(&any, None, None), [any]);
        let warns = NetworkRules { warn: true, ..NetworkRules::default() };
        assert_eq!(layers(&warns, None, None), [warns]);
    }
}
