//! Converts network settings: `sandbox.network`, and the hosts in rules for `WebFetch`.

use airlock_network::Rules;
use serde_json::{Map, Value};

use super::draft::{Draft, Entry, texts, unknown};
use crate::decision::Verdict;
use crate::rules::Rule;

/// The lists of the profile's key `network`, by the keys of the settings.
const LISTS: [(&str, Verdict); 2] = [("allowedDomains", Verdict::Allow), ("deniedDomains", Verdict::Deny)];
/// The switches, each with the value that describes what Airlock always does.
const SWITCHES: [(&str, bool); 4] = [
    ("allowAllUnixSockets", false),
    ("allowLocalBinding", true),
    ("allowManagedDomainsOnly", false),
    ("strictAllowlist", true),
];

pub(super) fn read(draft: &mut Draft, network: &Map<String, Value>) {
    for (key, verdict) in LISTS {
        for (place, value, text) in texts(draft, &format!("sandbox.network.{key}"), network.get(key)) {
            carry(draft, verdict, &place, value, text);
        }
    }
    let known = LISTS.map(|(key, _)| key);
    for (key, value) in unknown(network, &known) {
        let always = SWITCHES.iter().find(|(known, _)| known == key).map(|(_, always)| Value::Bool(*always));
        if always.as_ref() != Some(value) {
            draft.leave_out(&format!("sandbox.network.{key}"), value, reason(key));
        }
    }
}

/// Returns the reason why a key is not converted.
fn reason(key: &str) -> &'static str {
    match key {
        "allowUnixSockets" | "allowAllUnixSockets" => {
            "commands reach the sockets below the paths that the sandbox shows; `sandbox.root_binds` lists further paths"
        }
        "allowLocalBinding" => "commands can always listen on the loopback of their session",
        "allowManagedDomainsOnly" => "the administrator of a server selects its profiles",
        "strictAllowlist" => "Airlock refuses hosts that are not listed, without asking",
        "httpProxyPort" | "socksProxyPort" => "the runner's own proxy makes the connections",
        _ => "Airlock has no equivalent setting",
    }
}

/// Converts the host of a rule such as `WebFetch(domain:example.com)`. Its hosts are also those of sandboxed commands.
/// Returns false if the rule names no host.
pub(super) fn of_rule(draft: &mut Draft, verdict: Verdict, place: &str, value: &Value, rule: &str) -> bool {
    let body = rule.trim().strip_prefix("WebFetch(").and_then(|rest| rest.strip_suffix(')'));
    let Some(host) = body.and_then(|body| body.trim().strip_prefix("domain:")) else {
        return false;
    };
    carry(draft, verdict, place, value, host.trim());
    true
}

/// Adds a host to the lists of the profile, or a rule that asks about it, or reports why it is not an entry.
pub(super) fn carry(draft: &mut Draft, verdict: Verdict, place: &str, value: &Value, host: &str) {
    let own = [host.to_owned()];
    let (allow, deny): (&[String], &[String]) = match verdict {
        Verdict::Allow => (&own, &[]),
        Verdict::Deny => (&[], &own),
        Verdict::Ask => {
            let rule = format!("Network({host})");
            let parsed = Rule::parse(&rule).map(|_| vec![rule]).map_err(|error| error.to_string());
            return draft.carry(verdict, place, value, parsed);
        }
    };
    if let Some(error) = Rules::parse(false, allow, deny).err().and_then(|errors| errors.into_iter().next()) {
        return draft.leave_out(place, value, error.message);
    }
    let list = if verdict == Verdict::Allow { &mut draft.network.allow } else { &mut draft.network.deny };
    if list.iter().all(|entry| entry.value != host) {
        list.push(Entry { value: host.to_owned(), from: format!("{place}: {value}") });
    }
}
