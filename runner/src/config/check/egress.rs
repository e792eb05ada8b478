//! Checks of secrets and of the proxy's settings.

use std::path::PathBuf;

use airlock_config::Problem;
use airlock_domain::limits as contract;
use airlock_egress::{HeaderName, ONE_HOP, Upstream};
use airlock_network::RequestRule;
use airlock_vault::{Address, Place, PlaceError};

use super::problems::{Problems, plain_absolute};
use crate::config::{
    egress::{BoundSecret, VaultConfig},
    sections::RunnerConfig,
};

/// Headers that the proxy or the encoding of the request determines.
const OWN: [&str; 3] = ["host", "content-length", "accept-encoding"];
const NAME_CURE: &str = "use 1 to 128 letters, digits and `_`, and do not begin with a digit";
const PATH_CURE: &str = "use names with `/` between them, without empty ones, `.` and `..`";

pub(super) fn secrets(found: &mut Problems, config: &RunnerConfig) {
    let secrets = &config.secrets;
    let names = secrets.files.keys().map(|name| ("files", name));
    for (list, name) in names.chain(secrets.env.keys().map(|name| ("env", name))) {
        let field = format!("secrets.{list}.{name}");
        found.unless(is_name(name), &field, "is not the name of a secret", NAME_CURE);
    }
    for name in secrets.env.keys() {
        let once = !secrets.files.contains_key(name);
        let field = format!("secrets.env.{name}");
        found.unless(once, &field, "is also in `secrets.files`", "remove one of them");
    }
    for (name, path) in &secrets.files {
        let field = format!("secrets.files.{name}");
        let cure = "use an absolute path without `..`";
        found.unless(plain_absolute(path), &field, "is not an absolute path", cure);
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= contract::NAME_BYTES
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(super) fn egress(found: &mut Problems, config: &RunnerConfig) {
    let path = |found: &mut Problems, field: &str, path: Option<&PathBuf>| {
        let is_plain = path.is_none_or(|path| plain_absolute(path));
        found.unless(is_plain, field, "is not an absolute path", "use an absolute path without `..`");
    };
    path(found, "egress.ca", config.egress.ca.as_ref());
    if let Some(upstream) = &config.egress.upstream {
        let address = Upstream::new(&upstream.proxy, None, false).is_ok();
        let address_cure = "write `http://HOST:PORT`, and a user with the key `credential`";
        found.unless(address, "egress.upstream.proxy", "is not the address of an HTTP proxy", address_cure);
        path(found, "egress.upstream.credential", upstream.credential.as_ref());
    }
    if let Some(vault) = &config.egress.vault {
        path(found, "egress.vault.ca", vault.ca.as_ref());
        path(found, "egress.vault.token_file", Some(&vault.token_file));
        server(found, vault);
    }
    for (name, secret) in &config.egress.secrets {
        let key = format!("egress.secrets.{name}");
        found.unless(is_name(name), &key, "is not the name of a secret", NAME_CURE);
        path(found, &format!("{key}.file"), secret.file.as_ref());
        source(found, &key, secret, config.egress.vault.is_some());
        let variable = secret.variable.as_ref().is_none_or(|variable| is_name(variable));
        found.unless(variable, &format!("{key}.variable"), "is not the name of a variable", NAME_CURE);
        let header = HeaderName::from_bytes(secret.header.as_bytes())
            .is_ok_and(|name| !ONE_HOP.contains(&name) && !OWN.contains(&name.as_str()));
        let header_cure = "name a header of the request, such as `authorization`";
        found.unless(header, &format!("{key}.header"), "is not a header that reaches the host", header_cure);
        let some = !secret.requests.is_empty();
        let requests = format!("{key}.requests");
        found.unless(some, &requests, "is empty", "name the hosts that the secret may go to");
        for (index, rule) in secret.requests.iter().enumerate() {
            let Err(error) = RequestRule::parse(rule) else { continue };
            let (what, cure) = error.problem_and_remedy();
            found.0.push(Problem { origin: None, field: format!("{requests}[{index}]"), what, cure });
        }
    }
}

/// Checks the keys of the Vault server, except its files.
fn server(found: &mut Problems, vault: &VaultConfig) {
    if let Err(error) = Address::parse(&vault.address, vault.insecure_loopback) {
        let cure = "write `https://HOST:PORT`, or `http://127.0.0.1:PORT` with `insecure_loopback = true`";
        found.unless(false, "egress.vault.address", &error.to_string(), cure);
    }
    let mount = Place::new(&vault.kubernetes_mount, "login", "token", 1).is_ok();
    found.unless(mount, "egress.vault.kubernetes_mount", "is not the path of a mount", PATH_CURE);
    let is_text = |text: &String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let namespace = vault.namespace.as_ref().is_none_or(is_text);
    let cure = "use the path of a namespace, such as `team-a`";
    found.unless(namespace, "egress.vault.namespace", "is not the path of a namespace", cure);
    let role = vault.kubernetes_role.as_ref().is_none_or(is_text);
    let cure = "use the name of a role, such as `airlock-runner`";
    found.unless(role, "egress.vault.kubernetes_role", "is not the name of a role", cure);
}

/// Checks the source of a secret.
fn source(found: &mut Problems, key: &str, secret: &BoundSecret, has_server: bool) {
    let one = secret.file.is_some() != secret.vault.is_some();
    found.unless(one, key, "has not exactly one of `file` and `vault`", "set one of them");
    let Some(place) = &secret.vault else { return };
    let field = format!("{key}.vault");
    let cure = "name the server in `egress.vault`";
    found.unless(has_server, &field, "is set, and there is no `egress.vault`", cure);
    if let Err(error) = Place::new(&place.mount, &place.path, &place.field, place.kv_version) {
        let part = match error {
            PlaceError::Mount => "mount",
            PlaceError::Path => "path",
            PlaceError::Field => "field",
        };
        found.unless(false, &format!("{field}.{part}"), &error.to_string(), PATH_CURE);
    }
}
