//! An exchange: one operation on a session's files or a job's input, or one forwarded connection, ordered by a server.
//!
//! Uses no wire type and no connection. A misbehaving server affects only this exchange. It can send one order, its
//! chunks must be contiguous, and every wait has a limit. Dropping the future ends all work of the exchange.

mod messages;

use std::{sync::Arc, time::Duration};

use airlock_domain::{
    DiffOrder, DownloadOrder, ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder,
    ExchangeToRunner, ExecutionId, ListOrder, QuarantineOrder, UploadOrder,
};
use futures::{Stream, StreamExt, stream::unfold};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    time::timeout,
};

use crate::{
    files::Files,
    forward::Forwards,
    job::EditPreviews,
    services::Jobs,
    session::SessionTable,
    stdin::{closed, not_running},
};

use messages::{Check, invalid};

pub(crate) use messages::{Incoming, OUTGOING, Outgoing, failed};

/// The maximum number of server messages that are read ahead.
const AHEAD: usize = 1;

/// The exchange was abandoned without an answer, because the server disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Disconnected;

/// The services that carry out orders, and the limits of an exchange.
#[derive(Debug)]
pub(crate) struct OrderServices {
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) files: Arc<Files>,
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) forwards: Arc<Forwards>,
    pub(crate) previews: Arc<EditPreviews>,
    /// The time for which the runner waits for the order.
    pub(crate) order_timeout: Duration,
    /// The time after which an exchange with an inactive server ends.
    pub(crate) idle: Duration,
}

/// Serves one exchange, from its order to its last message. `from_server` yields the server's messages, or a
/// description of the problem for an invalid message. `place` counts towards `limits.exchanges`. Cancelled by dropping.
pub(crate) async fn serve(
    services: &OrderServices,
    place: OwnedSemaphorePermit,
    mut from_server: impl Stream<Item = Result<ExchangeToRunner, String>> + Unpin,
    to_server: Outgoing,
) {
    let idle = services.idle;
    let (answers, queue) = mpsc::channel(OUTGOING);
    let work = async {
        let done = match timeout(services.order_timeout, first(&mut from_server)).await {
            Err(_) => Err(invalid("no order arrived in time")),
            Ok(Err(said)) => said.map_or(Ok(()), Err),
            Ok(Ok(order)) => {
                // A forwarded connection can last for hours, so it has a limit of its own.
                let _place = Some(place).filter(|_| !matches!(order, ExchangeOrder::Forward { .. }));
                carry_out(services, order, &mut from_server, &answers).await
            }
        };
        if let Err(failed) = done {
            tracing::debug!(reason = failed.reason, "an order failed");
            let _ = answers.send(ExchangeFromRunner::Failed(failed)).await;
        }
        drop(answers);
    };
    let relay = relay(queue, &to_server, idle);
    // If the server reads no answers, the work has no purpose.
    let both = async {
        tokio::pin!(work, relay);
        tokio::select! {
            gone = &mut relay => gone,
            () = &mut work => relay.await,
        }
    };
    if both.await.is_err() {
        tracing::info!("exchange abandoned: the server is disconnected or does not read");
    }
}

/// Reads the order. `Err(None)` means that the server disconnected.
async fn first(
    from_server: &mut (impl Stream<Item = Result<ExchangeToRunner, String>> + Unpin),
) -> Result<ExchangeOrder, Option<ExchangeFailed>> {
    match from_server.next().await {
        Some(Ok(ExchangeToRunner::Order(order))) => Ok(order),
        Some(Ok(_)) => Err(Some(invalid("the first message is not an order"))),
        Some(Err(problem)) => Err(Some(invalid(problem))),
        None => Err(None),
    }
}

/// Forwards answers. A server that accepts no answer for `idle` counts as disconnected.
async fn relay(
    mut queue: mpsc::Receiver<ExchangeFromRunner>,
    to_server: &Outgoing,
    idle: Duration,
) -> Result<(), Disconnected> {
    loop {
        let message = tokio::select! {
            message = queue.recv() => message,
            () = to_server.closed() => return Err(Disconnected),
        };
        let Some(message) = message else { return Ok(()) };
        match timeout(idle, to_server.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(Disconnected),
        }
    }
}

