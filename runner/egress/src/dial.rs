//! Connections to targets. Only this file and the upstream proxy connect to anything.

use std::{io, net::IpAddr, time::Duration};

use airlock_network::{Host, Target};
use tokio::{net::TcpStream, time};

use crate::upstream::Upstream;

/// Connects to the first of the addresses that accepts. Each attempt takes at most `each`.
///
/// With an upstream proxy, the proxy connects: to each of the addresses in turn, or to the name.
///
/// # Errors
///
/// Returns the error of the last attempt.
pub(crate) async fn connect(
    addresses: &[IpAddr],
    target: &Target,
    upstream: Option<&Upstream>,
    each: Duration,
) -> io::Result<(TcpStream, Option<IpAddr>)> {
    if let Some(upstream) = upstream.filter(|upstream| upstream.resolves()) {
        let stream = within(each, upstream.connect(target)).await?;
        return Ok((stream, addresses.first().copied()));
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        let dialed = Target { host: Host::Address(*address), port: target.port };
        let connected = match upstream {
            Some(upstream) => within(each, upstream.connect(&dialed)).await,
            None => within(each, TcpStream::connect((*address, target.port))).await,
        };
        match connected {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok((stream, Some(*address)));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn within(
    limit: Duration,
    connecting: impl Future<Output = io::Result<TcpStream>>,
) -> io::Result<TcpStream> {
    time::timeout(limit, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
