//! The special-purpose addresses, as data. The first range that contains an address determines its kind.
//!
//! Sources: the [IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry) and
//! [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry) special-purpose address registries, and the [IPv6
//! address space](https://www.iana.org/assignments/ipv6-address-space), of which only `2000::/3` is assigned to hosts of
//! the internet. Ranges that are globally reachable as a part of a larger range that is not, such as `192.0.0.9/32`,
//! serve the network around a host, and are not public here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::kind::AddressKind::{
    self, LinkLocal, Loopback, Metadata, Multicast, Private, Public, Reserved, Shared, Unspecified,
};

const fn v4(address: [u8; 4], bits: u8) -> Ipv4Net {
    let [a, b, c, d] = address;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

/// The first and the last segments of an address; the others are zero.
const fn v6(first: [u16; 3], last: u16, bits: u8) -> Ipv6Net {
    let [a, b, c] = first;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, last), bits)
}

/// An address outside of these ranges is public. The ranges for documentation (RFC 5737) are, too: no network of others
/// has them, and test networks use them for the services of the internet.
#[rustfmt::skip]
pub(super) const IPV4: [(Ipv4Net, AddressKind); 20] = [
    (v4([169, 254, 169, 254], 32), Metadata), // AWS, Azure, Google Cloud, Oracle Cloud, DigitalOcean, OpenStack and others: instance metadata
    (v4([169, 254, 170, 2], 32), Metadata), // AWS: credentials of tasks of ECS
    (v4([169, 254, 170, 23], 32), Metadata), // AWS: credentials of pods of EKS
    (v4([169, 254, 0, 23], 32), Metadata), // Tencent Cloud: instance metadata
    (v4([169, 254, 42, 42], 32), Metadata), // Scaleway: instance metadata
    (v4([100, 100, 100, 200], 32), Metadata), // Alibaba Cloud: instance metadata
    (v4([168, 63, 129, 16], 32), Metadata), // Azure: the platform's channel to its agents
    (v4([192, 0, 0, 192], 32), Metadata), // Oracle Cloud: instance metadata of older images
    (v4([0, 0, 0, 0], 8), Unspecified), // This network (RFC 791)
    (v4([10, 0, 0, 0], 8), Private), // Private use (RFC 1918)
    (v4([100, 64, 0, 0], 10), Shared), // Shared address space (RFC 6598)
    (v4([127, 0, 0, 0], 8), Loopback), // Loopback (RFC 1122)
    (v4([169, 254, 0, 0], 16), LinkLocal), // Link local (RFC 3927)
    (v4([172, 16, 0, 0], 12), Private), // Private use (RFC 1918)
    (v4([192, 0, 0, 0], 24), Reserved), // IETF protocol assignments (RFC 6890)
    (v4([192, 88, 99, 0], 24), Reserved), // 6to4 relay anycast, deprecated (RFC 7526)
    (v4([192, 168, 0, 0], 16), Private), // Private use (RFC 1918)
    (v4([198, 18, 0, 0], 15), Reserved), // Benchmarking (RFC 2544)
    (v4([224, 0, 0, 0], 4), Multicast), // Multicast (RFC 5771)
    (v4([240, 0, 0, 0], 4), Reserved), // Future use (RFC 1112), and limited broadcast (RFC 919)
];

/// An address outside of these ranges is reserved.
#[rustfmt::skip]
pub(super) const IPV6: [(Ipv6Net, AddressKind); 17] = [
    (v6([0xfd00, 0xec2, 0], 0x254, 128), Metadata), // AWS: instance metadata
    (v6([0xfd00, 0xec2, 0], 0x23, 128), Metadata), // AWS: credentials of pods of EKS
    (v6([0xfd20, 0xce, 0], 0x254, 128), Metadata), // Google Cloud: instance metadata
    (v6([0xfd00, 0x42, 0], 0x42, 128), Metadata), // Scaleway: instance metadata
    (v6([0, 0, 0], 0, 128), Unspecified), // Unspecified (RFC 4291)
    (v6([0, 0, 0], 1, 128), Loopback), // Loopback (RFC 4291)
    (v6([0x64, 0xff9b, 0], 0, 96), Public), // NAT64, which has the address of a public host inside (RFC 6052)
    (v6([0x64, 0xff9b, 1], 0, 48), Private), // NAT64 of local use (RFC 8215)
    (v6([0x2001, 0, 0], 0, 23), Reserved), // IETF protocol assignments (RFC 2928): Teredo, benchmarking, ORCHID and others
    (v6([0x2001, 0xdb8, 0], 0, 32), Reserved), // Documentation (RFC 3849)
    (v6([0x2002, 0, 0], 0, 16), Reserved), // 6to4, whose relays are deprecated (RFC 3056, RFC 7526)
    (v6([0x3fff, 0, 0], 0, 20), Reserved), // Documentation (RFC 9637)
    (v6([0x2000, 0, 0], 0, 3), Public), // Global unicast (RFC 4291)
    (v6([0xfc00, 0, 0], 0, 7), Private), // Unique local (RFC 4193)
    (v6([0xfe80, 0, 0], 0, 10), LinkLocal), // Link local (RFC 4291)
    (v6([0xfec0, 0, 0], 0, 10), Private), // Site local, deprecated (RFC 3879)
    (v6([0xff00, 0, 0], 0, 8), Multicast), // Multicast (RFC 4291)
];

/// Returns the kind of an address by the tables.
pub(super) fn kind(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => {
            IPV4.iter().find(|(net, _)| net.contains(&address)).map_or(Public, |(_, kind)| *kind)
        }
        IpAddr::V6(address) => {
            IPV6.iter().find(|(net, _)| net.contains(&address)).map_or(Reserved, |(_, kind)| *kind)
        }
    }
}
