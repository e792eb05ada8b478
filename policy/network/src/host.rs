//! The host of a target: a normalized name, or an address.
//!
//! [`Host::parse`] accepts every spelling that a browser or a C library accepts, so that no spelling of an address passes
//! as a name. It follows the host parser of the [WHATWG URL Standard](https://url.spec.whatwg.org/#host-parsing), and is
//! stricter in these points:
//!
//! * Percent-encoding is refused instead of decoded.
//! * A name has no empty label, except the final dot, no label of more than 63 characters, and at most 253 characters.
//! * A label does not begin or end with a hyphen, and has no punctuation except hyphens and underscores.

mod error;
mod ipv4;
mod name;

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

pub use error::HostError;
pub use name::HostName;

/// The most bytes of a host before it is normalized. A longer text cannot become a name of 253 characters.
const MOST_BYTES: usize = 1_024;

/// A normalized host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A name that DNS resolves.
    Name(HostName),
    /// An address. IPv4 addresses are never in their IPv6-mapped form.
    Address(IpAddr),
}

impl Host {
    /// Parses a name or an address in any usual spelling: letters of either case, a final dot, IDNA, IPv4 in decimal,
    /// octal or hexadecimal parts, and IPv6 with or without brackets.
    ///
    /// # Errors
    ///
    /// Fails if the text is neither, or could be read as either.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if text.len() > MOST_BYTES {
            return Err(HostError::TooLong);
        }
        if let Some(wrong) = text.chars().find(|c| is_never_in_a_host(*c)) {
            return Err(HostError::Character(wrong));
        }
        if text.contains([':', '[', ']']) {
            return ipv6(text);
        }
        let name = name::normalized(text)?;
        match ipv4::parse(&name) {
            Some(address) => Ok(Self::Address(address?.into())),
            None => Ok(Self::Name(HostName::from_normalized(name))),
        }
    }

    /// Reports whether the host is the machine itself: `localhost`, a name below it, a loopback address, or the
    /// unspecified address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name.as_str() == "localhost" || name.as_str().ends_with(".localhost"),
            Self::Address(address) => address.is_loopback() || address.is_unspecified(),
        }
    }
}

/// IDNA refuses the other characters that are never in a host.
fn is_never_in_a_host(c: char) -> bool {
    c.is_control()
        || c.is_whitespace()
        || c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.' | ':' | '[' | ']')
}

fn ipv6(text: &str) -> Result<Host, HostError> {
    let inside = match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').ok_or(HostError::Brackets)?,
        None => text,
    };
    if inside.contains(['[', ']']) {
        return Err(HostError::Brackets);
    }
    let address: Ipv6Addr = inside.parse().map_err(|_| HostError::Ipv6)?;
    Ok(Host::Address(address.to_canonical()))
}

/// Shows an IPv6 address in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests;
