//! One entry of a list: a host, a domain or a range of addresses, with its port.
//!
//! The forms are `HOST`, `*.DOMAIN`, `ADDRESS` and `RANGE`, each alone, with `:PORT` or with `:PORT/tcp`. This module does
//! not know presets.

use std::net::IpAddr;

use airlock_escape::{line, shortened};
use ipnet::IpNet;

use super::error::Problem;
use crate::{
    address::{AddressKind, views},
    host::{Host, HostName},
    names,
    target::{Target, WEB_PORTS, parse_port},
};

/// Words that a person could write instead of `tcp`.
const OTHER_PROTOCOLS: [&str; 8] = ["http", "https", "quic", "sctp", "ssh", "tcp", "tls", "udp"];
/// The most columns of a quoted part of an entry.
const MOST_COLUMNS: usize = 60;

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    text: String,
    hosts: Hosts,
    /// Without a port, an entry allows the ports of HTTP and HTTPS, and denies every port.
    port: Option<u16>,
    raw: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    Name(HostName),
    Below(HostName),
    Range(IpNet),
}

impl Entry {
    /// Parses an entry that is not a preset.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        if text.is_empty() {
            return Err(Problem::new("it is empty".to_owned(), "remove it, or write a host".to_owned()));
        }
        if let Some((_, rest)) = text.split_once("://") {
            return Err(not_a_host("a URL", rest));
        }
        let (rest, raw) = match text.rsplit_once('/') {
            Some((rest, "tcp")) => (rest, true),
            Some((_, other)) if OTHER_PROTOCOLS.contains(&other.to_ascii_lowercase().as_str()) => {
                let problem = format!("`/{}` is not accepted", quoted(other));
                return Err(Problem::new(
                    problem,
                    "write `/tcp` for a raw tunnel, or only the port".to_owned(),
                ));
            }
            _ => (text, false),
        };
        let (hosts, port) = split_port(rest);
        let port = port.map(|port| parse_port(port).ok_or_else(|| wrong_port(port))).transpose()?;
        if raw && port.is_none() {
            let remedy = format!("write `{}:PORT/tcp`", quoted(hosts));
            return Err(Problem::new("a raw tunnel needs a port".to_owned(), remedy));
        }
        Ok(Self { text: line(text.as_bytes()), hosts: Hosts::parse(hosts)?, port, raw })
    }

    /// Refuses an entry that allows more than a person would expect from a list.
    pub(crate) fn check_breadth(&self) -> Result<(), Problem> {
        let (problem, remedy) = match &self.hosts {
            Hosts::Below(domain) if domain.is_single_label() => {
                ("it allows a whole top-level domain", "write each domain, as `*.example.com`")
            }
            Hosts::Range(range) if range.prefix_len() == 0 => (
                "it allows every address",
                "set `any` of the network rules for public hosts, and write each private range",
            ),
            _ => return Ok(()),
        };
        Err(Problem::new(problem.to_owned(), remedy.to_owned()))
    }

    /// Puts the name of a preset before the text.
    pub(crate) fn of_preset(self, preset: &str) -> Self {
        Self { text: format!("{preset}: {}", self.text), ..self }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the entry names a port.
    pub(crate) const fn has_port(&self) -> bool {
        self.port.is_some()
    }

    /// Reports whether the entry is for a single name or address.
    pub(crate) fn is_one_host(&self) -> bool {
        match &self.hosts {
            Hosts::Name(_) => true,
            Hosts::Below(_) => false,
            Hosts::Range(range) => range.prefix_len() == range.max_prefix_len(),
        }
    }

    /// Reports whether the connection may carry any protocol.
    pub(crate) const fn is_raw(&self) -> bool {
        self.raw
    }

    /// Reports whether this entry of `allow` allows the target.
    pub(crate) fn allows(&self, target: &Target) -> bool {
        self.allows_port(target.port) && self.hosts.allow(&target.host)
    }

    /// Reports whether this entry of `deny` denies the target.
    pub(crate) fn denies(&self, target: &Target) -> bool {
        self.asks_port(target.port) && self.hosts.deny(&target.host)
    }

    /// Reports whether this entry of `ask` asks about the target. Without a port, it asks about every port.
    pub(crate) fn asks(&self, target: &Target) -> bool {
        self.denies(target)
    }

    /// Reports whether this entry of `ask` lets the target through after a positive answer.
    pub(crate) fn permits(&self, target: &Target) -> bool {
        self.asks_port(target.port) && self.hosts.allow(&target.host)
    }

    /// Reports whether this entry of `allow` lists an address of this kind.
    pub(crate) fn lists(&self, address: IpAddr, kind: AddressKind, port: u16) -> bool {
        self.allows_port(port) && self.hosts.list(address, kind)
    }

    /// Reports whether this entry of `ask` lists an address of this kind.
    pub(crate) fn lists_asked(&self, address: IpAddr, kind: AddressKind, port: u16) -> bool {
        self.asks_port(port) && self.hosts.list(address, kind)
    }

    fn asks_port(&self, port: u16) -> bool {
        self.port.is_none_or(|only| only == port)
    }

    fn allows_port(&self, port: u16) -> bool {
        self.port.map_or(WEB_PORTS.contains(&port), |only| only == port)
    }
}

