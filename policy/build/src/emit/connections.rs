//! Writes the programs that connect to other hosts.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::text::{Result, list, put, reasoned};
use crate::data::{Network, Tables};

pub(super) fn write(out: &mut String, tables: &Tables) -> Result {
    let mut entries: BTreeMap<Vec<&str>, &Network> = BTreeMap::new();
    for (name, entry) in &tables.network {
        reasoned(name, &entry.does)?;
        for name in std::iter::once(name).chain(&entry.also) {
            if entries.insert(name.split(' ').collect(), entry).is_some() {
                return Err(format!("the network of `{name}` is listed twice"));
            }
        }
    }
    list(out, "NETWORKS", "Network", entries.into_iter(), |out, (name, entry)| {
        put(write!(
            out,
            "Network {{ name: {:?}, does: {:?}, presets: &{:?}, names: Names::{:?}, port: {}, host_flags: &{:?}, port_flags: &{:?}, values: &{:?}, except: &{:?}, only_with: &{:?}, needs_host: {}, when_missing: {}, direct: {} }}",
            name.join(" "),
            entry.does,
            entry.presets,
            entry.names,
            entry.port,
            entry.host_flags,
            entry.port_flags,
            entry.values,
            entry.except,
            entry.only_with,
            entry.needs_host,
            entry.when_missing,
            entry.direct
        ))
    })
}