/// Performs the work while it listens to the server. If the server violates the protocol, the work ends and the
/// violation is the answer. If the server disconnects, the work ends without an answer, except for an upload.
async fn carry_out(
    services: &OrderServices,
    order: ExchangeOrder,
    from_server: &mut (impl Stream<Item = Result<ExchangeToRunner, String>> + Unpin),
    answers: &Outgoing,
) -> Result<(), ExchangeFailed> {
    let check = Check::new(&order);
    let idle = match order {
        ExchangeOrder::Upload(_) => Some(services.idle),
        // A person may type the input, and a forwarded connection may be idle. In the other orders, the server sends no
        // further message.
        _ => None,
    };
    let is_upload = matches!(order, ExchangeOrder::Upload(_));
    let (messages, ahead) = mpsc::channel(AHEAD);
    let incoming = unfold(ahead, async |mut ahead: mpsc::Receiver<_>| Some((ahead.recv().await?, ahead)));
    let work = dispatch(services, order, incoming.boxed(), answers);
    let listen = listen(from_server, check, idle, messages);
    tokio::pin!(work, listen);
    tokio::select! {
        biased;
        done = &mut work => return done,
        heard = &mut listen => match heard {
            Err(violation) => return Err(violation),
            // The received part of an upload is kept. The worker records its length.
            Ok(Heard::Cut) if is_upload => {}
            Ok(_) => return Ok(()),
        },
    }
    work.await
}

enum Heard {
    /// The server disconnected before its last message.
    Cut,
    /// The server disconnected after its last message.
    Closed,
}

/// Reads the server's messages for as long as it may send more.
async fn listen(
    from_server: &mut (impl Stream<Item = Result<ExchangeToRunner, String>> + Unpin),
    mut check: Check,
    idle: Option<Duration>,
    messages: mpsc::Sender<ExchangeToRunner>,
) -> Result<Heard, ExchangeFailed> {
    loop {
        let end = {
            // Continue to read even if the worker accepts no more messages.
            let room = messages.reserve().await.ok();
            let next = from_server.next();
            let message = match idle.filter(|_| room.is_some()) {
                Some(idle) => timeout(idle, next).await.map_err(|_| idled())?,
                None => next.await,
            };
            let Some(message) = message else { return Ok(Heard::Cut) };
            let message = check.take(message.map_err(invalid)?)?;
            let end = matches!(message, ExchangeToRunner::End { .. });
            if let Some(room) = room {
                room.send(message);
            }
            end
        };
        if end {
            break;
        }
    }
    drop(messages);
    match from_server.next().await {
        None => Ok(Heard::Closed),
        Some(_) => Err(invalid("the server sent a message after the end")),
    }
}

async fn dispatch(
    services: &OrderServices,
    order: ExchangeOrder,
    incoming: Incoming,
    answers: &Outgoing,
) -> Result<(), ExchangeFailed> {
    match order {
        ExchangeOrder::Stdin { execution_id, take_over } => {
            write_stdin(services, execution_id, take_over, incoming, answers).await
        }
        ExchangeOrder::Forward { session_id, port } => {
            services.forwards.serve(&session_id, port, incoming, answers).await
        }
        ExchangeOrder::Preview(grant) => match services.sessions.get(&grant.session_id) {
            Some(session) => services.previews.serve(&services.files, session, grant, answers).await,
            None => Err(not_open()),
        },
        ExchangeOrder::Upload(UploadOrder { session_id, .. })
        | ExchangeOrder::Download(DownloadOrder { session_id, .. })
        | ExchangeOrder::Stat { session_id, .. }
        | ExchangeOrder::Quarantine(QuarantineOrder { session_id, .. })
        | ExchangeOrder::Restore { session_id, .. }
        | ExchangeOrder::Digests { session_id, .. }
        | ExchangeOrder::List(ListOrder { session_id, .. })
        | ExchangeOrder::Diff(DiffOrder { session_id, .. }) => match services.sessions.get(&session_id) {
            Some(session) => services.files.carry_out(session, order, incoming, answers).await,
            None => Err(not_open()),
        },
    }
}

fn not_open() -> ExchangeFailed {
    let message = "the session is not open on this runner";
    failed(ExchangeFailure::FailedPrecondition, "SESSION_NOT_OPEN", message)
}

async fn write_stdin(
    services: &OrderServices,
    id: ExecutionId,
    take_over: bool,
    incoming: Incoming,
    answers: &Outgoing,
) -> Result<(), ExchangeFailed> {
    let Some(job) = services.jobs.running_job(&id) else {
        if services.jobs.knows(&id) {
            return Err(not_running());
        }
        let message = "this runner has no such execution";
        return Err(failed(ExchangeFailure::NotFound, "NO_SUCH_EXECUTION", message));
    };
    match &job.input {
        Some(input) => input.serve(incoming, answers, take_over).await,
        None => Err(closed("the command was started without an input")),
    }
}

fn idled() -> ExchangeFailed {
    failed(ExchangeFailure::Unavailable, "EXCHANGE_IDLE", "no message arrived within `limits.exchange_idle`")
}

#[cfg(test)]
mod tests;
