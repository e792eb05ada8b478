//! The RunnerLink service: connects the control stream of a runner to the links.

use std::time::Duration;

use airlock_control::{
    exchange::Exchanges,
    links::{LinkError, LinkHandle, LinkRefusal, Links},
};
use airlock_domain::{FromRunner, RunnerHello, ToRunner};
use airlock_faults::{Point, hit, is_next, name_of};
use airlock_output::stream::Streams;
use airlock_proto::runner_v1::{
    ConnectRequest, ConnectResponse, ExchangeRequest, ExchangeResponse, PushOutputRequest,
    PushOutputResponse, connect_request::Message, runner_link_server::RunnerLink,
};
use futures::stream;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};

use super::{
    call::{caller, refused},
    exchange, push,
    view::Responses,
};
use crate::{status, validate};

/// The time for a message to be written out before a test stops the process.
const LEAVING: Duration = Duration::from_millis(5);

/// The handler of the RunnerLink service.
pub(super) struct LinkHandler {
    pub(super) links: Links,
    pub(super) streams: Streams,
    pub(super) exchanges: Exchanges,
    /// Owns the tasks of the links.
    pub(super) tasks: TaskTracker,
    /// The time from the first byte of a link to its Hello.
    pub(super) hello_wait: Duration,
}

#[tonic::async_trait]
impl RunnerLink for LinkHandler {
    type ConnectStream = Responses<ConnectResponse>;
    type PushOutputStream = Responses<PushOutputResponse>;
    type ExchangeStream = Responses<ExchangeResponse>;

    async fn connect(
        &self,
        request: Request<Streaming<ConnectRequest>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let caller = caller(&request)?;
        let mut incoming = request.into_inner();
        let hello = timeout(self.hello_wait, incoming.message())
            .await
            .map_err(|_| status::link_message("hello", "was not received in time"))?;
        let hello = hello_of(hello.map_err(|error| status::adopt(error.code(), error.message()))?)?;
        caller.require_runner(&hello.runner_id).map_err(refused)?;
        let hello = validate::hello(hello).map_err(refused)?;

        let runner = hello.runner_id.clone();
        let mut handle = self.links.connect(hello).await.map_err(|refusal| status::link_refused(&refusal))?;
        let outgoing = handle.outgoing().ok_or_else(|| {
            status::link_refused(&LinkRefusal::Unavailable {
                reason: "the link is already in use".to_owned(),
            })
        })?;
        let (end, ended) = oneshot::channel();
        let listen = async move {
            let error = listen(&handle, incoming).await;
            tracing::info!(%runner, error = error.message(), "link ended");
            // This fails if the runner has disconnected. Then the error is not needed.
            drop(end.send(error));
        };
        // This is not in the call's span: a link is open for days, and all of its messages would be one trace.
        self.tasks.spawn(listen);
        Ok(Response::new(speak(outgoing, ended)))
    }

    async fn push_output(
        &self,
        request: Request<Streaming<PushOutputRequest>>,
    ) -> Result<Response<Self::PushOutputStream>, Status> {
        let caller = caller(&request)?;
        push::open((&self.streams, self.hello_wait), &caller, request.into_inner()).await.map(Response::new)
    }

    async fn exchange(
        &self,
        request: Request<Streaming<ExchangeRequest>>,
    ) -> Result<Response<Self::ExchangeStream>, Status> {
        let caller = caller(&request)?;
        exchange::open((&self.exchanges, self.hello_wait), &caller, request.into_inner())
            .await
            .map(Response::new)
    }
}

/// Decodes the runner's Hello. The version is checked first, because a message of another version may not be
/// decodable.
fn hello_of(first: Option<ConnectRequest>) -> Result<RunnerHello, Status> {
    let first =
        first.ok_or_else(|| status::link_message("hello", "the stream ended before it was received"))?;
    if let Some(Message::Hello(hello)) = &first.message {
        Links::check_version(hello.protocol_version).map_err(|refusal| status::link_refused(&refusal))?;
    }
    match FromRunner::try_from(first) {
        Ok(FromRunner::Hello(hello)) => Ok(hello),
        Ok(_) => Err(status::link_message("message", "the first message must be hello")),
        Err(error) => Err(status::link_message(error.field, &error.problem)),
    }
}

/// Processes the runner's messages until the link ends. Returns the reason.
async fn listen(handle: &LinkHandle, mut incoming: Streaming<ConnectRequest>) -> Status {
    loop {
        let message = tokio::select! {
            error = handle.ended() => return status::link_ended(&error),
            message = incoming.message() => message,
        };
        let message = match message {
            Ok(Some(message)) => message,
            Ok(None) => return status::link_ended(&LinkError::Ended("the runner closed the link")),
            Err(error) => return status::adopt(error.code(), error.message()),
        };
        let message = match FromRunner::try_from(message) {
            Ok(FromRunner::Hello(_)) => return status::link_message("hello", "was sent twice"),
            Ok(message) => message,
            Err(error) => return status::link_message(error.field, &error.problem),
        };
        let message = match validate::from_runner(message) {
            Ok(message) => message,
            Err(bad) => return status::link_message(&bad.field, &bad.description),
        };
        if !matches!(message, FromRunner::Heartbeat { .. }) {
            hit(Point::AfterLinkReceive, &message);
        }
        if let Err(error) = handle.received(message).await {
            return status::link_ended(&error);
        }
    }
}

/// Returns the messages for the runner, followed by the reason for the end of the link.
fn speak(outgoing: mpsc::Receiver<ToRunner>, ended: oneshot::Receiver<Status>) -> Responses<ConnectResponse> {
    Box::pin(stream::unfold(Some((outgoing, ended, None::<String>)), |state| async {
        let (mut outgoing, mut ended, said) = state?;
        if let Some(said) = said {
            has_left(&said).await;
        }
        tokio::select! {
            biased;
            Some(message) = outgoing.recv() => {
                let said = (message != ToRunner::Heartbeat).then(|| name_of(&message));
                if said.is_some() {
                    hit(Point::BeforeLinkSend, &message);
                }
                Some((Ok(message.into()), Some((outgoing, ended, said))))
            }
            status = &mut ended => Some((Err(status.ok()?), None)),
        }
    }))
}

/// Called when the transport has taken a message of this name and asks for the next one.
async fn has_left(said: &str) {
    if is_next(Point::AfterLinkSend, &said) {
        tokio::time::sleep(LEAVING).await;
    }
    hit(Point::AfterLinkSend, &said);
}
