//! Connections to a server, or to one of several servers of one store. Each new connection goes to the next server that
//! can be reached. This module only opens connections. Callers decide what to send, and when to stop trying.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};
use tonic::transport::{Channel, Endpoint, Uri};
use tower::Service;

use super::{Patience, retry};

/// The time for one address before the next is tried.
const ONE_TIMEOUT: Duration = Duration::from_secs(2);
const HTTPS_PORT: u16 = 443;
const HTTP_PORT: u16 = 80;

/// A connector for the configured servers.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    endpoint: Endpoint,
    servers: Option<Servers>,
}

impl Connector {
    pub(super) fn new(endpoint: Endpoint, servers: Option<Vec<Uri>>) -> Self {
        Self { endpoint, servers: servers.map(Servers::new) }
    }

    /// Connects now.
    pub(super) async fn connect(&self, patience: &Patience) -> Result<Channel, tonic::transport::Error> {
        match &self.servers {
            None => retry::connected(&self.endpoint, patience).await,
            Some(servers) => self.endpoint.connect_with_connector(servers.clone()).await,
        }
    }

    /// Returns a connection that is established at its first use.
    pub(super) fn connect_lazy(&self) -> Channel {
        match &self.servers {
            None => self.endpoint.connect_lazy(),
            Some(servers) => self.endpoint.connect_with_connector_lazy(servers.clone()),
        }
    }
}

/// A connector for several servers, for use with [`Endpoint`]. Clones share their position, so an address that one
/// clone found unreachable is not tried first by the others.
#[derive(Debug, Clone)]
struct Servers {
    all: Arc<[Uri]>,
    next: Arc<AtomicUsize>,
}

impl Servers {
    fn new(all: Vec<Uri>) -> Self {
        // Clients start at a random server, so that they do not all use the first one.
        let first = getrandom::u64().map_or(0, |random| usize::try_from(random % 1024).unwrap_or(0));
        Self { all: all.into(), next: Arc::new(AtomicUsize::new(first)) }
    }

    async fn reach(self) -> io::Result<TokioIo<TcpStream>> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no server is configured");
        for _ in 0..self.all.len() {
            let place = self.next.load(Ordering::Relaxed);
            let Some(uri) = self.all.get(place % self.all.len()) else { break };
            match one(uri).await {
                Ok(stream) => return Ok(TokioIo::new(stream)),
                Err(error) => last = io::Error::new(error.kind(), format!("{uri}: {error}")),
            }
            // If another clone has moved on meanwhile, its position is kept.
            let _ = self.next.compare_exchange(
                place,
                place.wrapping_add(1),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
        }
        Err(last)
    }
}

async fn one(uri: &Uri) -> io::Result<TcpStream> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let port = match uri.scheme_str() {
        Some("http") => HTTP_PORT,
        _ => HTTPS_PORT,
    };
    let connect = TcpStream::connect((host, uri.port_u16().unwrap_or(port)));
    let stream =
        timeout(ONE_TIMEOUT, connect).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Service<Uri> for Servers {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        Box::pin(self.clone().reach())
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn uri(listener: &TcpListener) -> Uri {
        format!("http://{}", listener.local_addr().unwrap()).parse().unwrap()
    }

    #[tokio::test]
    async fn a_server_that_is_away_is_passed_by_and_the_one_that_was_reached_is_kept() {
        let [away, there] = [TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0")];
        let (away, there) = (away.await.unwrap(), there.await.unwrap());
        let wanted = there.local_addr().unwrap();
        let servers = Servers { all: [uri(&away), uri(&there)].into(), next: Arc::default() };
        let first = away.local_addr().unwrap();
        let reached =
            async |servers: &Servers| servers.clone().reach().await.map(|io| io.inner().peer_addr().unwrap());
        assert_eq!(reached(&servers).await.unwrap(), first);
        drop(away);
        assert_eq!(reached(&servers).await.unwrap(), wanted);
        assert_eq!(
            servers.next.load(Ordering::Relaxed) % 2,
            1,
            "the next connection uses that address immediately"
        );
        drop(there);
        let error = reached(&servers).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{error}");
    }
}
