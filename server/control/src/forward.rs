//! Forwarded connections: clients reach ports of a session from outside. Each connection is one exchange with the
//! session's runner, and has audit entries.
//!
//! The runner checks its own floor, and connects only inside the session's network namespace.

use std::{sync::Arc, time::Instant};

use airlock_domain::{ExchangeFromRunner, ExchangeOrder, SessionId};
use airlock_store::record::{ForwardRecord, ForwardStep};
use futures::stream::{self, BoxStream};
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

use crate::{
    SessionInUse,
    api::ApiError,
    exchange::{ClientFault, Exchange, Exchanges, ForwardInput, ForwardPart, Traffic, Violation},
    model::Principal,
    session::Sessions,
};

/// The number of parts that are buffered for the client.
const WAITING: usize = 1;

/// Opens connections to ports of sessions. Cheap to clone.
#[derive(Clone)]
pub struct Forwards {
    sessions: Arc<Sessions>,
    exchanges: Exchanges,
}

/// The parts of a connection, in order. Ends with an error unless both directions have ended. Dropping it resets the
/// connection.
pub type ForwardParts = BoxStream<'static, Result<ForwardPart, ApiError>>;

/// One connection, from its first audit entry to its last one.
struct Connection {
    forwards: Forwards,
    who: Principal,
    session: SessionInUse,
    begun: ForwardRecord,
    to_client: mpsc::Sender<ForwardPart>,
}

impl Forwards {
    /// Creates the service.
    #[must_use]
    pub fn new(sessions: Arc<Sessions>, exchanges: Exchanges) -> Self {
        Self { sessions, exchanges }
    }

    /// Connects to a port of a session. Returns when the connection exists. `input` is the client's direction. The
    /// session counts as used until the connection ends.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` without the session's profile; `FailedPrecondition` if the session is not open, the profile
    /// or the runner's floor does not permit the port, or nothing listens there; `Exhausted`; `Unavailable`.
    pub async fn open(
        &self,
        who: Principal,
        session_id: SessionId,
        port: u16,
        input: ForwardInput,
    ) -> Result<ForwardParts, ApiError> {
        let session = self.sessions.in_use(&who, session_id).await?;
        let begun = self.sessions.begin_forward(&who, &session.record, port).await?;
        let (to_client, parts) = mpsc::channel(WAITING);
        let ((ready, is_ready), (end, ended)) = (oneshot::channel(), oneshot::channel());
        let connection = Connection { forwards: self.clone(), who, session, begun, to_client };
        // The task writes the last entry even if the client disconnects before the connection exists.
        let run = async move {
            let error = connection.run(input, ready).await;
            // This fails if the client has disconnected. Then the error is not needed.
            drop(end.send(error));
        };
        self.exchanges.tasks().spawn(run.in_current_span());
        if is_ready.await.is_ok() { Ok(stream_of(parts, ended)) } else { Err(error_of(ended).await) }
    }
}

impl Connection {
    /// Runs the connection. Returns the reason why it failed.
    async fn run(self, mut input: ForwardInput, ready: oneshot::Sender<()>) -> Option<ApiError> {
        let (began, mut traffic) = (Instant::now(), Traffic::default());
        let result = self.transfer(&mut input, ready, &mut traffic).await;
        let duration_micros = i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
        let Traffic { sent, received } = traffic;
        let error = result.err();
        let (step, reason) = match &error {
            None => (ForwardStep::Ended, String::new()),
            Some(error) => (ForwardStep::Failed, reason(error)),
        };
        let ended = ForwardRecord { step, reason, sent, received, duration_micros, ..self.begun };
        if let Err(error) = self.forwards.sessions.note_forward(&ended).await {
            tracing::error!(%error, session = %ended.session_id, "cannot close an audit entry");
        }
        error
    }

    async fn transfer(
        &self,
        input: &mut ForwardInput,
        ready: oneshot::Sender<()>,
        traffic: &mut Traffic,
    ) -> Result<(), ApiError> {
        let order = ExchangeOrder::Forward { session_id: self.begun.session_id, port: self.begun.port };
        let opening = async {
            let runner = &self.session.record.runner_id;
            let mut exchange = self.forwards.exchanges.open(&self.who, runner, order).await?;
            let connected = connected(&mut exchange).await;
            exchange.settled(connected).map(|()| exchange)
        };
        let mut exchange = tokio::select! {
            opened = opening => opened?,
            () = self.to_client.closed() => return Err(ApiError::ClientStream(ClientFault::Gone)),
        };
        // This fails if the client has disconnected, which the transfer notices.
        let _ = ready.send(());
        let done = exchange.forward(input, &self.to_client, traffic).await;
        exchange.settled(done)
    }
}

async fn connected(exchange: &mut Exchange) -> Result<(), ApiError> {
    match exchange.hear().await? {
        ExchangeFromRunner::Ready { .. } => Ok(()),
        _ => Err(exchange.misbehaved(Violation::WrongKind)),
    }
}

/// Returns a stream of all parts, followed by the error, if there is one.
fn stream_of(parts: mpsc::Receiver<ForwardPart>, ended: oneshot::Receiver<Option<ApiError>>) -> ForwardParts {
    Box::pin(stream::unfold(Some((parts, ended)), |state| async {
        let (mut parts, ended) = state?;
        if let Some(part) = parts.recv().await {
            return Some((Ok(part), Some((parts, ended))));
        }
        let error = ended.await.unwrap_or_else(|_| Some(aborted()));
        Some((Err(error?), None))
    }))
}

async fn error_of(ended: oneshot::Receiver<Option<ApiError>>) -> ApiError {
    ended.await.ok().flatten().unwrap_or_else(aborted)
}

fn aborted() -> ApiError {
    ApiError::Internal("a forwarded connection was aborted".to_owned())
}

/// Returns the reason code for the audit.
fn reason(error: &ApiError) -> String {
    match error {
        ApiError::Exchange(refusal) => refusal.reason.clone(),
        ApiError::FailedPrecondition { reason, .. } | ApiError::Unavailable { reason, .. } => {
            (*reason).to_owned()
        }
        ApiError::Exhausted { limit, .. } => format!("LIMIT:{limit}"),
        ApiError::ClientStream(_) => "CLIENT_LEFT".to_owned(),
        ApiError::Invalid(_) => "INVALID".to_owned(),
        _ => "INTERNAL".to_owned(),
    }
}
