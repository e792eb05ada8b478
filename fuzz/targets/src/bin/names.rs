//! Parses any text as a host: the normalized form is stable, and the rules read an address at least as widely as the
//! system's resolver does.
#![no_main]

use std::net::IpAddr;

use airlock_fuzz_targets::{bounds, numeric};
use airlock_network::{AddressGuard, AddressKind, Host, Layer, LayerName, Layers, Rules, Target, Verdict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let parsed = bounds::bounded(|| Host::parse(&text));
    if let Some(address) = numeric::address(&text) {
        check_address(&parsed, address);
    }
    let Ok(host) = parsed else {
        return;
    };
    let shown = host.to_string();
    assert_eq!(Host::parse(&shown), Ok(host.clone()), "a normalized host is stable");
    match &host {
        // The proxy gives this text to the resolver.
        Host::Name(name) => {
            assert_eq!(
                numeric::address(name.as_str()),
                None,
                "the resolver reads the name `{name}` as an address"
            );
            check_rules(name.as_str());
        }
        Host::Address(address) => {
            assert_eq!(address.to_canonical(), *address, "an address has one form");
            check_kind(*address);
        }
    }
});

/// Checks a text that the resolver reads as `address`.
fn check_address(parsed: &Result<Host, airlock_network::HostError>, address: IpAddr) {
    match parsed {
        Ok(Host::Address(read)) => assert_eq!(*read, address.to_canonical(), "two readings of one address"),
        Ok(Host::Name(name)) => panic!("`{name}` is a name here, and {address} for the resolver"),
        Err(_) => {}
    }
}

/// Checks that an address that contains an internal one is not public.
fn check_kind(address: IpAddr) {
    let IpAddr::V6(wide) = address else { return };
    let octets = wide.octets();
    let inside = match octets {
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Some([a, b, c, d]),
        [0x20, 2, a, b, c, d, ..] => Some([a, b, c, d]),
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] => Some([a, b, c, d]),
        _ => None,
    };
    let is_internal =
        inside.is_some_and(|inside| AddressKind::of(IpAddr::from(inside)) != AddressKind::Public);
    let kind = AddressGuard::default().kind(address);
    assert!(!is_internal || kind != AddressKind::Public, "{address} contains an internal address");
}

/// Checks that no spelling of a denied name is allowed.
fn check_rules(name: &str) {
    let Ok(rules) = Rules::parse(true, &[], &[name.to_owned()]) else { return };
    let layers = Layers::new(vec![Layer { name: LayerName::Profile, rules }]);
    for spelled in [name.to_owned(), format!("{name}."), name.to_uppercase()] {
        if let Ok(host) = Host::parse(&spelled) {
            let verdict = layers.decide(&Target { host, port: 443 });
            assert!(matches!(verdict, Verdict::Refused(_)), "`{spelled}` avoids the denial of `{name}`");
        }
    }
}
