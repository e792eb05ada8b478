//! Takes connections, as many as the limit says, and finishes their handshakes within their time.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{
    Connection, LiveTls,
    connection::{Io, Parts},
};
use crate::{
    authn::{CertificateNames, Peer},
    listen::peer_address,
    shares::{Full, Share, Shares},
    telemetry::Metrics,
};

/// Connections that have finished their handshake and wait to be served.
const WAITING: usize = 64;
/// After the system had no descriptor or memory for another connection.
const PAUSE: Duration = Duration::from_millis(50);

/// Bounds of connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcceptLimits {
    /// At once.
    pub(crate) connections: u32,
    /// Of those, of one address; of IPv6, of one network of 64 bits.
    pub(crate) connections_per_peer: u32,
    /// From the first byte to the end of the greeting.
    pub(crate) handshake_timeout: Duration,
    /// Without an open call.
    pub(crate) connection_idle: Duration,
}

/// Takes connections from a socket.
pub(crate) struct Accept {
    listener: TcpListener,
    tls: Option<LiveTls>,
    places: Shares<IpAddr>,
    limits: AcceptLimits,
    metrics: Metrics,
    cut: CancellationToken,
}

/// Why a connection was not handed on.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("handshake: {0}")]
    Handshake(#[from] io::Error),
    #[error("timeout")]
    Timeout,
}

impl Accept {
    /// Takes connections from `listener`; those that it hands on end when `cut` is cancelled.
    pub(crate) fn new(
        listener: TcpListener,
        tls: Option<LiveTls>,
        limits: AcceptLimits,
        metrics: Metrics,
        cut: CancellationToken,
    ) -> Self {
        Self { listener, tls, places: Shares::default(), limits, metrics, cut }
    }

    /// A channel of the right size for [`Accept::run`].
    pub(crate) fn channel() -> (mpsc::Sender<io::Result<Connection>>, mpsc::Receiver<io::Result<Connection>>)
    {
        mpsc::channel(WAITING)
    }

    /// Hands on connections until `stop` is cancelled or nobody takes them; then the socket is closed.
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
                        tracing::warn!(%error, "a connection could not be accepted");
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
                tracing::debug!(peer = %address, limit, "a limit of connections is reached");
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
                // It fails when the server stops, and then nobody wants the connection.
                Ok(connection) => drop(ready.send(Ok(connection)).await),
                Err(refusal) => {
                    metrics.connection_refused(match refusal {
                        Refusal::Handshake(_) => "handshake",
                        Refusal::Timeout => "timeout",
                    });
                    tracing::debug!(peer = %address, %refusal, "a connection was not taken");
                }
            }
        });
    }
}

/// What a connection holds, and how long.
struct Held {
    place: Share<IpAddr>,
    deadline: Instant,
    idle: Duration,
}

/// Whom a connection counts for: an address, or the network of IPv6 that one host has.
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
    // Small messages wait some 40 ms for their acknowledgement otherwise.
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
