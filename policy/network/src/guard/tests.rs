//! Tests of the decision about an address.

use super::*;
use crate::layers::{Layer, Verdict};

fn layer(name: LayerName, any: bool, allow: &[&str], deny: &[&str]) -> Layer {
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>();
    let rules = Rules::parse(any, &list(allow), &list(deny)).unwrap_or_else(|errors| panic!("{errors:?}"));
    Layer { name, rules }
}

fn one(allow: &[&str], deny: &[&str]) -> Layers {
    Layers::new(vec![layer(LayerName::Profile, false, allow, deny)])
}

fn guard() -> AddressGuard {
    let own = ["192.0.2.7", "10.9.0.7", "2001:4860::7"].map(|address| address.parse().unwrap());
    let cluster = ["10.96.0.0/12", "34.118.224.0/20", "fd12::/16"].map(|range| range.parse().unwrap());
    AddressGuard::new(own.to_vec(), cluster.to_vec())
}

fn check(address: &str, layers: &Layers, target: &str) -> Result<(), Refusal> {
    guard().check(address.parse().unwrap(), layers, &Target::parse(target).unwrap())
}

/// Addresses that a name can resolve to, of every kind except public, with an IPv4 address inside or without.
const INSIDE: &[(&str, AddressKind)] = &[
    ("0.0.0.0", AddressKind::Unspecified),
    ("::", AddressKind::Unspecified),
    ("127.0.0.1", AddressKind::Loopback),
    ("::1", AddressKind::Loopback),
    ("::ffff:127.0.0.1", AddressKind::Loopback),
    ("64:ff9b::127.0.0.1", AddressKind::Loopback),
    ("169.254.1.1", AddressKind::LinkLocal),
    ("fe80::1", AddressKind::LinkLocal),
    ("169.254.169.254", AddressKind::Metadata),
    ("::ffff:169.254.169.254", AddressKind::Metadata),
    ("64:ff9b::169.254.169.254", AddressKind::Metadata),
    ("2002:a9fe:a9fe::", AddressKind::Metadata),
    ("fd00:ec2::254", AddressKind::Metadata),
    ("100.100.100.200", AddressKind::Metadata),
    ("168.63.129.16", AddressKind::Metadata),
    ("10.1.2.3", AddressKind::Private),
    ("192.168.1.1", AddressKind::Private),
    ("fc00::1", AddressKind::Private),
    ("64:ff9b::10.1.2.3", AddressKind::Private),
    ("2002:a01:203::1", AddressKind::Private),
    ("100.64.0.1", AddressKind::Shared),
    ("224.0.0.251", AddressKind::Multicast),
    ("ff02::fb", AddressKind::Multicast),
    ("255.255.255.255", AddressKind::Reserved),
    ("2001:db8::1", AddressKind::Reserved),
    ("192.0.2.7", AddressKind::Own),
    ("2001:4860::7", AddressKind::Own),
    ("64:ff9b::192.0.2.7", AddressKind::Own),
    ("10.96.0.1", AddressKind::Cluster),
    ("34.118.224.1", AddressKind::Cluster),
    ("::ffff:34.118.224.1", AddressKind::Cluster),
    ("fd12::1", AddressKind::Cluster),
];

#[test]
fn an_address_that_is_not_public_is_refused() {
    let any = Layers::new(vec![layer(LayerName::Profile, true, &["evil.example:443"], &[])]);
    for (address, kind) in INSIDE {
        let refusal = check(address, &any, "evil.example:443").unwrap_err();
        assert_eq!(guard().kind(address.parse().unwrap()), *kind, "{address}");
        assert_eq!(refusal.address.map(|address| address.kind), Some(*kind), "{address}");
        assert_eq!(refusal.rule, None);
    }
    for address in ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::1.1.1.1", "::ffff:1.1.1.1"] {
        assert_eq!(check(address, &any, "evil.example:443"), Ok(()), "the control: {address}");
    }
}

/// Returns the quoted entries of a remedy.
fn entries(remedy: &str) -> Vec<&str> {
    remedy.split('"').skip(1).step_by(2).collect()
}

#[test]
fn the_remedy_lists_the_address_in_each_layer() {
    for (address, _) in INSIDE {
        for port in [443, 22, 8080] {
            let target = format!("db.example:{port}");
            let refusal = check(address, &one(&[], &[]), &target).unwrap_err();
            let listed = entries(&refusal.remedy);
            assert_eq!(check(address, &one(&listed, &[]), &target), Ok(()), "{refusal}");
            let floor = layer(LayerName::Floor, true, &[], &[]);
            let both = Layers::new(vec![layer(LayerName::Profile, false, &listed, &[]), floor]);
            assert_eq!(check(address, &both, &target).unwrap_err().layer, LayerName::Floor, "{address}");
            assert!(check(address, &one(&listed, &[]), "db.example:9").is_err(), "another port");
        }
    }
}

