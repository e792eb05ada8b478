//! Names that never lead to a public host.

use crate::host::HostName;

/// Names at which clouds provide credentials to their machines, as listed in the clouds' documentation of instance
/// metadata. A resolver usually gives them a metadata address, but an upstream proxy can resolve them without Airlock.
const METADATA: [&str; 7] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.packet.net",
    "metadata.tencentyun.com",
];

/// Domains of local networks: special-use names (RFC 6761, RFC 6762, RFC 8375), `internal`, which ICANN reserved in 2024,
/// and the domains of RFC 6762, appendix G, that networks use without a reservation.
const PRIVATE: [&str; 11] = [
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "private",
    "svc",
];

/// Reports whether a name leads to the credentials of a cloud. Only an entry for this name allows it.
pub(crate) fn is_metadata(name: &HostName) -> bool {
    METADATA.contains(&name.as_str())
}

/// Reports whether a name belongs to a local network. `any` does not include it.
pub(crate) fn is_private(name: &HostName) -> bool {
    let is_in = |domain: &str| {
        name.as_str().strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    name.is_single_label() || is_metadata(name) || PRIVATE.into_iter().any(is_in)
}