impl Hosts {
    fn allow(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Name(only), Host::Name(name)) => only == name,
            // A domain does not list names that lead to credentials of a cloud.
            (Self::Below(domain), Host::Name(name)) => name.is_below(domain) && !names::is_metadata(name),
            (Self::Range(range), Host::Address(address)) => range.contains(address),
            _ => false,
        }
    }

    fn list(&self, address: IpAddr, kind: AddressKind) -> bool {
        match self {
            Self::Range(range) if kind.needs_exact_entry() => *range == IpNet::from(address),
            Self::Range(range) => range.contains(&address),
            Self::Name(_) | Self::Below(_) => false,
        }
    }

    /// A range also denies the addresses inside of an address.
    fn deny(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Name(only), Host::Name(name)) => only == name,
            (Self::Below(domain), Host::Name(name)) => name.is_below(domain),
            (Self::Range(range), Host::Address(address)) => {
                views(*address).iter().any(|view| range.contains(view))
            }
            _ => false,
        }
    }

    fn parse(text: &str) -> Result<Self, Problem> {
        if let Some(domain) = text.strip_prefix("*.") {
            return match parse_host(domain)? {
                Host::Name(domain) => Ok(Self::Below(domain)),
                Host::Address(_) => Err(Problem::new(
                    "an address has no names below it".to_owned(),
                    "write a range, as `10.1.0.0/16`".to_owned(),
                )),
            };
        }
        if text.contains('*') {
            let remedy = "write `*.DOMAIN`, or each name; for every public host, set `any`".to_owned();
            return Err(Problem::new("`*` is only accepted as the whole first label".to_owned(), remedy));
        }
        if text.starts_with('.') {
            let remedy = format!("write `*{}` for the names below the domain", quoted(text));
            return Err(Problem::new("it begins with a dot".to_owned(), remedy));
        }
        match text.split_once('/') {
            Some((address, bits)) => range(address, bits).map(Self::Range),
            None => Ok(match parse_host(text)? {
                Host::Name(name) => Self::Name(name),
                Host::Address(address) => Self::Range(address.into()),
            }),
        }
    }
}

fn parse_host(text: &str) -> Result<Host, Problem> {
    Host::parse(text).map_err(|error| {
        let message = error.to_string();
        let (problem, remedy) = message.split_once("; ").unwrap_or((&message, "correct it"));
        Problem::new(problem.to_owned(), remedy.to_owned())
    })
}

/// Splits off the port, without a mistake in an IPv6 address or a range.
fn split_port(text: &str) -> (&str, Option<&str>) {
    let after_address = text.rfind([']', '/']);
    let is_bare_ipv6 = after_address.is_none() && text.matches(':').count() > 1;
    match text.rsplit_once(':') {
        Some((host, port)) if !is_bare_ipv6 && after_address.is_none_or(|end| end < host.len()) => {
            (host, Some(port))
        }
        _ => (text, None),
    }
}

/// Parses `ADDRESS/BITS`, where brackets are around the address or around both.
fn range(address: &str, bits: &str) -> Result<IpNet, Problem> {
    let (address, bits) = match (address.strip_prefix('['), bits.strip_suffix(']')) {
        (Some(address), Some(bits)) => (address, bits),
        _ => (address, bits),
    };
    let base = match Host::parse(address) {
        Ok(Host::Address(base)) => base,
        Ok(Host::Name(_)) | Err(_) => return Err(not_a_host("a path", address)),
    };
    let is_number = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|_| is_number).ok_or_else(|| wrong_bits(base))?;
    if address.contains(':') && base.is_ipv4() {
        let remedy = format!("write it in the form of IPv4, as `{base}/{}`", bits.saturating_sub(96));
        return Err(Problem::new("it is a range of IPv4 in the form of IPv6".to_owned(), remedy));
    }
    let range = IpNet::new(base, bits).map_err(|_| wrong_bits(base))?;
    if range.trunc() != range {
        let remedy = format!("write `{}` for the range, or `{base}` for the address", range.trunc());
        return Err(Problem::new("the address is not the first of its range".to_owned(), remedy));
    }
    Ok(range)
}

fn wrong_bits(base: IpAddr) -> Problem {
    let most = if base.is_ipv4() { 32 } else { 128 };
    let remedy = format!("write a number from 1 to {most} after the slash");
    Problem::new("the length of the range is wrong".to_owned(), remedy)
}

fn wrong_port(port: &str) -> Problem {
    let problem = format!("the port `{}` is not a number from 1 to 65535", quoted(port));
    Problem::new(problem, "write one port; each port has an entry of its own".to_owned())
}

/// The problem of a URL or path, with the host that it probably means.
fn not_a_host(kind: &str, text: &str) -> Problem {
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, _) = split_port(host);
    let remedy = match Host::parse(name) {
        Ok(_) => format!("write only the host, as `{}`", quoted(host)),
        Err(_) => "write only the host, as `example.com`".to_owned(),
    };
    Problem::new(format!("it is {kind}"), remedy)
}

fn quoted(text: &str) -> String {
    shortened(text.as_bytes(), MOST_COLUMNS)
}
