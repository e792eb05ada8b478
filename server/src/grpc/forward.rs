//! The Forward call: a client's connection to a port of a session.

use std::time::Duration;

use airlock_control::{exchange::ForwardPart, forward::Forwards, model::Principal};
use airlock_proto::v1::{
    ForwardEnded, ForwardOpened, SessionServiceForwardRequest, SessionServiceForwardResponse,
    session_service_forward_response::Message,
};
use futures::{StreamExt as _, stream};
use tonic::{Request, Status, Streaming};

use super::{call::refused, incoming::Incoming, view::Responses};
use crate::validate;

/// Opens the connection. Returns its responses when it exists. `wait` is the time for the first message.
pub(super) async fn open(
    (forwards, wait): (&Forwards, Duration),
    who: Principal,
    request: Request<Streaming<SessionServiceForwardRequest>>,
) -> Result<Responses<SessionServiceForwardResponse>, Status> {
    let mut incoming = Incoming::new(request);
    let first = incoming.first("open", wait).await.map_err(refused)?;
    let (session_id, port) = validate::forward(first).map_err(refused)?;
    let input = incoming.pieces(None, validate::forward_part);
    let parts = forwards.open(who, session_id, port, input).await.map_err(refused)?;
    let opened = stream::once(std::future::ready(Ok(Message::Opened(ForwardOpened {}))));
    let parts = parts.map(|part| match part {
        Ok(ForwardPart::Data(data)) => Ok(Message::Data(data)),
        Ok(ForwardPart::End) => Ok(Message::End(ForwardEnded {})),
        Err(error) => Err(refused(error)),
    });
    let messages = opened.chain(parts);
    Ok(Box::pin(
        messages
            .map(|message| message.map(|message| SessionServiceForwardResponse { message: Some(message) })),
    ))
}
