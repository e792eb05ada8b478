//! Accepts connections up to the configured limits and completes their handshakes within a timeout.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use airlock_limits::shares::{Full, Share, Shares};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{
    certificates::LiveTls,
    connection::{Connection, Io, Parts},
};
use crate::{
    authn::{CertificateNames, Peer},
    listen::peer_address,
    telemetry::Metrics,
};

/// The number of connections that have completed their handshake and wait to be served.
const WAITING: usize = 64;
/// The pause after the system had no file descriptor or memory for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The limits of connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcceptLimits {
    /// Open connections.
    pub(crate) connections: u32,
    /// Open connections from one address; for IPv6, from one /64 network.
    pub(crate) connections_per_peer: u32,
    /// The time from the first byte to the end of the client's HTTP/2 preface.
    pub(crate) handshake_timeout: Duration,
    /// The maximum time without an open call.
    pub(crate) connection_idle: Duration,
}

/// Accepts connections from a socket.
pub(crate) struct Accept {
    listener: TcpListener,
    tls: Option<LiveTls>,
    places: Shares<IpAddr>,
    limits: AcceptLimits,
    metrics: Metrics,
    cut: CancellationToken,
}

/// The reason why a connection was refused.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("handshake: {0}")]
    Handshake(#[from] io::Error),
    #[error("timeout")]
    Timeout,
}

impl Accept {
    /// Creates an acceptor for `listener`. Its connections end when `cut` is cancelled.
    pub(crate) fn new(
        listener: TcpListener,
        tls: Option<LiveTls>,
        limits: AcceptLimits,
        metrics: Metrics,
        cut: CancellationToken,
    ) -> Self {
        Self { listener, tls, places: Shares::default(), limits, metrics, cut }
    }

    /// Returns a channel of the right size for [`Accept::run`].
    pub(crate) fn channel() -> (mpsc::Sender<io::Result<Connection>>, mpsc::Receiver<io::Result<Connection>>)
    {
        mpsc::channel(WAITING)
    }

    /// Passes on connections until `stop` is cancelled or the receiver is dropped. Then the socket is closed.
    pub(crate) async fn run(self, ready: mpsc::Sender<io::Result<Connection>>, stop: CancellationToken) {
        let mut handshakes = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = ready.closed() => return,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, address)) => {
                        self.begin(stream, peer_address(address), &ready, &mut handshakes);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection; retrying");
                        sleep(PAUSE).await;
                    }
                },
                Some(_) = handshakes.join_next(), if !handshakes.is_empty() => {}
            }
        }
    }

    fn begin(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        ready: &mpsc::Sender<io::Result<Connection>>,
        handshakes: &mut JoinSet<()>,
    ) {
        let limits = self.limits;
        let (all, own) = (limits.connections as usize, limits.connections_per_peer as usize);
        let place = match self.places.take(whose(address.ip()), all, own) {
            Ok(place) => place,
            Err(full) => {
                let (reason, limit) = match full {
                    Full::All => ("limit", "connections"),
                    Full::Own => ("peer_limit", "connections_per_peer"),
                };
                self.metrics.connection_refused(reason);
                tracing::debug!(peer = %address, limit, "connection refused: a limit is reached");
                return;
            }
        };
        let deadline = Instant::now() + limits.handshake_timeout;
        let held = Held { place, deadline, idle: limits.connection_idle };
        let tls = self.tls.as_ref().map(|tls| TlsAcceptor::from(tls.now()));
        let (metrics, cut) = (self.metrics.clone(), self.cut.clone());
        let ready = ready.clone();
        handshakes.spawn(async move {
            match shake(stream, address, tls, held, metrics.clone(), cut).await {
                // This fails when the server stops. Then the connection is not needed.
                Ok(connection) => drop(ready.send(Ok(connection)).await),
                Err(refusal) => {
                    metrics.connection_refused(match refusal {
                        Refusal::Handshake(_) => "handshake",
                        Refusal::Timeout => "timeout",
                    });
                    tracing::debug!(peer = %address, %refusal, "connection refused");
                }
            }
        });
    }
}

/// The slot and the time limits of a connection.
struct Held {
    place: Share<IpAddr>,
    deadline: Instant,
    idle: Duration,
}

/// Returns the key under which a connection is counted: its address, or its /64 network for IPv6.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [one, two, three, four, ..] = address.segments();
            Ipv6Addr::new(one, two, three, four, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

async fn shake(
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    Held { place, deadline, idle }: Held,
    metrics: Metrics,
    cut: CancellationToken,
) -> Result<Connection, Refusal> {
    // Otherwise small messages are delayed by about 40 ms until the previous one is acknowledged.
    stream.set_nodelay(true)?;
    let (io, certificate) = match tls {
        None => (Io::Plain(stream), None),
        Some(tls) => {
            let stream = timeout_at(deadline, tls.accept(stream)).await.map_err(|_| Refusal::Timeout)??;
            let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
            let names = certificate.map(|certificate| Arc::new(CertificateNames::read(certificate)));
            (Io::Tls(Box::new(stream)), names)
        }
    };
    let peer = Peer { address, certificate };
    Ok(Connection::new(Parts { io, peer, place, deadline, idle, metrics, cut }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_counts_once_whatever_addresses_of_its_network_it_takes() {
        let of = |text: &str| whose(text.parse().unwrap());
        assert_eq!(of("fd00::1"), of("fd00::2:3:4:5"));
        assert_ne!(of("fd00::1"), of("fd00:0:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
