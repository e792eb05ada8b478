//! Checks of identities: each has one method of recognition, and no two identities have the same.

use std::collections::HashMap;

use airlock_domain::{RunnerId, limits};

use super::findings::{Findings, is_name};
use crate::{
    config::{Config, Identity, Match, RoleName},
    model::ANY_PROFILE,
};

/// The length of a SHA-256 digest in hexadecimal.
const HASH_LENGTH: usize = 64;
/// The hash of empty input. It indicates that the variable with the token was not set when it was hashed.
const HASH_OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// The maximum length, in bytes, of the name of a principal or tenant, a common name, or a SPIFFE ID.
const TEXT_BYTES: usize = 256;

pub(super) fn check(config: &Config, found: &mut Findings) {
    found.require(
        !config.identities.is_empty(),
        "identity",
        "no identity is configured, so every call would be refused",
        "add an [[identity]] with name, tenant, roles and match",
    );
    found.require(
        is_name(&config.profiles.default, limits::NAME_BYTES),
        "profiles.default",
        "it is not a profile name",
        "use 1 to 128 of a-z A-Z 0-9 . _ -",
    );
    let mut names = HashMap::new();
    let mut matches = HashMap::new();
    for (index, identity) in config.identities.iter().enumerate() {
        let field = format!("identity[{index}]");
        if let Some(other) = names.insert(&identity.name, index) {
            found.require(
                false,
                &format!("{field}.name"),
                format!("`{}` is also the name of identity {}", identity.name.escape_debug(), other + 1),
                "use a different name for each identity",
            );
        }
        if let Some(other) = matches.insert(&identity.matches, index) {
            found.require(
                false,
                &format!("{field}.match"),
                format!("identity {} has the same match", other + 1),
                "use a different match for each identity",
            );
        }
        one(identity, &field, found);
        matching(config, identity, &field, found);
        runner(identity, &field, found);
        server(identity, &field, found);
    }
    tenants(config, found);
}

/// Checks that each tenant has an identity and occurs once. A misspelled name would disable a limit.
fn tenants(config: &Config, found: &mut Findings) {
    let mut names = HashMap::new();
    for (index, tenant) in config.tenants.iter().enumerate() {
        let (field, shown) = (format!("tenant[{index}].name"), tenant.name.escape_debug());
        if let Some(other) = names.insert(&tenant.name, index) {
            let what = format!("`{shown}` is also the name of tenant {}", other + 1);
            found.require(false, &field, what, "use one [[tenant]] table for each tenant");
        }
        found.require(
            config.identities.iter().any(|identity| identity.tenant == tenant.name),
            &field,
            format!("no identity has the tenant `{shown}`"),
            "use the name of an identity's tenant, or remove the table",
        );
    }
}

fn one(identity: &Identity, field: &str, found: &mut Findings) {
    for (name, value) in [("name", &identity.name), ("tenant", &identity.tenant)] {
        found.require(
            is_text(value),
            &format!("{field}.{name}"),
            "it is empty, too long, or contains control characters",
            "use 1 to 256 printable bytes",
        );
    }
    found.require(
        !identity.roles.is_empty(),
        &format!("{field}.roles"),
        "it is empty, so every call of the identity would be refused",
        "use one or more of executor, approver, auditor and admin; or only runner; or only server",
    );
    for (index, profile) in identity.profiles.iter().enumerate() {
        found.require(
            profile == ANY_PROFILE || is_name(profile, limits::NAME_BYTES),
            &format!("{field}.profiles[{index}]"),
            format!("`{}` is not a profile name", profile.escape_debug()),
            "use 1 to 128 of a-z A-Z 0-9 . _ -, or `*` for every profile",
        );
    }
}

fn matching(config: &Config, identity: &Identity, field: &str, found: &mut Findings) {
    let field = format!("{field}.match");
    match &identity.matches {
        Match::CommonName(name) | Match::Dns(name) => {
            found.require(
                is_text(name),
                &field,
                "the name is empty or too long",
                "use the name in the certificate",
            );
            require_client_ca(config, &field, found);
        }
        Match::Spiffe(id) => {
            let scheme = id.strip_prefix("spiffe://").is_some_and(|rest| rest.contains('/'));
            found.require(
                is_text(id) && scheme,
                &field,
                format!("`{}` is not a SPIFFE id", id.escape_debug()),
                "write it as spiffe://TRUST-DOMAIN/PATH",
            );
            require_client_ca(config, &field, found);
        }
        Match::TokenSha256(hash) => token_hash(hash, &field, found),
        Match::Loopback => found.require(
            config.listen.insecure_loopback,
            &field,
            "every caller would have this identity",
            "set listen.insecure_loopback on a loopback address, or use another match",
        ),
    }
}

fn token_hash(hash: &str, field: &str, found: &mut Findings) {
    let hexadecimal = hash.len() == HASH_LENGTH
        && hash.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'));
    found.require(
        hexadecimal,
        field,
        "token_sha256 is not a SHA-256 in lower-case hexadecimal",
        "copy the hash from the output of `airlock-server hash-token`; do not write the token itself",
    );
    found.require(
        hash != HASH_OF_NOTHING,
        field,
        "token_sha256 is the hash of an empty token",
        "hash the token with `airlock-server hash-token`",
    );
}

fn require_client_ca(config: &Config, field: &str, found: &mut Findings) {
    let verified = config.listen.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    found.require(
        verified,
        field,
        "no authority is configured, so client certificates would be refused",
        "set listen.tls.client_ca, or match a token",
    );
}

fn runner(identity: &Identity, field: &str, found: &mut Findings) {
    let is_runner = identity.roles.contains(&RoleName::Runner);
    if !is_runner {
        found.require(
            identity.runner_ids.is_empty(),
            &format!("{field}.runner_ids"),
            "the identity does not have the role runner",
            "add the role, or remove the key",
        );
        return;
    }
    let loopback = identity.matches == Match::Loopback;
    found.require(
        !matches!(identity.matches, Match::TokenSha256(_)),
        &format!("{field}.roles"),
        "the role runner can be granted only by certificate",
        "create a certificate for the runner, and match it",
    );
    found.require(
        loopback || identity.roles.len() == 1,
        &format!("{field}.roles"),
        "the role runner cannot be combined with other roles: its certificate is on a host that runs untrusted code",
        "use a separate identity for the other roles",
    );
    found.require(
        !identity.runner_ids.is_empty() || identity.name.parse::<RunnerId>().is_ok(),
        &format!("{field}.runner_ids"),
        "it is empty, and the identity's name is not a runner id",
        "list the runner ids that it may act for",
    );
    for (index, id) in identity.runner_ids.iter().enumerate() {
        found.require(
            id == "*" || id.parse::<RunnerId>().is_ok(),
            &format!("{field}.runner_ids[{index}]"),
            format!("`{}` is not a runner id", id.escape_debug()),
            "use 1 to 63 of a-z A-Z 0-9 . _ -, or `*` for any",
        );
    }
}

fn server(identity: &Identity, field: &str, found: &mut Findings) {
    if !identity.roles.contains(&RoleName::Server) {
        return;
    }
    found.require(
        matches!(identity.matches, Match::CommonName(_) | Match::Dns(_) | Match::Spiffe(_)),
        &format!("{field}.roles"),
        "the role server can be granted only by certificate",
        "create a certificate for the servers, and match it",
    );
    found.require(
        identity.roles.len() == 1,
        &format!("{field}.roles"),
        "the role server cannot be combined with other roles: its certificate reaches every runner of this server",
        "use a separate identity for the other roles",
    );
}

fn is_text(text: &str) -> bool {
    (1..=TEXT_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}
