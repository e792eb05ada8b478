//! The listener: TCP, TLS and HTTP, with limits of number and time.

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use http::{HeaderValue, Request, Version, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    body::{Watched, boxed},
    config::{E2bConfig, TlsConfig},
    front::Front,
    routes,
};

/// The maximum length of a request's headers in bytes.
const HEADER_BYTES: u32 = 32 * 1024;
/// The time to receive the headers of a request, also after an earlier one.
const HEADER_WAIT: Duration = Duration::from_secs(75);
/// The time for a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The time between two checks of an HTTP/2 connection, and for the answer.
const PING: Duration = Duration::from_secs(20);
/// The streams of one HTTP/2 connection.
const STREAMS: u32 = 128;
/// The pause after a failed accept, such as one without a free descriptor.
const PAUSE: Duration = Duration::from_millis(200);
/// The time for open responses to end.
const GRACE: Duration = Duration::from_secs(5);

/// A listener that does not accept connections yet.
pub struct Listener {
    local: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    connections: usize,
    front: Arc<Front>,
    ending: CancellationToken,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Listener {
    /// Reads all credentials, checks the identities and listens.
    ///
    /// # Errors
    /// Returns text if a file cannot be used, an identity may use the mode `bypass`, or the address is not free.
    pub async fn bind(config: &E2bConfig) -> Result<Self, String> {
        let tls = match &config.tls {
            Some(tls) => Some(acceptor(tls).await?),
            None => None,
        };
        let ending = CancellationToken::new();
        let front = Front::new(config, ending.clone()).await?;
        front.accounts.check().await?;
        let failed = |error: io::Error| format!("cannot listen at {}: {error}", config.listen);
        let local = TcpListener::bind(&config.listen).await.map_err(failed)?;
        let address = local.local_addr().map_err(failed)?;
        let connections = usize::try_from(config.limits.connections).unwrap_or(usize::MAX);
        Ok(Self { local, address, tls, connections, front, ending })
    }

    /// Returns the URL for the SDKs on this host.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Serves until `stop` returns. Then it ends all sandboxes.
    ///
    /// # Errors
    /// Returns text if a session could not be closed in time.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), String> {
        let connections = TaskTracker::new();
        let closing = CancellationToken::new();
        tokio::select! {
            () = self.accept(&connections, &closing) => {}
            () = stop => {}
        }
        // Streams end with the sandboxes, and their last messages are still sent.
        self.ending.cancel();
        let closed = self.front.registry.close().await;
        connections.close();
        closing.cancel();
        let _ = timeout(GRACE, connections.wait()).await;
        closed
    }

    async fn accept(&self, connections: &TaskTracker, closing: &CancellationToken) {
        let places = Arc::new(Semaphore::new(self.connections));
        // The semaphore is never closed.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let stream = match self.local.accept().await {
                Ok((stream, _)) => stream,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let (front, tls, closing) = (Arc::clone(&self.front), self.tls.clone(), closing.clone());
            connections.spawn(async move {
                opened(stream, tls, front, closing).await;
                drop(place);
            });
        }
    }
}

async fn opened(stream: TcpStream, tls: Option<TlsAcceptor>, front: Arc<Front>, closing: CancellationToken) {
    // Without an option, small messages wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection(stream, front, closing).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(HANDSHAKE, tls.accept(stream)).await {
                connection(stream, front, closing).await;
            }
        }
    }
}

/// Serves one connection. A client that sends an invalid request or disconnects needs no response.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    front: Arc<Front>,
    closing: CancellationToken,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let front = Arc::clone(&front);
        async move {
            let is_first = request.version() <= Version::HTTP_11;
            let (parts, body) = request.into_parts();
            let (body, was_read) = Watched::new(body);
            let mut response = Box::pin(routes::answer(front, Request::from_parts(parts, boxed(body)))).await;
            // A connection with the rest of a request cannot be used again, and the client must know it.
            if is_first && !was_read.load(Ordering::Relaxed) {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_buf_size(usize::try_from(HEADER_BYTES).unwrap_or(usize::MAX));
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEADER_BYTES)
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = serving.as_mut() => return,
        () = closing.cancelled() => {}
    }
    serving.as_mut().graceful_shutdown();
    let _ = timeout(GRACE, serving).await;
}

async fn acceptor(tls: &TlsConfig) -> Result<TlsAcceptor, String> {
    let read = async |path: &std::path::Path| {
        tokio::fs::read(path).await.map_err(|error| format!("`{}` cannot be read: {error}", path.display()))
    };
    let (chain, key) = (read(&tls.certificate).await?, read(&tls.key).await?);
    let wrong =
        |path: &std::path::Path, error: String| format!("`{}` is not usable: {error}", path.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&chain)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| wrong(&tls.key, error.to_string()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
