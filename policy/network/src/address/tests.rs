//! Tests of the kinds of addresses, at the borders of their ranges.

use AddressKind::{LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Shared, Unspecified};
use proptest::prelude::*;

use super::*;

/// The first and the last address of each range, with the kinds of the addresses before, inside and after.
const RANGES: &[(&str, &str, [AddressKind; 3])] = &[
    ("0.0.0.0", "0.255.255.255", [Unspecified, Unspecified, Public]),
    ("10.0.0.0", "10.255.255.255", [Public, Private, Public]),
    ("100.64.0.0", "100.127.255.255", [Public, Shared, Public]),
    ("100.100.100.200", "100.100.100.200", [Shared, Metadata, Shared]),
    ("127.0.0.0", "127.255.255.255", [Public, Loopback, Public]),
    ("168.63.129.16", "168.63.129.16", [Public, Metadata, Public]),
    ("169.254.0.0", "169.254.255.255", [Public, LinkLocal, Public]),
    ("169.254.0.23", "169.254.0.23", [LinkLocal, Metadata, LinkLocal]),
    ("169.254.42.42", "169.254.42.42", [LinkLocal, Metadata, LinkLocal]),
    ("169.254.169.254", "169.254.169.254", [LinkLocal, Metadata, LinkLocal]),
    ("169.254.170.2", "169.254.170.2", [LinkLocal, Metadata, LinkLocal]),
    ("169.254.170.23", "169.254.170.23", [LinkLocal, Metadata, LinkLocal]),
    ("172.16.0.0", "172.31.255.255", [Public, Private, Public]),
    ("192.0.0.0", "192.0.0.255", [Public, Reserved, Public]),
    ("192.0.0.192", "192.0.0.192", [Reserved, Metadata, Reserved]),
    ("192.0.2.0", "192.0.2.255", [Public, Public, Public]),
    ("192.88.99.0", "192.88.99.255", [Public, Reserved, Public]),
    ("192.168.0.0", "192.168.255.255", [Public, Private, Public]),
    ("198.18.0.0", "198.19.255.255", [Public, Reserved, Public]),
    ("198.51.100.0", "198.51.100.255", [Public, Public, Public]),
    ("203.0.113.0", "203.0.113.255", [Public, Public, Public]),
    ("224.0.0.0", "239.255.255.255", [Public, Multicast, Reserved]),
    ("240.0.0.0", "255.255.255.255", [Multicast, Reserved, Reserved]),
    ("::", "::", [Unspecified, Unspecified, Loopback]),
    ("::1", "::1", [Unspecified, Loopback, Unspecified]),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", [Reserved, Unspecified, Reserved]),
    ("100::", "100::ffff:ffff:ffff:ffff", [Reserved, Reserved, Reserved]),
    ("100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff", [Reserved, Reserved, Reserved]),
    ("2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", [Reserved, Public, Reserved]),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", [Public, Reserved, Public]),
    ("2003::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Reserved, Public, Reserved]),
    ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", [Public, Reserved, Public]),
    ("4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Public, Reserved, Private]),
    ("5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Reserved, Reserved, Reserved]),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Reserved, Private, Reserved]),
    ("fd00:ec2::254", "fd00:ec2::254", [Private, Metadata, Private]),
    ("fd00:ec2::23", "fd00:ec2::23", [Private, Metadata, Private]),
    ("fd20:ce::254", "fd20:ce::254", [Private, Metadata, Private]),
    ("fd00:42::42", "fd00:42::42", [Private, Metadata, Private]),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Reserved, LinkLocal, Private]),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [LinkLocal, Private, Multicast]),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", [Private, Multicast, Multicast]),
];

fn step(address: IpAddr, up: bool) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let bits = u32::from(address);
            let next = if up { bits.checked_add(1) } else { bits.checked_sub(1) };
            IpAddr::V4(next.unwrap_or(bits).into())
        }
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            let next = if up { bits.checked_add(1) } else { bits.checked_sub(1) };
            IpAddr::V6(next.unwrap_or(bits).into())
        }
    }
}

#[test]
fn ranges_have_exact_borders() {
    for (first, last, [before, inside, after]) in RANGES {
        let (first, last): (IpAddr, IpAddr) = (first.parse().unwrap(), last.parse().unwrap());
        assert_eq!(AddressKind::of(step(first, false)), *before, "before {first}");
        assert_eq!(AddressKind::of(first), *inside, "{first}");
        let last_kind = AddressKind::of(last);
        assert!(last_kind == *inside || first.to_string() == "64:ff9b:1::", "{last}: {last_kind}");
        assert_eq!(AddressKind::of(step(last, true)), *after, "after {last}");
    }
}

