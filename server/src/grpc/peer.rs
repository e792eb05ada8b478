//! The Peer service: other servers of the store use the links of this server.
//!
//! Only this server's own links are used. A request is never forwarded, so that calls cannot form a cycle.
//! The interceptor has verified that the caller is a server. The calling server is responsible for the
//! authorization of its principals.

use std::{sync::Arc, time::Duration};

use airlock_control::{
    api::{ApiError, FieldViolation},
    exchange::{Exchanges, LentExchange},
    links::Links,
    runner_unreachable,
    session::Sessions,
};
use airlock_domain::{ExchangeToRunner, ExecutionId, PushToRunner, RunnerId, SessionId, ToRunner};
use airlock_faults::{Point, hit};
use airlock_output::stream::{LentOutput, Streams};
use airlock_proto::{
    runner_v1,
    server_v1::{
        ExchangeOpened, NudgeRequest, NudgeResponse, OutputOpened, RelayExchangeRequest,
        RelayExchangeResponse, RelayOutputRequest, RelayOutputResponse, TellRequest, TellResponse,
        peer_server::Peer, relay_exchange_request, relay_exchange_response, relay_output_request,
        relay_output_response,
    },
};
use futures::{Stream, StreamExt as _, stream};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Response, Status, Streaming};

use super::{call::refused, view::Responses};
use crate::status;

/// The handler of the Peer service.
pub(super) struct PeerHandler {
    pub(super) links: Links,
    pub(super) sessions: Arc<Sessions>,
    pub(super) streams: Streams,
    pub(super) exchanges: Exchanges,
    /// Owns the tasks of the relays.
    pub(super) tasks: TaskTracker,
    /// The server shuts down.
    pub(super) stopping: CancellationToken,
    /// The time from the first byte of a relay to its first message.
    pub(super) hello_wait: Duration,
    /// The permits for streams that are relayed for other servers.
    pub(super) relays: Arc<Semaphore>,
    /// The number of these permits.
    pub(super) relays_limit: u64,
}

#[tonic::async_trait]
impl Peer for PeerHandler {
    type RelayOutputStream = Responses<RelayOutputResponse>;
    type RelayExchangeStream = Responses<RelayExchangeResponse>;

    async fn tell(&self, request: Request<TellRequest>) -> Result<Response<TellResponse>, Status> {
        let TellRequest { runner_id, message } = request.into_inner();
        let runner: RunnerId = parsed("runner_id", &runner_id)?;
        let message = message.ok_or_else(|| bad("message", "is missing"))?;
        let message = ToRunner::try_from(message).map_err(|error| bad(error.field, &error.problem))?;
        if !may_be_told(&message) {
            return Err(bad("message", "is not a message that another server may send"));
        }
        hit(Point::AfterPeerReceive, &"tell");
        let told = self.links.tell(&runner, message).await;
        told.map_err(|_| refused(runner_unreachable(&runner)))?;
        Ok(Response::new(TellResponse {}))
    }

    async fn nudge(&self, request: Request<NudgeRequest>) -> Result<Response<NudgeResponse>, Status> {
        hit(Point::AfterPeerReceive, &"nudge");
        let session: SessionId = parsed("session_id", &request.into_inner().session_id)?;
        self.sessions.hinted(session).await.map_err(refused)?;
        Ok(Response::new(NudgeResponse {}))
    }

    async fn relay_output(
        &self,
        request: Request<Streaming<RelayOutputRequest>>,
    ) -> Result<Response<Self::RelayOutputStream>, Status> {
        let mut incoming = request.into_inner();
        let Some(relay_output_request::Message::Open(open)) = self.first(&mut incoming).await?.message else {
            return Err(bad("message", "the first message must be open"));
        };
        let permit = self.permit()?;
        let runner: RunnerId = parsed("open.runner_id", &open.runner_id)?;
        let execution: ExecutionId = parsed("open.execution_id", &open.execution_id)?;
        hit(Point::AfterPeerReceive, &"relay_output");
        let lent = self.streams.lend(&self.links, &runner, execution).await;
        let lent = lent.map_err(|_| refused(runner_unreachable(&runner)))?;
        let opened = |missing| {
            let message = relay_output_response::Message::Opened(OutputOpened { missing });
            Ok(RelayOutputResponse { message: Some(message) })
        };
        let Some(LentOutput { incoming: from_runner, outgoing }) = lent else {
            return Ok(Response::new(Box::pin(stream::iter([opened(true)]))));
        };
        let to_runner = incoming.map(|message| match message.ok()?.message? {
            relay_output_request::Message::ToRunner(message) => PushToRunner::try_from(message).ok(),
            relay_output_request::Message::Open(_) => None,
        });
        let from_runner = from_runner.map(|message| {
            let message = runner_v1::PushOutputRequest::from(message.ok()?);
            let message = relay_output_response::Message::FromRunner(message);
            Some(RelayOutputResponse { message: Some(message) })
        });
        Ok(Response::new(self.relay(permit, to_runner, outgoing, opened(false), from_runner)))
    }

