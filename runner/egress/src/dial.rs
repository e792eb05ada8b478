//! Connections to targets. Only this file connects to anything.

use std::{io, net::IpAddr, time::Duration};

use tokio::{net::TcpStream, time};

/// Connects to the first of the addresses that accepts. Each attempt takes at most `each`.
///
/// # Errors
///
/// Returns the error of the last attempt.
pub(crate) async fn connect(
    addresses: &[IpAddr],
    port: u16,
    each: Duration,
) -> io::Result<(TcpStream, IpAddr)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match time::timeout(each, TcpStream::connect((*address, port))).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok((stream, *address));
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}
