//! The client of the Peer service of other servers. A relayed stream uses its ticket and is then handled as a
//! stream of the runner itself.
//!
//! Messages, outputs and exchanges use separate connections, so that none delays another.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use airlock_control::{
    exchange::{ExchangeBroken, Exchanges},
    fleet::PeerClient,
};
use airlock_domain::{
    ExchangeFromRunner, ExecutionId, PushFromRunner, RunnerId, SessionId, ToRunner, limits::MESSAGE_BYTES,
    with_causes,
};
use airlock_faults::{Point, hit};
use airlock_output::stream::{LinkUnavailable, PushBroken, PushHello, Streams};
use airlock_proto::{
    runner_v1,
    server_v1::{
        ExchangeOpen, NudgeRequest, OutputOpen, RelayExchangeRequest, RelayExchangeResponse,
        RelayOutputRequest, RelayOutputResponse, TellRequest, peer_client, relay_exchange_request,
        relay_exchange_response, relay_output_request, relay_output_response,
    },
};
use futures::StreamExt as _;
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{
    Code, Status,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::config;

const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The flow-control windows of a stream and of a connection, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;
/// The number of connections to one server for outputs.
const OUTPUT_CONNECTIONS: usize = 4;
/// The maximum number of servers with cached connections. One store never has more servers.
const SERVERS: usize = 256;
/// The number of messages of a relay that wait for the transport.
const WIRE_QUEUE: usize = 2;

/// The client of the other servers. A cheap handle; all clones share the same state.
#[derive(Clone)]
pub(crate) struct PeerLinks {
    inner: Arc<Inner>,
}

struct Inner {
    config: config::Peers,
    takers: OnceLock<(Streams, Exchanges)>,
    connections: Mutex<HashMap<String, Connections>>,
    /// The TLS settings of the next connection. `None` until they are first read.
    tls: Mutex<Option<ClientTlsConfig>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// The connections to one server.
struct Connections {
    words: Channel,
    outputs: VecDeque<Channel>,
}

/// The reason why another server did not fulfil a request.
enum Failure {
    /// The server has no link to the runner, or has reached its limit.
    Said(Status),
    /// The server cannot be reached, or this server's own certificate cannot be read.
    Away(String),
}

impl PeerLinks {
    pub(crate) fn new(config: config::Peers) -> Self {
        let inner = Inner {
            config,
            takers: OnceLock::new(),
            connections: Mutex::default(),
            tls: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sets the receivers of relayed streams. Must be called once before the first call.
    pub(crate) fn attach(&self, streams: Streams, exchanges: Exchanges) {
        // A second call would be an error in the wiring. The first values remain.
        let _ = self.inner.takers.set((streams, exchanges));
    }

    /// Reads the authority, the certificate and the key again. The next call to each server uses new
    /// connections; open calls and relays continue. Blocks.
    ///
    /// # Errors
    /// Returns the reason why the files cannot be used. In this case, nothing changes.
    pub(crate) fn renew(&self) -> Result<(), String> {
        let tls = self.inner.read_tls()?;
        // Only an endpoint validates the settings. It makes no connection.
        let trial = Endpoint::from_static("https://localhost:1").tls_config(tls.clone());
        trial.map_err(|error| with_causes(&error))?;
        *self.inner.tls() = Some(tls);
        self.inner.lock().clear();
        Ok(())
    }

    /// Ends every relay.
    pub(crate) async fn shut_down(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}

impl Inner {
    fn endpoint(&self, address: &str) -> Result<Endpoint, Failure> {
        let config = &self.config;
        let known = self.tls().clone();
        let tls = match known {
            Some(tls) => tls,
            None => {
                let read = self.read_tls().map_err(Failure::Away)?;
                self.tls().insert(read).clone()
            }
        };
        let endpoint =
            Endpoint::from_shared(address.to_owned()).map_err(away)?.tls_config(tls).map_err(away)?;
        Ok(endpoint
            .connect_timeout(config.answer_wait)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW))
    }

    fn read_tls(&self) -> Result<ClientTlsConfig, String> {
        let read = |path: &Path| fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()));
        let config = &self.config;
        let identity = Identity::from_pem(read(&config.certificate)?, read(&config.key)?);
        Ok(ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(read(&config.ca)?))
            .identity(identity)
            .domain_name(&config.server_name))
    }

    fn tls(&self) -> MutexGuard<'_, Option<ClientTlsConfig>> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a connection to this server. The connections are created at the first call.
    fn channel(&self, address: &str, is_output: bool) -> Result<Channel, Failure> {
        if let Some(found) = self.lock().get_mut(address) {
            return Ok(found.pick(is_output));
        }
        let endpoint = self.endpoint(address)?;
        let outputs = (0..OUTPUT_CONNECTIONS).map(|_| endpoint.connect_lazy()).collect();
        let mut new = Connections { words: endpoint.connect_lazy(), outputs };
        let picked = new.pick(is_output);
        let mut connections = self.lock();
        if connections.len() >= SERVERS {
            connections.clear();
        }
        connections.insert(address.to_owned(), new);
        Ok(picked)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Connections>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the result of `call` within `answer_wait`. After a failure, the next call creates new
    /// connections with the current certificate.
    async fn ask<T>(
        &self,
        address: &str,
        method: &'static str,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, LinkUnavailable> {
        hit(Point::BeforePeerAsk, &method);
        let answer = timeout(self.config.answer_wait, call).await;
        hit(Point::AfterPeerAsk, &method);
        let failure = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failure)) => failure,
            Err(_) => Failure::Away("no answer in time".to_owned()),
        };
        match failure {
            Failure::Said(status) => {
                tracing::debug!(address, status = status.message(), "another server refused a request");
            }
            Failure::Away(problem) => {
                tracing::info!(address, problem, "another server is unreachable");
                self.lock().remove(address);
            }
        }
        Err(LinkUnavailable::NotConnected)
    }

    async fn relay_output(
        &self,
        address: &str,
        (runner, execution): (&RunnerId, ExecutionId),
        ticket: &str,
    ) -> Result<(), Failure> {
        let (streams, _) =
            self.takers.get().ok_or_else(|| Failure::Away("this server is not ready".to_owned()))?;
        let mut client = client(self.channel(address, true)?);
        let (to_server, requests) = mpsc::channel(WIRE_QUEUE);
        let (runner_id, execution_id) = (runner.to_string(), execution.to_string());
        let open = relay_output_request::Message::Open(OutputOpen { runner_id, execution_id });
        // The queue is empty and its receiver exists, so this cannot fail.
        let _ = to_server.try_send(RelayOutputRequest { message: Some(open) });
        let mut answers =
            client.relay_output(ReceiverStream::new(requests)).await.map_err(said)?.into_inner();
        let first = answers.message().await.map_err(said)?.and_then(|first| first.message);
        let Some(relay_output_response::Message::Opened(opened)) = first else {
            return Err(Failure::Away("its first message is not `opened`".to_owned()));
        };
        let hello = PushHello {
            runner_id: runner.clone(),
            execution_id: execution,
            ticket: ticket.to_owned(),
            missing: opened.missing,
        };
        let taken = streams.accept_push(&hello, answers.map(output_message));
        let messages = taken.map_err(|error| Failure::Away(error.to_string()))?;
        self.pass_on(messages, to_server, |message| {
            let message = relay_output_request::Message::ToRunner(message.into());
            RelayOutputRequest { message: Some(message) }
        });
        Ok(())
    }

    async fn relay_exchange(&self, address: &str, runner: &RunnerId, ticket: &str) -> Result<(), Failure> {
        let (_, exchanges) =
            self.takers.get().ok_or_else(|| Failure::Away("this server is not ready".to_owned()))?;
        // Uses a separate connection, so that a slow receiver delays no other traffic.
        let mut client = client(self.endpoint(address)?.connect().await.map_err(away)?);
        let (to_server, requests) = mpsc::channel(WIRE_QUEUE);
        let open = relay_exchange_request::Message::Open(ExchangeOpen { runner_id: runner.to_string() });
        // The queue is empty and its receiver exists, so this cannot fail.
        let _ = to_server.try_send(RelayExchangeRequest { message: Some(open) });
        let mut answers =
            client.relay_exchange(ReceiverStream::new(requests)).await.map_err(said)?.into_inner();
        let first = answers.message().await.map_err(said)?.and_then(|first| first.message);
        let Some(relay_exchange_response::Message::Opened(_)) = first else {
            return Err(Failure::Away("its first message is not `opened`".to_owned()));
        };
        let taken = exchanges.accept(runner, ticket, answers.map(exchange_message));
        let messages = taken.map_err(|error| Failure::Away(error.to_string()))?;
        self.pass_on(messages, to_server, |message| {
            let message = relay_exchange_request::Message::ToRunner(message.into());
            RelayExchangeRequest { message: Some(message) }
        });
        Ok(())
    }

    /// Forwards the messages for a runner until they end or the server has disconnected.
    fn pass_on<M: Send + 'static, W: Send + 'static>(
        &self,
        mut messages: mpsc::Receiver<M>,
        to_server: mpsc::Sender<W>,
        wire: fn(M) -> W,
    ) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let pass_on = async {
                while let Some(message) = messages.recv().await {
                    if to_server.send(wire(message)).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = pass_on => {}
                () = to_server.closed() => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

impl Connections {
    fn pick(&mut self, is_output: bool) -> Channel {
        if !is_output {
            return self.words.clone();
        }
        self.outputs.rotate_left(1);
        self.outputs.front().unwrap_or(&self.words).clone()
    }
}

#[async_trait::async_trait]
impl PeerClient for PeerLinks {
    async fn tell(&self, address: &str, runner: &RunnerId, message: ToRunner) -> Result<(), LinkUnavailable> {
        let request = TellRequest { runner_id: runner.to_string(), message: Some(message.into()) };
        let call =
            async { client(self.inner.channel(address, false)?).tell(request).await.map(drop).map_err(said) };
        Box::pin(self.inner.ask(address, "tell", call)).await
    }

    async fn hint_session(&self, address: &str, session: SessionId) -> Result<(), LinkUnavailable> {
        let request = NudgeRequest { session_id: session.to_string() };
        let call = async {
            client(self.inner.channel(address, false)?).nudge(request).await.map(drop).map_err(said)
        };
        Box::pin(self.inner.ask(address, "nudge", call)).await
    }

    async fn open_output(
        &self,
        address: &str,
        runner: &RunnerId,
        execution: ExecutionId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable> {
        let call = self.inner.relay_output(address, (runner, execution), ticket);
        self.inner.ask(address, "relay_output", call).await
    }

    async fn open_exchange(
        &self,
        address: &str,
        runner: &RunnerId,
        ticket: &str,
    ) -> Result<(), LinkUnavailable> {
        let call = self.inner.relay_exchange(address, runner, ticket);
        self.inner.ask(address, "relay_exchange", call).await
    }
}

fn client(channel: Channel) -> peer_client::PeerClient<Channel> {
    peer_client::PeerClient::new(channel).max_decoding_message_size(MESSAGE_BYTES)
}

/// Distinguishes a status of the other server from a failed connection.
fn said(status: Status) -> Failure {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Internal if status.details().is_empty() => away(status),
        _ => Failure::Said(status),
    }
}

fn away(error: impl std::error::Error) -> Failure {
    Failure::Away(with_causes(&error))
}

fn output_message(answer: Result<RelayOutputResponse, Status>) -> Result<PushFromRunner, PushBroken> {
    let answer = answer.map_err(|status| PushBroken(status.message().to_owned()))?;
    let Some(relay_output_response::Message::FromRunner(message)) = answer.message else {
        return Err(PushBroken("not a message of a relay".to_owned()));
    };
    let message: runner_v1::PushOutputRequest = message;
    PushFromRunner::try_from(message).map_err(|error| PushBroken(error.to_string()))
}

fn exchange_message(
    answer: Result<RelayExchangeResponse, Status>,
) -> Result<ExchangeFromRunner, ExchangeBroken> {
    let answer = answer.map_err(|status| ExchangeBroken::Cut(status.message().to_owned()))?;
    let Some(relay_exchange_response::Message::FromRunner(message)) = answer.message else {
        return Err(ExchangeBroken::Unreadable("not a message of a relay".to_owned()));
    };
    let message: runner_v1::ExchangeRequest = message;
    ExchangeFromRunner::try_from(message).map_err(|error| ExchangeBroken::Unreadable(error.to_string()))
}
