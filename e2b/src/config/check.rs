//! Checks between the keys of the configuration.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    path::Path,
};

use airlock_config::Problem;

use super::sections::{E2bConfig, KeyConfig};

/// Returns every problem.
pub(super) fn problems(config: &E2bConfig) -> Vec<Problem> {
    let mut found = Vec::new();
    let local = config.listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    if config.tls.is_none() && !local && !config.allow_remote_plain_text {
        found.push(problem(
            "listen",
            "is reached by other hosts, and API keys would cross the network in plain text",
            "name a certificate in [tls], use a loopback address, or set allow_remote_plain_text = true behind a proxy \
             with TLS",
        ));
    }
    if config.keys.is_empty() {
        found.push(problem(
            "key",
            "is missing",
            "name at least one [[key]]; `airlock-e2b new-key` prints one",
        ));
    }
    if config.templates.is_empty() {
        found.push(problem("templates", "is empty", "name at least the template: base = \"\""));
    }
    if config.limits.timeout_default > config.limits.timeout_max {
        found.push(problem(
            "limits.timeout_default",
            "is longer than `limits.timeout_max`",
            "use a shorter time",
        ));
    }
    keys(&mut found, &config.keys);
    found
}

fn keys(found: &mut Vec<Problem>, keys: &[KeyConfig]) {
    let (mut names, mut hashes) = (HashSet::new(), HashSet::new());
    let mut identities: HashMap<&Path, &str> = HashMap::new();
    for (index, key) in keys.iter().enumerate() {
        let field = |name: &str| format!("key[{index}].{name}");
        if !names.insert(&key.name) {
            found.push(problem(&field("name"), "is the name of another key", "give each key its own name"));
        }
        if !hashes.insert(&key.sha256) {
            found.push(problem(
                &field("sha256"),
                "is the hash of another key",
                "create a key for each caller",
            ));
        }
        let identity = match (&key.token_file, &key.cert, &key.cert_key) {
            (Some(token), None, None) => token,
            (None, Some(certificate), Some(_)) => certificate,
            _ => {
                found.push(problem(
                    &format!("key[{index}]"),
                    "does not have exactly one identity",
                    "name either token_file, or cert and cert_key",
                ));
                continue;
            }
        };
        if let Some(other) = identities.insert(identity, &key.name) {
            found.push(problem(
                &format!("key[{index}]"),
                &format!("has the identity of the key `{other}`"),
                "give each key an identity of its own",
            ));
        }
    }
}

fn problem(field: &str, what: &str, cure: &str) -> Problem {
    Problem { origin: None, field: field.to_owned(), what: what.to_owned(), cure: cure.to_owned() }
}
