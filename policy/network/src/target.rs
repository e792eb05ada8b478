//! The target of a connection: a host and a port.

use std::fmt;

use crate::host::{Host, HostError};

/// The ports of an entry without a port: HTTP and HTTPS.
pub(crate) const WEB_PORTS: [u16; 2] = [80, 443];
/// Ports whose protocols do not begin with TLS: SSH, MySQL, PostgreSQL, Redis and Git.
const RAW_PORTS: [u16; 5] = [22, 3_306, 5_432, 6_379, 9_418];

/// The target of a connection. It is shown as `example.com:443` or `[2001:db8::1]:443`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port. No rule allows port 0.
    pub port: u16,
}

/// The reason why a text is not a target: the problem and the remedy, in one line of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// The host is wrong.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The text has no port, or a wrong one.
    #[error("the port is missing or not a number from 1 to 65535; write `HOST:PORT`")]
    Port,
}

impl Target {
    /// Parses a host and a port with a colon between them. An IPv6 address needs brackets.
    ///
    /// # Errors
    ///
    /// Fails if the host or the port is wrong.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let (host, port) = text.rsplit_once(':').ok_or(TargetError::Port)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(HostError::Brackets.into());
        }
        Ok(Self { host: Host::parse(host)?, port: parse_port(port).ok_or(TargetError::Port)? })
    }

    /// Returns the shortest entry of a list that allows the target. On ports whose protocols do not begin with TLS, it
    /// allows a raw tunnel.
    #[must_use]
    pub fn entry(&self) -> String {
        let has_one_label = matches!(&self.host, Host::Name(name) if name.is_single_label());
        match self.port {
            port if RAW_PORTS.contains(&port) => self.raw_entry(),
            // A word without a port is the name of a preset.
            port if WEB_PORTS.contains(&port) && !has_one_label => self.host.to_string(),
            _ => self.to_string(),
        }
    }

    /// Returns the entry of a list that allows a raw tunnel to the target.
    #[must_use]
    pub fn raw_entry(&self) -> String {
        format!("{self}/tcp")
    }
}

/// Parses a port from 1 to 65535 without a sign and leading zeros.
pub(crate) fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    if is_plain { text.parse().ok() } else { None }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of targets.

    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port() {
        for (text, shown) in [
            ("Example.COM.:443", "example.com:443"),
            ("[2001:DB8::1]:80", "[2001:db8::1]:80"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
            ("0x7f.1:65535", "127.0.0.1:65535"),
        ] {
            assert_eq!(Target::parse(text).map(|target| target.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_port_has_one_spelling() {
        for port in [
            "",
            "0",
            "00",
            "080",
            "+80",
            "-1",
            " 80",
            "80 ",
            "8 0",
            "65536",
            "99999999999",
            "http",
            "8\u{ff10}",
            "80\0",
        ] {
            assert_eq!(Target::parse(&format!("example.com:{port}")), Err(TargetError::Port), "{port:?}");
        }
        assert_eq!(Target::parse("example.com"), Err(TargetError::Port));
    }

    #[test]
    fn an_ipv6_address_needs_brackets() {
        for text in ["::1:443", "2001:db8::1:443", "example.com:80:443"] {
            assert_eq!(Target::parse(text), Err(TargetError::Host(HostError::Brackets)), "{text}");
        }
    }

    #[test]
    fn an_entry_is_short() {
        for (target, entry) in [
            ("example.com:443", "example.com"),
            ("example.com:80", "example.com"),
            ("example.com:8080", "example.com:8080"),
            ("pypi:443", "pypi:443"),
            ("10.0.0.1:443", "10.0.0.1"),
            ("[2001:db8::1]:22", "[2001:db8::1]:22/tcp"),
        ] {
            assert_eq!(Target::parse(target).unwrap().entry(), entry);
        }
    }
}
