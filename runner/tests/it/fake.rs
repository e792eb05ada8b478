//! A server of `RunnerLink` that the test controls completely.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_domain::{
    ExchangeFromRunner, ExchangeToRunner, FromRunner, PushFromRunner, RunnerHello, ToRunner,
};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{
        ConnectRequest, ConnectResponse, ExchangeRequest, ExchangeResponse, PushOutputRequest,
        PushOutputResponse,
        runner_link_server::{RunnerLink, RunnerLinkServer},
    },
};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Runtime,
    sync::mpsc,
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming, transport::ServerTlsConfig};

use crate::fixture::PATIENCE;

/// The number of messages that the server sends per heartbeat interval.
const BEATS: u32 = 10;

/// The behaviour of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) protocol_version: u32,
    pub(crate) link_grace: Duration,
    /// A link is dead after three of these intervals without a message. A test that needs its link must not set a
    /// shorter interval than a busy machine can keep.
    pub(crate) heartbeat_interval: Duration,
    pub(crate) heartbeats: bool,
    /// Whether new links are read beyond their first message.
    pub(crate) read_reports: bool,
    /// Whether the server accepts questions about connections.
    pub(crate) takes_questions: bool,
}

impl Default for Manners {
    fn default() -> Self {
        Self {
            protocol_version: LINK_PROTOCOL_VERSION,
            link_grace: Duration::from_secs(600),
            heartbeat_interval: Duration::from_secs(20),
            heartbeats: true,
            read_reports: true,
            takes_questions: true,
        }
    }
}

/// One control stream.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) hello: RunnerHello,
    pub(crate) to: mpsc::Sender<Result<ConnectResponse, Status>>,
    pub(crate) from: mpsc::Receiver<FromRunner>,
}

impl Link {
    pub(crate) async fn send(&self, message: ToRunner) {
        self.to.send(Ok(message.into())).await.unwrap();
    }
}

/// One output stream.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) hello: PushFromRunner,
    pub(crate) to: mpsc::Sender<Result<PushOutputResponse, Status>>,
    pub(crate) from: mpsc::Receiver<PushFromRunner>,
}

/// One exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) hello: ExchangeFromRunner,
    pub(crate) to: mpsc::Sender<Result<ExchangeResponse, Status>>,
    pub(crate) from: mpsc::Receiver<ExchangeFromRunner>,
}

impl Exchange {
    pub(crate) async fn send(&self, message: ExchangeToRunner) {
        self.to.send(Ok(message.into())).await.unwrap();
    }

    pub(crate) async fn write(&self, offset: u64, data: impl Into<Bytes>) {
        self.send(ExchangeToRunner::Chunk { offset, data: data.into() }).await;
    }

    /// Returns the runner's next message, or `None` if it has closed its side.
    pub(crate) async fn next(&mut self) -> Option<ExchangeFromRunner> {
        tokio::time::timeout(PATIENCE, self.from.recv()).await.unwrap()
    }
}

#[derive(Debug, Clone)]
struct Service {
    manners: Arc<Mutex<Manners>>,
    links: mpsc::Sender<Link>,
    outputs: mpsc::Sender<Output>,
    exchanges: mpsc::Sender<Exchange>,
}

/// An address that a bound socket reserves for this test, whether or not a server listens there.
#[derive(Debug)]
pub(crate) struct Address {
    at: SocketAddr,
    _held: TcpSocket,
}

/// Creates a socket at the address that allows another one to listen there.
fn socket(at: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    Ok(socket)
}

impl Address {
    fn new() -> Self {
        let held = socket(([127, 0, 0, 1], 0).into()).unwrap();
        Self { at: held.local_addr().unwrap(), _held: held }
    }
}

/// A listening server.
#[derive(Debug)]
pub(crate) struct FakeServer {
    pub(crate) address: SocketAddr,
    held: Address,
    /// The number of connections so far.
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) manners: Arc<Mutex<Manners>>,
    pub(crate) links: mpsc::Receiver<Link>,
    pub(crate) outputs: mpsc::Receiver<Output>,
    pub(crate) exchanges: mpsc::Receiver<Exchange>,
    _runtime: Own,
}

impl FakeServer {
    pub(crate) async fn start(manners: Manners) -> Self {
        Self::listen(Address::new(), manners).await
    }

    pub(crate) async fn with_tls(manners: Manners, tls: ServerTlsConfig) -> Self {
        Self::serve(Address::new(), manners, Some(tls)).await
    }

    /// Starts a server at an address, possibly again.
    pub(crate) async fn listen(address: Address, manners: Manners) -> Self {
        Self::serve(address, manners, None).await
    }

