//! The kinds of addresses, from the registries of IANA and from the documentation of clouds.
//!
//! An IPv6 address that contains an IPv4 address, such as `64:ff9b::7f00:1`, has several *views*: the address itself and
//! each address inside. Each view has a kind of its own, and each must be permitted.

mod embedded;
mod kind;
mod registry;

use std::net::IpAddr;

pub(crate) use embedded::views;
pub use kind::AddressKind;

impl AddressKind {
    /// Returns the kind of an address, from the address alone: never [`AddressKind::Own`] or [`AddressKind::Cluster`].
    /// An address inside determines the kind, unless it is public.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let mut kinds = views(address).into_iter().rev().map(Self::of_view);
        kinds.find(|kind| *kind != Self::Public).unwrap_or(Self::Public)
    }

    /// Returns the kind of an address without the addresses inside.
    pub(crate) fn of_view(address: IpAddr) -> Self {
        registry::kind(address)
    }
}

#[cfg(test)]
mod tests;