#[test]
fn hosts_of_the_internet_are_public() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "151.101.0.223",
        "172.15.255.255",
        "172.32.0.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.175.48.1",
        "2606:4700:4700::1111",
        "2a04:4e42::223",
        "2620:4f:8000::1",
        "2001:4860:4860::8888",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
    ] {
        assert_eq!(AddressKind::of(address.parse().unwrap()), Public, "{address}");
    }
}

/// The forms of IPv6 that contain an IPv4 address, with the kind if the address inside is public.
fn forms(a: [u8; 4]) -> Vec<(String, AddressKind)> {
    let [w, x, y, z] = a;
    let hex = format!("{w:02x}{x:02x}:{y:02x}{z:02x}");
    let inverted = format!("{:02x}{:02x}:{:02x}{:02x}", !w, !x, !y, !z);
    vec![
        (format!("::ffff:{hex}"), Public),
        (format!("64:ff9b::{hex}"), Public),
        (format!("::{hex}"), Reserved),
        (format!("::ffff:0:{hex}"), Reserved),
        (format!("64:ff9b:1::{hex}"), Private),
        (format!("64:ff9b:1:{w:02x}{x:02x}:{y:02x}:{z:02x}00::"), Private),
        (format!("64:ff9b:1:{w:02x}:{x:02x}:{y:02x}{z:02x}::"), Private),
        (format!("2002:{hex}::"), Reserved),
        (format!("2002:{hex}:1:2:3:4:5"), Reserved),
        (format!("2001:0:808:808:8000:63bf:{inverted}"), Reserved),
        (format!("2001:0:{hex}:8000:63bf:f7f7:f7f7"), Reserved),
        (format!("2606:4700::5efe:{hex}"), Public),
        (format!("2606:4700::200:5efe:{hex}"), Public),
        (format!("fe80::5efe:{hex}"), LinkLocal),
    ]
}

#[test]
fn an_address_inside_determines_the_kind() {
    for (inside, kind) in [
        ([127, 0, 0, 1], Loopback),
        ([169, 254, 169, 254], Metadata),
        ([10, 1, 2, 3], Private),
        ([192, 168, 1, 1], Private),
        ([100, 64, 0, 1], Shared),
        ([224, 0, 0, 1], Multicast),
        ([168, 63, 129, 16], Metadata),
    ] {
        for (form, _) in forms(inside) {
            let address: IpAddr = form.parse().unwrap_or_else(|_| panic!("{form}"));
            assert_eq!(AddressKind::of(address), kind, "{form}");
            assert!(views(address).contains(&IpAddr::from(inside)), "{form}");
        }
    }
    for (form, kind) in forms([8, 8, 8, 8]) {
        assert_eq!(AddressKind::of(form.parse().unwrap()), kind, "{form}");
    }
}

#[test]
fn a_mapped_address_has_one_view() {
    assert_eq!(views("::ffff:10.0.0.1".parse().unwrap()), ["10.0.0.1".parse::<IpAddr>().unwrap()]);
    assert_eq!(views("::1".parse().unwrap()).len(), 1);
    assert_eq!(views("::".parse().unwrap()).len(), 1);
}

#[test]
fn every_kind_has_a_name() {
    let names: std::collections::BTreeSet<&str> = AddressKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), AddressKind::ALL.len());
}

proptest! {
    /// An address that the standard library classifies as special is never public here.
    #[test]
    fn what_the_standard_library_knows_is_not_public(bits in any::<u32>(), high in any::<u128>()) {
        let v4 = std::net::Ipv4Addr::from(bits);
        let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_broadcast()
            || v4.is_multicast() || v4.is_unspecified();
        prop_assert!(!is_special || AddressKind::of(v4.into()) != Public);
        prop_assert_eq!(AddressKind::of(v4.to_ipv6_mapped().into()), AddressKind::of(v4.into()));
        let v6 = std::net::Ipv6Addr::from(high);
        let is_special = v6.is_loopback() || v6.is_unspecified() || v6.is_multicast() || v6.is_unique_local()
            || v6.is_unicast_link_local();
        prop_assert!(!is_special || AddressKind::of(v6.into()) != Public);
    }
}