    async fn relay_exchange(
        &self,
        request: Request<Streaming<RelayExchangeRequest>>,
    ) -> Result<Response<Self::RelayExchangeStream>, Status> {
        let mut incoming = request.into_inner();
        let Some(relay_exchange_request::Message::Open(open)) = self.first(&mut incoming).await?.message
        else {
            return Err(bad("message", "the first message must be open"));
        };
        let permit = self.permit()?;
        let runner: RunnerId = parsed("open.runner_id", &open.runner_id)?;
        hit(Point::AfterPeerReceive, &"relay_exchange");
        let lent = self.exchanges.lend(&self.links, &runner).await;
        let LentExchange { from: from_runner, to: outgoing } =
            lent.map_err(|_| refused(runner_unreachable(&runner)))?;
        let to_runner = incoming.map(|message| match message.ok()?.message? {
            relay_exchange_request::Message::ToRunner(message) => ExchangeToRunner::try_from(message).ok(),
            relay_exchange_request::Message::Open(_) => None,
        });
        let from_runner = from_runner.map(|message| {
            let message = runner_v1::ExchangeRequest::from(message.ok()?);
            let message = relay_exchange_response::Message::FromRunner(message);
            Some(RelayExchangeResponse { message: Some(message) })
        });
        let opened = relay_exchange_response::Message::Opened(ExchangeOpened {});
        let opened = Ok(RelayExchangeResponse { message: Some(opened) });
        Ok(Response::new(self.relay(permit, to_runner, outgoing, opened, from_runner)))
    }
}

impl PeerHandler {
    fn permit(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.relays.clone().try_acquire_owned().map_err(|_| {
            let (limit, value) = ("peers.relays", self.relays_limit);
            refused(ApiError::Exhausted { limit, value, retry_after: Duration::from_secs(1) })
        })
    }

    async fn first<T>(&self, incoming: &mut Streaming<T>) -> Result<T, Status> {
        let first = timeout(self.hello_wait, incoming.message()).await;
        first
            .map_err(|_| bad("open", "was not received in time"))?
            .map_err(|error| status::adopt(error.code(), error.message()))?
            .ok_or_else(|| bad("open", "the stream ended before it was received"))
    }

    /// Forwards messages in both directions until one side ends, a message cannot be decoded, or the server
    /// shuts down. Data that one side does not accept is not read from the other.
    fn relay<To: Send + 'static, From: Send + 'static>(
        &self,
        permit: OwnedSemaphorePermit,
        to_runner: impl Stream<Item = Option<To>> + Send + 'static,
        outgoing: mpsc::Sender<To>,
        opened: Result<From, Status>,
        from_runner: impl Stream<Item = Option<From>> + Send + 'static,
    ) -> Responses<From> {
        let stopping = self.stopping.clone();
        let permit = Arc::new(permit);
        let held = permit.clone();
        self.tasks.spawn(async move {
            tokio::pin!(to_runner);
            let pass_on = async {
                while let Some(Some(message)) = to_runner.next().await {
                    if outgoing.send(message).await.is_err() {
                        return;
                    }
                }
            };
            tokio::select! {
                () = pass_on => {}
                () = outgoing.closed() => {}
                () = stopping.cancelled() => {}
            }
            drop(held);
        });
        let stopping = self.stopping.clone();
        let answers = from_runner
            .take_while(|message| std::future::ready(message.is_some()))
            .filter_map(std::future::ready)
            .map(move |message| {
                // The permit is released when both directions have ended.
                let _held = &permit;
                Ok(message)
            })
            .take_until(stopping.cancelled_owned());
        Box::pin(stream::iter([opened]).chain(answers))
    }
}

/// Reports whether another server may send this message through this one. Only the server that controls an
/// execution makes offers, on its own link.
fn may_be_told(message: &ToRunner) -> bool {
    match message {
        ToRunner::CloseSession { .. }
        | ToRunner::EndJob { .. }
        | ToRunner::ForgetJob { .. }
        | ToRunner::SignalJob { .. }
        | ToRunner::ResizeJob { .. }
        | ToRunner::DetachJob { .. }
        | ToRunner::SetSessionNetwork { .. }
        | ToRunner::AnswerConnection { .. }
        | ToRunner::Drain { .. } => true,
        ToRunner::Welcome { .. }
        | ToRunner::OpenSession { .. }
        | ToRunner::StartJob(_)
        | ToRunner::OpenOutput { .. }
        | ToRunner::OpenExchange { .. }
        | ToRunner::Probe { .. }
        | ToRunner::Heartbeat => false,
    }
}

fn parsed<T: std::str::FromStr>(field: &str, text: &str) -> Result<T, Status>
where
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|error: T::Err| bad(field, &error.to_string()))
}

fn bad(field: &str, problem: &str) -> Status {
    let violation = FieldViolation { field: field.to_owned(), description: problem.to_owned() };
    refused(ApiError::Invalid(vec![violation]))
}
