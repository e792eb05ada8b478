//! The reading of addresses by the system's resolver, without a question to a server.

use std::net::IpAddr;

use dns_lookup::{AddrInfoHints, getaddrinfo};

/// `AI_NUMERICHOST` of Linux: only addresses, no names.
const NUMERIC_HOST: i32 = 4;

/// Returns the address that the C library reads a text as. `None`: the text is not an address.
#[must_use]
pub fn address(text: &str) -> Option<IpAddr> {
    let hints = AddrInfoHints { flags: NUMERIC_HOST, ..AddrInfoHints::default() };
    let found = getaddrinfo(Some(text), None, Some(hints)).ok()?.next()?.ok()?;
    Some(found.sockaddr.ip())
}
