//! The first message of a TLS client, and the server name in it. rustls parses it; the proxy passes its bytes on
//! unchanged.
//!
//! The name is the outer one. A client that encrypts its ClientHello, or that asks a server for another site after the
//! handshake, reaches what the server provides.

use std::io;

use airlock_network::{Host, HostName, Target};
use rustls::server::Acceptor;
use tokio::{io::AsyncReadExt, net::TcpStream};

/// The longest first message in bytes. Those of browsers with post-quantum keys have 2 KiB.
const MAX_BYTES: usize = 16 * 1024;
/// The bytes that are read at once.
const READ: usize = 2 * 1024;
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;
/// A fatal TLS alert, `access_denied`.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// The result of the check of a tunnel's first bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    /// A handshake for the requested name, or for an address.
    Passed,
    /// No handshake, or an invalid one.
    NoTls,
    /// A request of plain HTTP.
    PlainHttp,
    /// A handshake for another name, or for none.
    OtherName,
    /// The client closed the connection and sent nothing.
    Closed,
}

impl Checked {
    /// Returns why the tunnel is closed, with the remedy.
    pub(crate) fn problem(&self, target: &Target) -> Option<String> {
        match self {
            Self::Passed | Self::Closed | Self::PlainHttp => None,
            Self::NoTls => {
                Some(format!("the tunnel does not begin with TLS; allow `{}`", target.raw_entry()))
            }
            Self::OtherName => {
                Some(format!("the TLS handshake names another server; allow `{}`", target.raw_entry()))
            }
        }
    }

    /// Returns the last bytes that the client gets.
    pub(crate) fn alert(&self) -> &'static [u8] {
        match self {
            Self::OtherName => &ALERT,
            Self::Passed | Self::NoTls | Self::Closed | Self::PlainHttp => &[],
        }
    }
}

/// Reads a client's first TLS message into `bytes`, which may already contain a part of it, and compares its name.
pub(crate) async fn read(
    client: &mut TcpStream,
    bytes: &mut Vec<u8>,
    name: Option<&HostName>,
) -> io::Result<Checked> {
    let mut acceptor = Acceptor::default();
    let mut seen = 0;
    loop {
        if bytes.first().is_some_and(|first| *first != HANDSHAKE) {
            return Ok(if is_request(bytes) { Checked::PlainHttp } else { Checked::NoTls });
        }
        let mut fresh = bytes.get(seen..).unwrap_or_default();
        seen = bytes.len();
        while !fresh.is_empty() {
            match acceptor.read_tls(&mut fresh) {
                Ok(count) if count > 0 => {}
                _ => return Ok(Checked::NoTls),
            }
        }
        match acceptor.accept() {
            Ok(Some(accepted)) => return Ok(compare(accepted.client_hello().server_name(), name)),
            Ok(None) if bytes.len() < MAX_BYTES => {}
            Ok(None) | Err(_) => return Ok(Checked::NoTls),
        }
        bytes.reserve(READ);
        match client.read_buf(bytes).await? {
            0 if bytes.is_empty() => return Ok(Checked::Closed),
            0 => return Ok(Checked::NoTls),
            _ => {}
        }
    }
}

/// Returns whether the bytes begin with a method and a path.
fn is_request(bytes: &[u8]) -> bool {
    let method = bytes.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    method > 0 && bytes.get(method..).is_some_and(|rest| rest.starts_with(b" /"))
}

fn compare(given: Option<&str>, requested: Option<&HostName>) -> Checked {
    let Some(requested) = requested else { return Checked::Passed };
    let given = given.map(Host::parse);
    if matches!(given, Some(Ok(Host::Name(name))) if name == *requested) {
        Checked::Passed
    } else {
        Checked::OtherName
    }
}
