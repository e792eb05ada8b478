//! The Exchange call: connects the wire stream of a runner to the exchanges.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use airlock_control::exchange::{ExchangeBroken, Exchanges};
use airlock_domain::{ExchangeFromRunner, RunnerId};
use airlock_proto::runner_v1::{ExchangeRequest, ExchangeResponse};
use futures::{Stream, StreamExt as _, stream};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use super::{call::refused, incoming::is_of_transport, view::Responses};
use crate::{authn::Caller, status};

/// The reason why a stream failed, for its runner. Set at most once.
type Fault = Arc<OnceLock<Status>>;

/// Opens an exchange for the task that waits for its ticket.
pub(super) async fn open(
    (exchanges, hello_wait): (&Exchanges, Duration),
    caller: &Caller,
    mut incoming: Streaming<ExchangeRequest>,
) -> Result<Responses<ExchangeResponse>, Status> {
    let first = timeout(hello_wait, incoming.message())
        .await
        .map_err(|_| status::link_message("hello", "was not received in time"))?
        .map_err(|error| status::adopt(error.code(), error.message()))?
        .ok_or_else(|| status::link_message("hello", "the stream ended before it was received"))?;
    let (runner, ticket) = hello_of(first)?;
    caller.require_runner(&runner).map_err(refused)?;

    let fault = Fault::default();
    let outgoing = exchanges
        .accept(&runner, &ticket, messages(incoming, fault.clone()))
        .map_err(|refusal| status::ticket_refused(&refusal))?;
    let end = stream::once(async move { fault.get().cloned().map(Err) }).filter_map(std::future::ready);
    Ok(Box::pin(ReceiverStream::new(outgoing).map(|message| Ok(message.into())).chain(end)))
}

fn hello_of(first: ExchangeRequest) -> Result<(RunnerId, String), Status> {
    match ExchangeFromRunner::try_from(first) {
        Ok(ExchangeFromRunner::Hello { runner_id, ticket }) => Ok((runner_id, ticket)),
        Ok(_) => Err(status::link_message("message", "the first message must be hello")),
        Err(error) => Err(status::link_message(error.field, &error.problem)),
    }
}

/// Returns the runner's messages up to the first one that cannot be decoded.
fn messages(
    incoming: Streaming<ExchangeRequest>,
    fault: Fault,
) -> impl Stream<Item = Result<ExchangeFromRunner, ExchangeBroken>> + Send + 'static {
    incoming.map(move |message| {
        let (status, broken): (Status, fn(String) -> ExchangeBroken) = match message {
            Ok(message) => match ExchangeFromRunner::try_from(message) {
                Ok(message) => return Ok(message),
                Err(error) => (status::link_message(error.field, &error.problem), ExchangeBroken::Unreadable),
            },
            Err(error) => {
                let broken = match error.code() {
                    _ if is_of_transport(&error) => ExchangeBroken::Cut,
                    Code::Internal | Code::OutOfRange => ExchangeBroken::Unreadable,
                    _ => ExchangeBroken::Cut,
                };
                (status::adopt(error.code(), error.message()), broken)
            }
        };
        let broken = broken(status.message().to_owned());
        // Only the first fault is kept.
        drop(fault.set(status));
        Err(broken)
    })
}
