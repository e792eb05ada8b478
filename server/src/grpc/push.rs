//! The PushOutput call: connects the wire stream of a runner to the output streams.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use airlock_domain::PushFromRunner;
use airlock_output::stream::{PushBroken, PushHello, Streams};
use airlock_proto::runner_v1::{PushOutputRequest, PushOutputResponse};
use futures::{Stream, StreamExt as _, stream};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{call::refused, view::Responses};
use crate::{authn::Caller, status};

/// The reason why a stream failed, for its runner. Set at most once.
type Fault = Arc<OnceLock<Status>>;

/// Opens an output stream for the task that waits for its ticket.
pub(super) async fn open(
    (streams, hello_wait): (&Streams, Duration),
    caller: &Caller,
    mut incoming: Streaming<PushOutputRequest>,
) -> Result<Responses<PushOutputResponse>, Status> {
    let first = timeout(hello_wait, incoming.message())
        .await
        .map_err(|_| status::link_message("hello", "was not received in time"))?
        .map_err(|error| status::adopt(error.code(), error.message()))?
        .ok_or_else(|| status::link_message("hello", "the stream ended before it was received"))?;
    let hello = match PushFromRunner::try_from(first) {
        Ok(PushFromRunner::Hello { runner_id, execution_id, ticket, missing }) => {
            PushHello { runner_id, execution_id, ticket, missing }
        }
        Ok(_) => return Err(status::link_message("message", "the first message must be hello")),
        Err(error) => return Err(status::link_message(error.field, &error.problem)),
    };
    caller.require_runner(&hello.runner_id).map_err(refused)?;

    let fault = Fault::default();
    let outgoing = streams
        .accept_push(&hello, messages(incoming, fault.clone()))
        .map_err(|refusal| status::ticket_refused(&refusal))?;
    let end = stream::once(async move { fault.get().cloned().map(Err) }).filter_map(std::future::ready);
    Ok(Box::pin(ReceiverStream::new(outgoing).map(|message| Ok(message.into())).chain(end)))
}

/// Returns the runner's messages up to the first one that cannot be decoded.
fn messages(
    incoming: Streaming<PushOutputRequest>,
    fault: Fault,
) -> impl Stream<Item = Result<PushFromRunner, PushBroken>> + Send + 'static {
    incoming.map(move |message| {
        let read = match message {
            Ok(message) => PushFromRunner::try_from(message)
                .map_err(|error| status::link_message(error.field, &error.problem)),
            Err(error) => Err(status::adopt(error.code(), error.message())),
        };
        read.map_err(|status| {
            let broken = PushBroken(status.message().to_owned());
            // Only the first fault is kept.
            drop(fault.set(status));
            broken
        })
    })
}