    async fn serve(held: Address, manners: Manners, tls: Option<ServerTlsConfig>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.unwrap();
        let address = held.at;
        let listener = runtime.spawn(listen(address)).await.unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let incoming = TcpListenerStream::new(listener).inspect(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let manners = Arc::new(Mutex::new(manners));
        let (links, links_seen) = mpsc::channel(16);
        let (outputs, outputs_seen) = mpsc::channel(256);
        let (exchanges, exchanges_seen) = mpsc::channel(1024);
        let service = Service { manners: Arc::clone(&manners), links, outputs, exchanges };
        let mut builder = tonic::transport::Server::builder();
        if let Some(tls) = tls {
            builder = builder.tls_config(tls).unwrap();
        }
        runtime.spawn(async move {
            builder.add_service(RunnerLinkServer::new(service)).serve_with_incoming(incoming).await.unwrap();
        });
        Self {
            address,
            held,
            connections,
            manners,
            links: links_seen,
            outputs: outputs_seen,
            exchanges: exchanges_seen,
            _runtime: Own(Some(runtime)),
        }
    }

    /// Waits for the next link.
    pub(crate) async fn link(&mut self) -> Link {
        tokio::time::timeout(PATIENCE, self.links.recv()).await.unwrap().unwrap()
    }

    /// Stops the server with all its connections. Keeps the address reserved.
    pub(crate) fn stop(self) -> Address {
        self.held
    }
}

/// A separate runtime, so that a server can stop with all its resources.
#[derive(Debug)]
struct Own(Option<Runtime>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Listens at an address, which a server that has just stopped may still occupy.
async fn listen(address: SocketAddr) -> TcpListener {
    let listening = async {
        loop {
            match socket(address).and_then(|socket| socket.listen(1024)) {
                Ok(listener) => return listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, listening).await.unwrap()
}

type Answer<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl RunnerLink for Service {
    type ConnectStream = Answer<ConnectResponse>;
    type PushOutputStream = Answer<PushOutputResponse>;
    type ExchangeStream = Answer<ExchangeResponse>;

    async fn connect(
        &self,
        request: Request<Streaming<ConnectRequest>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let mut stream = request.into_inner();
        let first = stream.message().await?.unwrap();
        let FromRunner::Hello(hello) = FromRunner::try_from(first).unwrap() else {
            return Err(Status::invalid_argument("Hello comes first"));
        };
        let manners = *self.manners.lock().unwrap();
        let (to, answers) = mpsc::channel(1024);
        let (reports, from) = mpsc::channel(100_000);
        let welcome = ToRunner::Welcome {
            server_id: "fake".to_owned(),
            protocol_version: manners.protocol_version,
            heartbeat_interval: manners.heartbeat_interval,
            link_grace: manners.link_grace,
            takes_questions: manners.takes_questions,
        };
        to.send(Ok(welcome.into())).await.unwrap();
        let ended = CancellationToken::new();
        let end = ended.clone();
        tokio::spawn(async move {
            if !manners.read_reports {
                reports.closed().await;
            }
            while let Some(Ok(message)) = stream.next().await {
                let message = FromRunner::try_from(message).unwrap();
                if reports.send(message).await.is_err() {
                    return;
                }
            }
            // The runner has closed its side.
            end.cancel();
        });
        if manners.heartbeats {
            let beat = to.downgrade();
            tokio::spawn(async move {
                while let Some(beat) = beat.upgrade() {
                    if beat.send(Ok(ToRunner::Heartbeat.into())).await.is_err() {
                        return;
                    }
                    drop(beat);
                    tokio::time::sleep(manners.heartbeat_interval / BEATS).await;
                }
            });
        }
        self.links.send(Link { hello, to, from }).await.unwrap();
        Ok(Response::new(Box::pin(ReceiverStream::new(answers).take_until(ended.cancelled_owned()))))
    }

    async fn exchange(
        &self,
        request: Request<Streaming<ExchangeRequest>>,
    ) -> Result<Response<Self::ExchangeStream>, Status> {
        let mut stream = request.into_inner();
        let first = stream.message().await?.unwrap();
        let hello = ExchangeFromRunner::try_from(first).unwrap();
        let (to, answers) = mpsc::channel(64);
        let (messages, from) = mpsc::channel(4);
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if messages.send(ExchangeFromRunner::try_from(message).unwrap()).await.is_err() {
                    return;
                }
            }
        });
        self.exchanges.send(Exchange { hello, to, from }).await.unwrap();
        Ok(Response::new(Box::pin(ReceiverStream::new(answers))))
    }

    async fn push_output(
        &self,
        request: Request<Streaming<PushOutputRequest>>,
    ) -> Result<Response<Self::PushOutputStream>, Status> {
        let mut stream = request.into_inner();
        let first = stream.message().await?.unwrap();
        let hello = PushFromRunner::try_from(first).unwrap();
        let (to, answers) = mpsc::channel(64);
        let (chunks, from) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                if chunks.send(PushFromRunner::try_from(message).unwrap()).await.is_err() {
                    return;
                }
            }
        });
        self.outputs.send(Output { hello, to, from }).await.unwrap();
        Ok(Response::new(Box::pin(ReceiverStream::new(answers))))
    }
}
