//! Checks of the hooks: each is reached with TLS, or in plain text on a loopback address.

use airlock_domain::limits::NAME_BYTES;
use url::{Host, Url};

use super::findings::{Findings, is_name};
use crate::config::{Config, Hook};

/// The maximum number of hooks. The server keeps state for each of them.
const HOOKS_MAX: usize = 64;

/// Reports all problems except those of files.
pub(super) fn check(config: &Config, found: &mut Findings) {
    found.require(
        config.hooks.len() <= HOOKS_MAX,
        "hooks",
        format!("there are more than {HOOKS_MAX} hooks"),
        "remove some, or let one service ask several others",
    );
    for (name, hook) in &config.hooks {
        let field = format!("hooks.{name}");
        found.require(
            is_name(name, NAME_BYTES),
            &field,
            format!("`{}` is not the name of a hook", name.escape_debug()),
            "use 1 to 128 of a-z A-Z 0-9 . _ -",
        );
        address(hook, &field, found);
        tls(hook, &field, found);
        found.require(
            hook.timeout < config.limits.call_timeout,
            &format!("{field}.timeout"),
            format!(
                "{:?} is not shorter than limits.call_timeout ({:?})",
                hook.timeout, config.limits.call_timeout
            ),
            "lower it, or raise limits.call_timeout",
        );
    }
}

/// Reports problems of the files of the hooks.
pub(super) fn check_files(config: &Config, found: &mut Findings) {
    for (name, hook) in &config.hooks {
        for (key, file) in hook.files() {
            if let Some(file) = file {
                found.readable(&format!("hooks.{name}.{key}"), file);
            }
        }
    }
}

fn address(hook: &Hook, field: &str, found: &mut Findings) {
    let field = format!("{field}.address");
    let url = Url::parse(&hook.address).ok().filter(is_bare);
    let is_loopback = url.as_ref().is_some_and(|url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    });
    match url.as_ref().map(Url::scheme) {
        Some("https") => found.require(
            !hook.insecure_loopback,
            &field,
            "it is encrypted, but insecure_loopback is set",
            "remove insecure_loopback",
        ),
        Some("http") => found.require(
            hook.insecure_loopback && is_loopback,
            &field,
            "it is not encrypted",
            "use https://, or for development http:// with a loopback IP address, such as \
             http://127.0.0.1:7500, and insecure_loopback = true",
        ),
        _ => found.require(
            false,
            &field,
            "it is not https:// with a host and a port",
            "write the address of the hook, such as https://hook.example.org:7500",
        ),
    }
}

/// Reports whether the address has a host and a port, and nothing else.
fn is_bare(url: &Url) -> bool {
    url.has_host()
        && url.port_or_known_default().is_some()
        && url.username().is_empty()
        && url.password().is_none()
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none()
}

fn tls(hook: &Hook, field: &str, found: &mut Findings) {
    if hook.insecure_loopback {
        for (key, file) in hook.files() {
            found.require(
                file.is_none(),
                &format!("{field}.{key}"),
                "insecure_loopback is set, so it has no effect",
                "remove one of the two",
            );
        }
        return;
    }
    found.require(
        hook.ca.is_some(),
        &format!("{field}.ca"),
        "no authority is configured",
        "name the PEM file of the authorities that may sign the hook's certificate",
    );
    found.require(
        hook.certificate.is_some() == hook.key.is_some(),
        &format!("{field}.certificate"),
        "only one of certificate and key is set",
        "set both, or neither",
    );
}
