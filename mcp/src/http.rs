//! The transport over HTTP: streamable HTTP, as the protocol defines it. Each MCP session has its own session of Airlock.

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    handler::{Handler, Shared},
    options::Options,
    token::Token,
};

/// The path of the server.
pub const PATH: &str = "/mcp";
/// The maximum length of a request's body in bytes.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// The maximum length of a request's headers in bytes.
const HEADER_BYTES: usize = 32 * 1024;
/// The time to receive the headers of a request.
const HEADER_WAIT: Duration = Duration::from_secs(30);
/// The time to receive the body of a request and to begin its response.
const REQUEST_WAIT: Duration = Duration::from_secs(60);
/// The connections per MCP session. A client has one for its notifications, and one for each open request.
const CONNECTIONS_PER_SESSION: usize = 8;
/// The pause after a failed accept, such as one without a free descriptor.
const PAUSE: Duration = Duration::from_millis(200);
/// The time to end everything that the sessions started.
const CLOSE: Duration = Duration::from_secs(20);

/// The settings of the HTTP transport.
#[derive(Debug)]
pub struct Http {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Whether an address that other hosts reach is permitted.
    pub allow_remote: bool,
    /// The names that the `Host` header may have in addition to those of the loopback and to the address.
    pub hosts: Vec<String>,
    /// The token that a request must have.
    pub token: Token,
    /// The maximum number of MCP sessions.
    pub sessions: usize,
    /// A session is closed after this time without a request or a message. It must be longer than a tool call.
    pub idle: Duration,
}

/// A listener that does not accept connections yet.
#[derive(Debug)]
pub struct Listener {
    http: Http,
    local: TcpListener,
    address: SocketAddr,
}

type Service = StreamableHttpService<Handler, LocalSessionManager>;

impl Listener {
    /// Listens at the address.
    ///
    /// # Errors
    /// Returns text if the address is not permitted or not free.
    pub async fn bind(http: Http) -> Result<Self, String> {
        let listen = http.listen;
        if !listen.ip().is_loopback() && !http.allow_remote {
            return Err(format!(
                "other hosts could reach {listen}; use a loopback address such as 127.0.0.1:{}, or permit it with \
                 --allow-remote, and put a proxy with TLS before it",
                listen.port()
            ));
        }
        let failed = |error: io::Error| {
            format!("cannot listen at {listen}: {error}; name another address with --http")
        };
        let local = TcpListener::bind(listen).await.map_err(failed)?;
        let address = local.local_addr().map_err(failed)?;
        Ok(Self { http, local, address })
    }

    /// Returns the URL for clients on this host.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves until `stop` returns. Then it ends all sessions.
    ///
    /// # Errors
    /// Returns text if a session could not be closed in time.
    pub async fn serve(self, options: Options, stop: impl Future<Output = ()>) -> Result<(), String> {
        let end = CancellationToken::new();
        let shared = Shared::new(options, self.http.sessions, end.clone());
        let service = self.service(&shared, &end);
        let connections = TaskTracker::new();
        tokio::select! {
            () = self.accept(&service, &end, &connections) => {}
            () = stop => {}
        }
        end.cancel();
        drop(service);
        let closed = async {
            connections.close();
            connections.wait().await;
            shared.closed().await;
        };
        timeout(CLOSE, closed).await.map_err(|_| {
            "a session could not be closed in time; it is closed after its idle timeout".to_owned()
        })
    }

    fn service(&self, shared: &Shared, end: &CancellationToken) -> Service {
        let mut sessions = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        config.keep_alive = Some(self.http.idle);
        sessions.session_config = config;
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        if !self.address.ip().is_unspecified() {
            hosts.push(host(self.address.ip()));
        }
        hosts.extend(self.http.hosts.iter().cloned());
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts)
            // A browser adds this header. No page has a reason to call this server.
            .enforce_origin_validation()
            .with_max_request_body_bytes(BODY_BYTES)
            .with_cancellation_token(end.child_token());
        let shared = shared.clone();
        StreamableHttpService::new(move || Ok(shared.handler()), Arc::new(sessions), config)
    }

    async fn accept(&self, service: &Service, end: &CancellationToken, connections: &TaskTracker) {
        let places = Arc::new(Semaphore::new(self.http.sessions.saturating_mul(CONNECTIONS_PER_SESSION)));
        // The semaphore is never closed.
        while let Ok(place) = Arc::clone(&places).acquire_owned().await {
            let stream = match self.local.accept().await {
                Ok((stream, _)) => stream,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let (service, token, end) = (service.clone(), self.http.token.clone(), end.clone());
            connections.spawn(async move {
                let _ = end.run_until_cancelled(connection(stream, service, token)).await;
                drop(place);
            });
        }
    }
}

fn host(address: IpAddr) -> String {
    address.to_string()
}

/// Serves one connection. A client that sends an invalid request or disconnects needs no response.
async fn connection(stream: TcpStream, service: Service, token: Token) {
    // Without an option, small messages wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request: Request<Incoming>| {
        let (service, token) = (service.clone(), token.clone());
        async move {
            let mut response = answer(request, &service, &token).await;
            // The body of a refused request may not have been read, so the connection cannot be used again.
            if !response.status().is_success() {
                response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer(
    request: Request<Incoming>,
    service: &Service,
    token: &Token,
) -> Response<BoxBody<Bytes, Infallible>> {
    let headers = request.headers();
    if !headers.get(header::AUTHORIZATION).is_some_and(|given| token.matches(given.as_bytes())) {
        let mut refused = plain(
            StatusCode::UNAUTHORIZED,
            "the header `authorization` must be `Bearer TOKEN`, with the token of --http-token-file\n",
        );
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    if request.uri().path() != PATH {
        return plain(StatusCode::NOT_FOUND, "not found; use /mcp\n");
    }
    match timeout(REQUEST_WAIT, service.handle(request)).await {
        Ok(response) => response,
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time\n"),
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::from(text).boxed());
    *response.status_mut() = status;
    response
}
