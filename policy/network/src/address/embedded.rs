//! IPv4 addresses inside IPv6 addresses. A gateway or the kernel can send such a packet to the address inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::Ipv6Net;

const fn net(address: [u16; 8], bits: u8) -> Ipv6Net {
    let [a, b, c, d, e, f, g, h] = address;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), bits)
}

/// The prefixes after which the last 32 bits are an IPv4 address:
/// * `::/96`, IPv4-compatible (RFC 4291, section 2.5.5.1)
/// * `::ffff:0:0/96`, IPv4-mapped (RFC 4291, section 2.5.5.2)
/// * `::ffff:0:0:0/96`, IPv4-translated (RFC 2765, section 2.1)
/// * `64:ff9b::/96`, NAT64 (RFC 6052, section 2.1)
const AT_THE_END: [Ipv6Net; 4] = [
    net([0; 8], 96),
    net([0, 0, 0, 0, 0, 0xffff, 0, 0], 96),
    net([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),
    net([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),
];
/// NAT64 of local use (RFC 8215).
const LOCAL_NAT64: Ipv6Net = net([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48);
/// 6to4 (RFC 3056).
const SIX_TO_FOUR: Ipv6Net = net([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);
/// Teredo (RFC 4380).
const TEREDO: Ipv6Net = net([0x2001, 0, 0, 0, 0, 0, 0, 0], 32);

/// Returns the address and every IPv4 address inside. An IPv4-mapped address has only one view, the IPv4 address,
/// because the kernel connects to it.
pub(crate) fn views(address: IpAddr) -> Vec<IpAddr> {
    match address.to_canonical() {
        IpAddr::V4(address) => vec![address.into()],
        IpAddr::V6(address) => {
            let inside = inside(address).into_iter().flatten().map(IpAddr::V4);
            [IpAddr::V6(address)].into_iter().chain(inside).collect()
        }
    }
}

fn inside(address: Ipv6Addr) -> [Option<Ipv4Addr>; 5] {
    let [_, _, a, b, c, d, e, f, _, _, _, _, w, x, y, z] = address.octets();
    let is_special = address.is_unspecified() || address.is_loopback();
    let at_the_end = !is_special && AT_THE_END.iter().any(|net| net.contains(&address));
    let is_6to4 = SIX_TO_FOUR.contains(&address);
    let is_teredo = TEREDO.contains(&address);
    [
        at_the_end.then(|| Ipv4Addr::new(w, x, y, z)),
        LOCAL_NAT64.contains(&address).then(|| after_local_nat64(address)),
        is_6to4.then(|| Ipv4Addr::new(a, b, c, d)),
        // The server of a Teredo client, and the client itself, whose bits are inverted.
        is_teredo.then(|| Ipv4Addr::new(c, d, e, f)),
        is_teredo.then(|| Ipv4Addr::new(!w, !x, !y, !z)).or_else(|| isatap(address)),
    ]
}

/// Returns the IPv4 address after a prefix of 48, 56, 64 or 96 bits (RFC 6052, section 2.2). The bits after the address
/// are zero, which shows the length of the prefix.
fn after_local_nat64(address: Ipv6Addr) -> Ipv4Addr {
    match address.octets() {
        [_, _, _, _, _, _, a, b, _, c, d, 0, 0, 0, 0, 0] => Ipv4Addr::new(a, b, c, d),
        [_, _, _, _, _, _, _, a, _, b, c, d, 0, 0, 0, 0] => Ipv4Addr::new(a, b, c, d),
        [_, _, _, _, _, _, _, _, _, a, b, c, d, 0, 0, 0] => Ipv4Addr::new(a, b, c, d),
        [.., a, b, c, d] => Ipv4Addr::new(a, b, c, d),
    }
}

/// Returns the IPv4 address in an interface identifier of ISATAP (RFC 5214, section 6.1): `::0:5efe:192.0.2.1` or
/// `::200:5efe:192.0.2.1` after any prefix.
fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.octets() {
        [.., 0 | 2, 0, 0x5e, 0xfe, a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    }
}
