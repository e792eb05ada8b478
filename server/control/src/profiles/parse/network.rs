//! Applies the network rules of a profile file to the inherited ones.

use airlock_config::{OrNone, Problem};
use airlock_domain::{Inspection, NetworkRules};
use airlock_network::{RequestRule, RequestRuleError, Rules};

use airlock_policy::{Rule, Rules as PolicyRules};

use super::{confine::extend, keys::Network, names::is_secret, problem::problem};
use crate::profiles::resolve::OwnNetwork;

/// The key of the rules.
const KEY: &str = "network";

/// Checks the entries of a file.
pub(in crate::profiles) fn check(given: Option<&OrNone<Network>>, problems: &mut Vec<Problem>) {
    let Some(OrNone(Some(Network { any, allow, deny, inspect, secrets, warn: _ }))) = given else { return };
    if let Err(errors) = Rules::parse(*any, allow, deny) {
        problems.extend(errors.iter().map(|error| {
            let (what, cure) = error.problem_and_remedy();
            problem(&error.path(KEY), what.to_owned(), cure)
        }));
    }
    for (index, entry) in inspect.iter().enumerate() {
        problems.extend(wrong_rule("inspect", index, RequestRule::parse(entry)));
    }
    for (index, entry) in secrets.iter().enumerate() {
        let (name, requests) = entry.split_once(' ').unwrap_or((entry, ""));
        if !is_secret(name) {
            let what = format!("`{}` does not begin with the name of a secret", entry.escape_debug());
            let cure = "write `NAME`, or `NAME [METHODS] HOST[/PATH]`";
            problems.push(problem(&format!("{KEY}.secrets[{index}]"), what, cure));
        } else if !requests.is_empty() {
            problems.extend(wrong_rule("secrets", index, RequestRule::parse(requests)));
        }
    }
}

fn wrong_rule(list: &str, index: usize, parsed: Result<RequestRule, RequestRuleError>) -> Option<Problem> {
    let (what, cure) = parsed.err()?.problem_and_remedy();
    Some(problem(&format!("{KEY}.{list}[{index}]"), what, &cure))
}

/// Replaces the allowed hosts of the parent if the file has the key. Denied hosts of the parent stay denied, and
/// inspected hosts stay inspected. Secrets and `warn` are replaced like allowed hosts.
pub(super) fn apply(given: Option<&OrNone<Network>>, own: &mut OwnNetwork, inspection: &mut Inspection) {
    let Some(OrNone(given)) = given else { return };
    own.is_off = given.is_none();
    let network = &mut own.rules;
    let none = Network::default();
    let Network { any, allow, deny, inspect, secrets, warn } = given.as_ref().unwrap_or(&none);
    network.any = *any;
    network.warn = *warn;
    network.allow.clear();
    extend(&mut network.allow, allow);
    extend(&mut network.deny, deny);
    extend(&mut inspection.requests, inspect);
    inspection.secrets.clear();
    extend(&mut inspection.secrets, secrets);
}

/// Returns the network with the rules of the policy about hosts. `network = "none"` leaves only those that deny.
pub(in crate::profiles) fn effective(own: &OwnNetwork, rules: &PolicyRules) -> NetworkRules {
    let add = |list: &mut Vec<String>, rules: &[Rule]| {
        let hosts: Vec<String> = PolicyRules::hosts(rules).map(str::to_owned).collect();
        if !hosts.is_empty() {
            extend(list, &hosts);
        }
    };
    let mut network = own.rules.clone();
    add(&mut network.deny, &rules.deny);
    if !own.is_off {
        add(&mut network.allow, &rules.allow);
        add(&mut network.ask, &rules.ask);
    }
    network
}

/// Checks the number and the size of all entries.
pub(super) fn check_limits(network: &NetworkRules, inspection: &Inspection, problems: &mut Vec<Problem>) {
    if let Some(limit) = network.beyond_limit().or_else(|| inspection.beyond_limit()) {
        problems.push(problem(KEY, format!("{limit}, including inherited ones"), "remove entries"));
    }
}
