//! Applies the network rules of a profile file to the inherited ones.

use airlock_config::{OrNone, Problem};
use airlock_domain::NetworkRules;
use airlock_network::Rules;

use super::{confine::extend, keys::Network, problem::problem};

/// The key of the rules.
const KEY: &str = "network";

/// Checks the entries of a file.
pub(in crate::profiles) fn check(given: Option<&OrNone<Network>>, problems: &mut Vec<Problem>) {
    let Some(OrNone(Some(Network { any, allow, deny }))) = given else { return };
    let Err(errors) = Rules::parse(*any, allow, deny) else { return };
    problems.extend(errors.iter().map(|error| {
        let (what, cure) = error.problem_and_remedy();
        problem(&error.path(KEY), what.to_owned(), cure)
    }));
}

/// Replaces the allowed hosts of the parent if the file has the key. Denied hosts of the parent stay denied.
pub(super) fn apply(
    given: Option<&OrNone<Network>>,
    network: &mut NetworkRules,
    problems: &mut Vec<Problem>,
) {
    let Some(OrNone(given)) = given else { return };
    let (any, allow, deny) = match given {
        Some(Network { any, allow, deny }) => (*any, allow.as_slice(), deny.as_slice()),
        None => (false, &[][..], &[][..]),
    };
    network.any = any;
    network.allow.clear();
    extend(&mut network.allow, allow);
    extend(&mut network.deny, deny);
    if let Some(limit) = network.beyond_limit() {
        problems.push(problem(KEY, format!("{limit}, including inherited ones"), "remove entries"));
    }
}
