//! The decision about the address that a name resolves to.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{
    address::{AddressKind, views},
    host::Host,
    layers::Layers,
    refusal::{self, LayerName, Refusal, RefusedAddress, join},
    rules::Rules,
    target::Target,
};

/// Decides about addresses, with the addresses that the runner knows about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressGuard {
    own: Vec<IpAddr>,
    cluster: Vec<IpNet>,
}

impl AddressGuard {
    /// Creates a guard with the addresses of the runner's host and the ranges of its cluster.
    #[must_use]
    pub fn new(own: Vec<IpAddr>, cluster: Vec<IpNet>) -> Self {
        let own = own.into_iter().map(|address| address.to_canonical()).collect();
        Self { own, cluster }
    }

    /// Returns the kind of an address. An address inside determines the kind, unless it is public.
    #[must_use]
    pub fn kind(&self, address: IpAddr) -> AddressKind {
        let mut kinds = views(address).into_iter().rev().map(|view| self.kind_of_view(view));
        kinds.find(|kind| *kind != AddressKind::Public).unwrap_or(AddressKind::Public)
    }

    /// Decides about an address of a target that [`Layers::decide`] allowed. Pass each address that the name resolved
    /// to, or the address that the target names.
    ///
    /// A deny entry that contains the address wins. An address that is not public needs an entry in every layer that
    /// lists it, with the port of the target: the address itself, or a range that contains it. Only the address itself
    /// lists the runner's own host and metadata ([`AddressKind::needs_exact_entry`]). The same holds for each IPv4 address
    /// inside an IPv6 address.
    ///
    /// # Errors
    ///
    /// Returns the refusal.
    pub fn check(&self, ip: IpAddr, layers: &Layers, target: &Target) -> Result<(), Refusal> {
        let ip = ip.to_canonical();
        let address = Some(RefusedAddress { ip, kind: self.kind(ip) });
        let judged = Target { host: Host::Address(ip), port: target.port };
        if let Some(refusal) = layers.denied(&judged, target) {
            return Err(Refusal { address, ..refusal });
        }
        let mut entries = Vec::new();
        let mut silent: Vec<LayerName> = Vec::new();
        for (view, kind) in views(ip).into_iter().map(|view| (view, self.kind_of_view(view))) {
            let lists = |rules: &Rules| kind == AddressKind::Public || rules.lists(view, kind, target.port);
            let without = layers.without(lists);
            if !without.is_empty() {
                entries.push(Target { host: Host::Address(view), port: target.port }.entry());
                silent.extend(without);
            }
        }
        silent.sort_unstable();
        silent.dedup();
        let Some((layer, others)) = silent.split_first() else {
            return Ok(());
        };
        let remedy = refusal::add(&join(entries, "and"), &silent);
        let (layer, others) = (*layer, others.to_vec());
        Err(Refusal {
            target: target.to_string(),
            address,
            rule: None,
            is_asked: false,
            layer,
            others,
            remedy,
        })
    }

    fn kind_of_view(&self, address: IpAddr) -> AddressKind {
        match AddressKind::of_view(address) {
            kind @ (AddressKind::Metadata | AddressKind::Loopback | AddressKind::Unspecified) => kind,
            _ if self.own.contains(&address) => AddressKind::Own,
            _ if self.cluster.iter().any(|range| range.contains(&address)) => AddressKind::Cluster,
            kind => kind,
        }
    }
}

#[cfg(test)]
mod tests;
