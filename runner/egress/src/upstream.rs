//! The upstream proxy: the only way to other networks, in networks that have one.
//!
//! The runner's configuration names it, so its own address is not checked. Must not decide about a target.

use std::{fmt, io};

use airlock_network::Target;
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::Uri;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use zeroize::Zeroizing;

/// The longest answer of an upstream proxy to CONNECT.
const MAX_HEAD: usize = 8 * 1024;
/// The port of an address without one.
const PORT: u16 = 3128;

/// An HTTP proxy that opens tunnels by CONNECT. Its `Debug` form contains no credential.
pub struct Upstream {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    credential: Option<Zeroizing<String>>,
    resolves: bool,
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// The address of an upstream proxy is not `http://HOST[:PORT]`.
#[derive(Debug, thiserror::Error)]
#[error("it is not `http://HOST:PORT` without a user, a path and TLS")]
pub struct UpstreamError;

impl Upstream {
    /// Creates the settings of a proxy at `http://HOST:PORT`. `credential` is `USER:PASSWORD`.
    ///
    /// If the proxy resolves names, it gets the name of each target, also of one that the runner cannot resolve.
    /// Otherwise it gets the address that was checked.
    ///
    /// # Errors
    ///
    /// Fails if the address is wrong.
    pub fn new(address: &str, credential: Option<&[u8]>, resolves: bool) -> Result<Self, UpstreamError> {
        let uri: Uri = address.parse().map_err(|_| UpstreamError)?;
        let authority = uri.authority().ok_or(UpstreamError)?;
        let is_plain = uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none();
        if !is_plain || authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(UpstreamError);
        }
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(PORT),
            credential: credential.map(|text| Zeroizing::new(BASE64_STANDARD.encode(text))),
            resolves,
        })
    }

    /// Reports whether the proxy gets names instead of addresses.
    pub(crate) fn resolves(&self) -> bool {
        self.resolves
    }

    /// Opens a tunnel to a target: the name, or the address that replaces it.
    ///
    /// # Errors
    ///
    /// Fails if the proxy cannot be reached, or refuses.
    pub(crate) async fn connect(&self, target: &Target) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        let credential = self.credential.as_ref().map_or_else(Zeroizing::default, |credential| {
            Zeroizing::new(format!("Proxy-Authorization: Basic {}\r\n", credential.as_str()))
        });
        let request = Zeroizing::new(format!(
            "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n",
            credential.as_str()
        ));
        stream.write_all(request.as_bytes()).await?;
        if is_open(&head(&mut stream).await?) {
            Ok(stream)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

/// Reads the head of an answer, and nothing behind it: the target may speak first.
async fn head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(stream.read_u8().await?);
    }
    Ok(head)
}

/// Reports whether an answer has a status of success.
fn is_open(head: &[u8]) -> bool {
    let rest = head.strip_prefix(b"HTTP/1.1 2").or_else(|| head.strip_prefix(b"HTTP/1.0 2"));
    matches!(rest, Some([a, b, b' ' | b'\r', ..]) if a.is_ascii_digit() && b.is_ascii_digit())
}
