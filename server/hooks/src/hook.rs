//! One hook: its connection, and the calls of both methods.

use std::{
    error::Error,
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_control::hooks::{HookQuestion, HookReply, HookReport};
use airlock_domain::{HookOutcome, limits::MESSAGE_BYTES, with_causes};
use bytes::Bytes;
use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::{Instant, timeout_at};
use tonic::{
    Code, Request,
    client::Grpc,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    answer,
    call::Lane,
    codec::Encoded,
    options::{Explain, HookObserver, HookOptions, Method, TlsFiles},
};

/// The deadline that the transport and the hook know is at most this much earlier than that of the call.
const ROUNDING: Duration = Duration::from_millis(10);
const CONNECT_MARGIN: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a response in bytes. A reason with its envelope fits.
const RESPONSE_BYTES: usize = 16 * 1024;
/// The maximum size of all headers of a response in bytes.
const HEADER_BYTES: u32 = 16 * 1024;

/// A hook.
pub(crate) struct Hook {
    name: String,
    options: HookOptions,
    connection: Mutex<Connection>,
    questions: Lane,
    deliveries: Lane,
}

/// The connection of the next call. It is opened by the first call, and again after it has ended.
struct Connection {
    endpoint: Endpoint,
    channel: Channel,
}

impl Hook {
    /// Creates the hook, and reads its files. Blocks.
    pub(crate) fn new(
        name: String,
        options: HookOptions,
        observer: Arc<dyn HookObserver>,
    ) -> Result<Self, String> {
        let connection = Mutex::new(Connection::new(endpoint(&options)?));
        let questions = Lane::new(&name, Method::PreExecute, &options, observer.clone());
        let deliveries = Lane::new(&name, Method::PostExecute, &options, observer);
        Ok(Self { name, options, connection, questions, deliveries })
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.options.timeout
    }

    /// Reads the files of TLS again, and opens a new connection for later calls. Blocks.
    pub(crate) fn renew(&self) -> Result<(), String> {
        *self.connection() = Connection::new(endpoint(&self.options)?);
        Ok(())
    }

    /// Asks the hook. Returns before the timeout.
    pub(crate) async fn before(&self, question: &HookQuestion) -> HookReply {
        let request = |remaining| answer::question(&self.name, question, remaining);
        let response = self.call(&self.questions, Method::PreExecute, &question.execution.tenant, request);
        let checked = async {
            let reply = match response.await {
                Ok(response) => answer::checked(question, &response),
                Err(failure) => failure,
            };
            Span::current().record("airlock.outcome", reply.outcome.name());
            reply
        };
        self.measured(&self.questions, checked.instrument(self.span(Method::PreExecute))).await
    }

    /// Delivers a result.
    pub(crate) async fn after(&self, report: &HookReport, explain: Explain) -> Result<(), HookReply> {
        let request = |_| answer::report(&self.name, report, explain);
        let response = self.call(&self.deliveries, Method::PostExecute, &report.execution.tenant, request);
        let confirmed = async {
            let reply = response
                .await
                .err()
                .unwrap_or(HookReply { outcome: HookOutcome::None, reason: String::new() });
            Span::current().record("airlock.outcome", reply.outcome.name());
            reply
        };
        let reply =
            self.measured(&self.deliveries, confirmed.instrument(self.span(Method::PostExecute))).await;
        if reply.outcome.is_failure() { Err(reply) } else { Ok(()) }
    }

    fn span(&self, method: Method) -> Span {
        tracing::info_span!("hook", hook = self.name, method = method.name(), airlock.outcome = Empty)
    }

    async fn measured(&self, lane: &Lane, call: impl Future<Output = HookReply>) -> HookReply {
        let begun = Instant::now();
        let reply = call.await;
        lane.observe(reply.outcome, begun.elapsed());
        reply
    }

    /// Returns the bytes of the response, or the failure. `request` gets the time until the deadline.
    async fn call<Q: Message>(
        &self,
        lane: &Lane,
        method: Method,
        tenant: &str,
        request: impl FnOnce(Duration) -> Q,
    ) -> Result<Bytes, HookReply> {
        let deadline = Instant::now() + self.options.timeout;
        let call = lane.begin(tenant, deadline).await?;
        let remaining = deadline.saturating_duration_since(Instant::now());
        // Encoded at once, because a message is far larger than its encoding.
        let mut message = Request::new(Bytes::from(request(remaining).encode_to_vec()));
        message.set_timeout(remaining);
        let failure = match timeout_at(deadline, self.send(method, message, deadline)).await {
            Ok(Ok(response)) => {
                call.succeeded();
                return Ok(response);
            }
            Ok(Err(failure)) if failure.outcome == HookOutcome::Invalid => {
                call.succeeded();
                return Err(failure);
            }
            Ok(Err(failure)) => failure,
            Err(_) => late(),
        };
        if call.failed() {
            // The connection can be the reason: it is replaced for the call that tries the hook.
            let mut connection = self.connection();
            connection.channel = connection.endpoint.connect_lazy();
        }
        Err(failure)
    }

    async fn send(
        &self,
        method: Method,
        message: Request<Bytes>,
        deadline: Instant,
    ) -> Result<Bytes, HookReply> {
        let channel = self.connection().channel.clone();
        let mut client = Grpc::new(channel)
            .max_decoding_message_size(RESPONSE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        if let Err(error) = client.ready().await {
            tracing::debug!(hook = self.name, error = with_causes(&error), "a hook cannot be reached");
            return Err(unavailable("the hook cannot be reached"));
        }
        match client.unary(message, path(method), Encoded).await {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => {
                tracing::debug!(hook = self.name, %status, "a call to a hook failed");
                Err(match status.code() {
                    // The transport uses this code for a message over the limit.
                    Code::OutOfRange => {
                        let reason = "the answer is too large".to_owned();
                        HookReply { outcome: HookOutcome::Invalid, reason }
                    }
                    // The transport and the hook know the deadline, and one of them can be the first to end the call.
                    Code::DeadlineExceeded => late(),
                    Code::Cancelled if Instant::now() + ROUNDING >= deadline => late(),
                    _ if status.source().is_some() => unavailable("the hook cannot be reached"),
                    code => unavailable(&format!("the hook failed with the code {}", code as i32)),
                })
            }
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn new(endpoint: Endpoint) -> Self {
        let channel = endpoint.connect_lazy();
        Self { endpoint, channel }
    }
}

fn path(method: Method) -> PathAndQuery {
    PathAndQuery::from_static(match method {
        Method::PreExecute => "/airlock.hooks.v1.ExecutionHook/PreExecute",
        Method::PostExecute => "/airlock.hooks.v1.ExecutionHook/PostExecute",
    })
}

fn late() -> HookReply {
    HookReply { outcome: HookOutcome::Timeout, reason: "there was no answer before the deadline".to_owned() }
}

fn unavailable(what: &str) -> HookReply {
    HookReply { outcome: HookOutcome::Unavailable, reason: what.to_owned() }
}

/// Returns the settings of connections. Reads the files of TLS. Blocks.
fn endpoint(options: &HookOptions) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(options.address.clone()).map_err(|error| with_causes(&error))?;
    let endpoint = match &options.tls {
        Some(files) => endpoint.tls_config(tls(files)?).map_err(|error| with_causes(&error))?,
        None => endpoint,
    };
    Ok(endpoint
        // Longer than a call waits, so that a slow connection counts as a missing answer.
        .connect_timeout(options.timeout.saturating_add(CONNECT_MARGIN))
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .http2_max_header_list_size(HEADER_BYTES))
}

fn tls(files: &TlsFiles) -> Result<ClientTlsConfig, String> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()));
    let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(read(&files.ca)?));
    if let Some((certificate, key)) = &files.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    if let Some(name) = &files.server_name {
        config = config.domain_name(name);
    }
    Ok(config)
}
