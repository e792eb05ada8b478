//! The address of a Vault server.

use std::net::IpAddr;

use hyper::Uri;

/// The port of an address without one.
const PORT: u16 = 8200;

/// An address is not usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not `https://HOST:PORT`.
    #[error("is not `https://HOST:PORT` without a user and a path")]
    Form,
    /// Plain HTTP leaves the host.
    #[error("is not https://, and not http:// with a loopback address and `insecure_loopback`")]
    Plain,
}

/// The address of a Vault server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
}

impl Address {
    /// Parses `https://HOST[:PORT]`. Without a port: 8200. With `insecure_loopback` also `http://` with an address of
    /// the loopback.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str, insecure_loopback: bool) -> Result<Self, AddressError> {
        let uri: Uri = text.parse().map_err(|_| AddressError::Form)?;
        let authority = uri.authority().ok_or(AddressError::Form)?;
        let is_bare = uri.path() == "/" && uri.query().is_none() && !authority.as_str().contains('@');
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        if !is_bare || host.is_empty() {
            return Err(AddressError::Form);
        }
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(AddressError::Form),
        };
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let allowed = tls || (insecure_loopback && is_loopback);
        if !allowed {
            return Err(AddressError::Plain);
        }
        Ok(Self { host, port: authority.port_u16().unwrap_or(PORT), tls })
    }

    /// Returns the value of the header `Host`.
    pub(crate) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}
