//! Cases of network rules.

use airlock_domain::limits;
use airlock_proto::v1;

use super::{Case, ID, case, long, one};

const CREATE: &str = "/airlock.v1.SessionService/Create";
const UPDATE: &str = "/airlock.v1.SessionService/Update";

pub(super) fn rules(allow: &[&str], deny: &[&str]) -> v1::NetworkRules {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    v1::NetworkRules { allow: owned(allow), deny: owned(deny), ..Default::default() }
}

/// Returns network rules with one wrong entry, with its field and a part of the message.
fn wrong() -> Vec<(&'static str, &'static str, v1::NetworkRules)> {
    let entries = ["*", "", "a b", "a\nb", "a\0b", "-a.example:443", "a.example:0", "10.0.0.0/33"];
    let bad = entries.map(|entry| {
        let said = if entry == "*" { "`any`" } else { "" };
        [
            ("spec.network.allow", said, rules(&["pypi", entry], &[])),
            ("spec.network.deny", "", rules(&[], &[entry])),
        ]
    });
    let asks = v1::NetworkRules { ask: vec!["a.example".to_owned()], ..rules(&["pypi"], &[]) };
    bad.into_iter().flatten().chain([("spec.network.ask", "only valid in a profile", asks)]).collect()
}

/// Returns the specifications of commands with invalid network rules.
pub(super) fn specs() -> Vec<(&'static str, &'static str, v1::ExecutionSpec)> {
    let with = |network| one(|spec| spec.network = Some(network));
    let mut bad: Vec<_> =
        wrong().into_iter().map(|(field, said, rules)| (field, said, with(rules))).collect();
    for (said, rules) in [
        ("at most 256", rules(&["a.example"; limits::NETWORK_ENTRIES + 1], &[])),
        ("at most 16384", rules(&[], &[&long(limits::NETWORK_BYTES + 1)])),
        ("has no network", rules(&["a.example"], &[])),
    ] {
        bad.push(("spec.network", said, with(rules)));
    }
    let outside = one(|spec| {
        (spec.network, spec.dangerously_disable_sandbox) = (Some(rules(&[], &[])), true);
    });
    bad.push(("spec.network", "not valid with `dangerously_disable_sandbox`", outside));
    bad
}

/// Returns the requests of sessions with invalid network rules.
pub(super) fn sessions() -> Vec<Case> {
    let mut cases = Vec::new();
    for (field, said, rules) in wrong() {
        let field = field.trim_start_matches("spec.");
        let network = Some(rules);
        let create = v1::SessionServiceCreateRequest { network: network.clone(), ..Default::default() };
        cases.push(case(CREATE, field, said, &create));
        let update =
            v1::SessionServiceUpdateRequest { session_id: ID.to_owned(), network, ..Default::default() };
        cases.push(case(UPDATE, field, said, &update));
    }
    let network = Some(rules(&["a.example"], &[]));
    let create = v1::SessionServiceCreateRequest { network, ..Default::default() };
    cases.push(case(CREATE, "network", "has no network", &create));
    cases
}
