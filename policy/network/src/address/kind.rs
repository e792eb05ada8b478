//! The names of the kinds of addresses.

use std::fmt;

/// The kind of an address. Only [`AddressKind::Public`] needs no entry that lists the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AddressKind {
    /// An address of the internet.
    Public,
    /// The address of no host, such as `0.0.0.0`. Linux connects it to the host itself.
    Unspecified,
    /// An address of the host itself, such as `127.0.0.1`.
    Loopback,
    /// An address of the local link, such as `169.254.1.1`.
    LinkLocal,
    /// An address at which a cloud provides credentials, such as `169.254.169.254`.
    Metadata,
    /// An address of a private network, such as `10.0.0.1`.
    Private,
    /// An address between a provider and its customers: `100.64.0.0/10`.
    Shared,
    /// An address of a group of hosts.
    Multicast,
    /// An address that no host of the internet has, such as those for documentation.
    Reserved,
    /// An address of the runner's host.
    Own,
    /// An address of the runner's cluster.
    Cluster,
}

impl AddressKind {
    /// Every kind, for metrics and tests.
    pub const ALL: [Self; 11] = [
        Self::Public,
        Self::Unspecified,
        Self::Loopback,
        Self::LinkLocal,
        Self::Metadata,
        Self::Private,
        Self::Shared,
        Self::Multicast,
        Self::Reserved,
        Self::Own,
        Self::Cluster,
    ];

    /// Returns a name for metrics and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Unspecified => "unspecified",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
            Self::Own => "own",
            Self::Cluster => "cluster",
        }
    }

    /// Reports whether only an entry for this one address lists it. A range that happens to contain the runner's own
    /// host or a cloud's credentials does not.
    #[must_use]
    pub const fn needs_exact_entry(self) -> bool {
        matches!(self, Self::Unspecified | Self::Loopback | Self::Own | Self::Metadata)
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
