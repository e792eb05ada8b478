//! Takes connections, as many as the limit says, and finishes their handshakes within their time.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use rustls::ServerConfig;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::{
    Connection,
    connection::{Io, Parts},
};
use crate::{
    authn::{CertificateNames, Peer},
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
    /// From the first byte to the end of the greeting.
    pub(crate) handshake_timeout: Duration,
}

/// Takes connections from a socket.
pub(crate) struct Accept {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    permits: Arc<Semaphore>,
    handshake_timeout: Duration,
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
        tls: Option<Arc<ServerConfig>>,
        limits: AcceptLimits,
        metrics: Metrics,
        cut: CancellationToken,
    ) -> Self {
        Self {
            listener,
            tls: tls.map(TlsAcceptor::from),
            permits: Arc::new(Semaphore::new(limits.connections as usize)),
            handshake_timeout: limits.handshake_timeout,
            metrics,
            cut,
        }
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
                    Ok((stream, address)) => self.begin(stream, address, &ready, &mut handshakes),
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
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            self.metrics.connection_refused("limit");
            tracing::debug!(peer = %address, "limit `connections` is reached");
            return;
        };
        let deadline = Instant::now() + self.handshake_timeout;
        let (tls, metrics, cut) = (self.tls.clone(), self.metrics.clone(), self.cut.clone());
        let ready = ready.clone();
        handshakes.spawn(async move {
            match shake(stream, address, tls, deadline, permit, metrics.clone(), cut).await {
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

async fn shake(
    stream: TcpStream,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    deadline: Instant,
    permit: OwnedSemaphorePermit,
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
    Ok(Connection::new(Parts { io, peer, permit, deadline, metrics, cut }))
}