#[test]
fn a_range_lists_private_addresses_and_not_the_runner_or_metadata() {
    let ranges = [
        "10.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "100.64.0.0/10",
        "168.0.0.0/8",
        "192.0.2.0/24",
        "fc00::/7",
        "2000::/3",
        "::/8",
    ];
    let wide = one(&ranges, &[]);
    for address in ["10.1.2.3", "10.96.0.1", "169.254.1.1", "100.64.0.1", "fc00::1", "fd12::1", "2001:db8::1"]
    {
        assert_eq!(check(address, &wide, "db.example:443"), Ok(()), "{address}");
    }
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.2.7",
        "10.9.0.7",
        "2001:4860::7",
        "fd00:ec2::254",
        "::",
        "::1",
        "64:ff9b::169.254.169.254",
        "2002:7f00:1::",
        "::127.0.0.1",
    ] {
        assert!(check(address, &wide, "db.example:443").is_err(), "{address}");
        let exact = check(address, &wide, "db.example:443").unwrap_err();
        let listed: Vec<&str> = ranges.into_iter().chain(entries(&exact.remedy)).collect();
        assert_eq!(check(address, &one(&listed, &[]), "db.example:443"), Ok(()), "the control: {address}");
    }
}

#[test]
fn the_address_inside_must_be_listed_too() {
    let outside = one(&["64:ff9b:1::/48", "2002::/16", "64:ff9b::/96"], &[]);
    let inside = one(&["10.0.0.5"], &[]);
    let both = one(&["64:ff9b:1::/48", "2002::/16", "10.0.0.5"], &[]);
    for address in ["64:ff9b:1::10.0.0.5", "2002:a00:5::1", "64:ff9b:1:a00:0:500::"] {
        assert!(check(address, &outside, "db.example:443").is_err(), "{address}");
        assert!(check(address, &inside, "db.example:443").is_err(), "{address}");
        assert_eq!(check(address, &both, "db.example:443"), Ok(()), "{address}");
    }
    assert!(check("64:ff9b::10.0.0.5", &outside, "db.example:443").is_err());
    assert_eq!(check("64:ff9b::10.0.0.5", &inside, "db.example:443"), Ok(()), "the prefix is public");
}

#[test]
fn a_denied_address_is_refused_behind_every_name() {
    for (deny, address) in [
        ("1.1.1.0/24", "1.1.1.1"),
        ("1.1.1.1", "::ffff:1.1.1.1"),
        ("1.1.1.1", "64:ff9b::1.1.1.1"),
        ("::/0", "2606:4700:4700::1111"),
        ("0.0.0.0/0", "64:ff9b::1.1.1.1"),
        ("10.0.0.0/8", "10.0.0.5"),
    ] {
        let allow = ["evil.example", "10.0.0.5"];
        assert_eq!(check(address, &one(&allow, &[]), "evil.example:443"), Ok(()), "the control");
        let refusal = check(address, &one(&allow, &[deny]), "evil.example:443").unwrap_err();
        assert_eq!(refusal.rule.as_deref(), Some(deny), "{refusal}");
    }
}

#[test]
fn a_name_does_not_list_an_address() {
    let layers = one(&["db.example:5432/tcp", "*.a.example:5432", "pypi"], &[]);
    let target = Target::parse("db.example:5432").unwrap();
    assert!(matches!(layers.decide(&target), Verdict::Allowed { .. }));
    assert!(check("10.0.0.5", &layers, "db.example:5432").is_err());
}

#[test]
fn without_layers_every_address_is_refused() {
    for address in ["10.0.0.5", "127.0.0.1", "169.254.169.254"] {
        let refusal = check(address, &Layers::default(), "db.example:443").unwrap_err();
        assert_eq!(refusal.layer, LayerName::Profile);
    }
}

#[test]
fn a_refusal_names_the_address_and_the_remedy() {
    assert_eq!(
        check("10.0.0.5", &one(&["db.example:5432/tcp"], &[]), "db.example:5432").unwrap_err().to_string(),
        "`db.example:5432` is at the private address 10.0.0.5, which the profile does not list; \
         add \"10.0.0.5:5432/tcp\" to `network.allow` of the profile"
    );
    assert_eq!(
        check("2002:7f00:1::", &one(&[], &[]), "evil.example:80").unwrap_err().to_string(),
        "`evil.example:80` is at the loopback address 2002:7f00:1::, which the profile does not list; \
         add \"[2002:7f00:1::]\" and \"127.0.0.1\" to `network.allow` of the profile"
    );
    assert_eq!(
        check("1.1.1.1", &one(&["dns.example"], &["1.1.1.0/24"]), "dns.example:443").unwrap_err().to_string(),
        "`dns.example:443` is at the public address 1.1.1.1, which `1.1.1.0/24` of the profile denies; \
         remove \"1.1.1.0/24\" from `network.deny` of the profile"
    );
}
