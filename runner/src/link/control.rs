//! One control stream, from the connection to its end: Hello, Welcome, all reports, and then messages in both
//! directions. It ends when one side is silent for too long.

use std::{sync::Arc, time::Duration};

use airlock_domain::{Epoch, ExecutionId, FromRunner, RunnerHello, ToRunner, limits::MESSAGE_BYTES};
use airlock_faults::{Point, hit, is_next, name_of};
use airlock_proto::{
    LINK_PROTOCOL_VERSION,
    runner_v1::{ConnectRequest, ConnectResponse, connect_response, runner_link_client::RunnerLinkClient},
};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status, Streaming};

use super::{
    endpoint::{self, EndpointSource, LinkEnd, lost},
    exchange::Exchanges,
    output::Outputs,
};
use crate::{clock, config::ServerConfig, reports::ReportQueue, services::Services};

/// The number of messages between a link's queue and its connection.
const WIRE_QUEUE: usize = 16;
/// A link is dead after this many heartbeat intervals without a message.
const SILENT_INTERVALS: u32 = 3;
/// The time that a stopping runner waits for the server to receive the last messages.
const FAREWELL: Duration = Duration::from_millis(500);

/// The time to send a message before a test stops the process.
const LEAVING: Duration = Duration::from_millis(5);

/// The server's Welcome, within the runner's limits.
struct Welcome {
    server_id: String,
    heartbeat: Duration,
    link_grace: Duration,
    takes_questions: bool,
}

/// Opens the link and keeps it until it ends. Sets `welcomed` to the server's ID if the link was established.
pub(super) async fn hold(
    services: &Arc<Services>,
    index: usize,
    server: &ServerConfig,
    cancel: &CancellationToken,
    welcomed: &mut Option<String>,
) -> LinkEnd {
    let made = cancel.run_until_cancelled(make(services, server)).await;
    let link = match made {
        None => return LinkEnd::Stopped,
        Some(Err(end)) => return end,
        Some(Ok(link)) => link,
    };
    let server_id = link.welcome.server_id.clone();
    if !services.links.link_up(index, &server_id, link.epoch, link.welcome.link_grace) {
        return lost("the epoch ended while the link was established");
    }
    *welcomed = Some(server_id.clone());
    services.metrics.link_up();
    tracing::info!(server = server.endpoint, server_id, "linked");
    let end = run(services, index, link, cancel).await;
    services.links.link_down(&server_id);
    services.metrics.link_down();
    end
}

/// A link on which the server has sent Welcome.
struct Link {
    epoch: Epoch,
    welcome: Welcome,
    to_server: mpsc::Sender<ConnectRequest>,
    from_server: Streaming<ConnectResponse>,
    endpoints: Arc<EndpointSource>,
}

async fn make(services: &Services, server: &ServerConfig) -> Result<Link, LinkEnd> {
    let limit = services.config.limits.dial_timeout;
    let endpoints = Arc::new(EndpointSource::new(server, limit)?);
    let (endpoint, _) = endpoints.endpoint();
    let channel = endpoint::connect(&endpoint, limit).await?;
    let mut client = RunnerLinkClient::new(channel).max_decoding_message_size(MESSAGE_BYTES);
    let (to_server, queue) = mpsc::channel(WIRE_QUEUE);
    let hello = hello_message(services);
    let epoch = hello.epoch;
    to_server.send(FromRunner::Hello(hello).into()).await.map_err(lost)?;
    let greeting = async {
        let mut from_server =
            client.connect(ReceiverStream::new(queue)).await.map_err(|status| ended(&status))?.into_inner();
        let first = from_server.message().await.map_err(|status| ended(&status))?;
        let first = first.ok_or_else(|| lost("the server closed the stream"))?;
        Ok((from_server, welcome(services, &ToRunner::try_from(first).map_err(lost)?)?))
    };
    let (from_server, welcome) =
        timeout(limit, greeting).await.map_err(|_| lost("the server does not answer"))??;
    Ok(Link { epoch, welcome, to_server, from_server, endpoints })
}

fn welcome(services: &Services, first: &ToRunner) -> Result<Welcome, LinkEnd> {
    let ToRunner::Welcome { server_id, protocol_version, heartbeat_interval, link_grace, takes_questions } =
        first
    else {
        return Err(LinkEnd::Refused("its first message is not Welcome".to_owned()));
    };
    if *protocol_version != LINK_PROTOCOL_VERSION {
        let both = format!(
            "the server uses protocol version {protocol_version}, and this runner uses \
             {LINK_PROTOCOL_VERSION}"
        );
        return Err(LinkEnd::Refused(both));
    }
    let limits = &services.config.limits;
    Ok(Welcome {
        server_id: server_id.clone(),
        heartbeat: (*heartbeat_interval).clamp(limits.heartbeat_min, limits.heartbeat_max),
        link_grace: (*link_grace).min(limits.link_grace_max),
        takes_questions: *takes_questions,
    })
}

/// Maps a status to the end of the link. A refusal is retried slowly, any other end soon.
fn ended(status: &Status) -> LinkEnd {
    let said = format!("{}: {}", status.code(), status.message());
    match status.code() {
        Code::FailedPrecondition | Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented => {
            LinkEnd::Refused(said)
        }
        _ => lost(said),
    }
}

async fn run(services: &Arc<Services>, index: usize, link: Link, cancel: &CancellationToken) -> LinkEnd {
    let Link { welcome, to_server, mut from_server, endpoints, .. } = link;
    let streams = (Outputs::new(services, &endpoints), Exchanges::new(services, &endpoints));
    let cut = CancellationToken::new();
    let capacity = usize::try_from(services.config.limits.link_queue).unwrap_or(usize::MAX);
    let (own_queue, first, queue) = services.reports.attach(capacity, cut.clone(), || snapshot(services));
    let speak = speak(services, to_server, first, queue, &welcome);
    let listen = listen((services, index), &mut from_server, streams, &own_queue, welcome.heartbeat);
    let end = tokio::select! {
        end = speak => end,
        end = listen => end,
        () = cut.cancelled() => lost("the server does not read reports as fast as they are sent"),
        () = cancel.cancelled() => LinkEnd::Stopped,
    };
    if matches!(end, LinkEnd::Stopped) {
        // The sending side is closed. Queued messages arrive before the server closes its side.
        let drained = async { while let Ok(Some(_)) = from_server.message().await {} };
        let _ = timeout(FAREWELL, drained).await;
    }
    end
}

async fn speak(
    services: &Services,
    to_server: mpsc::Sender<ConnectRequest>,
    first: Vec<FromRunner>,
    mut queue: mpsc::Receiver<FromRunner>,
    Welcome { heartbeat, takes_questions, .. }: &Welcome,
) -> LinkEnd {
    let patience = *heartbeat * SILENT_INTERVALS;
    let send = async |message: FromRunner| {
        if !takes_questions && matches!(message, FromRunner::Asked(_) | FromRunner::Unasked { .. }) {
            return Ok(());
        }
        let message = services.jobs.with_inline(message).await;
        let said = (!matches!(message, FromRunner::Heartbeat { .. })).then(|| name_of(&message));
        if said.is_some() {
            hit(Point::BeforeLinkSend, &message);
        }
        match timeout(patience, to_server.send(message.into())).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(lost("the server closed the stream")),
            Err(_) => return Err(lost("the server does not read its stream")),
        }
        if let Some(said) = said {
            if is_next(Point::AfterLinkSend, &said) {
                tokio::time::sleep(LEAVING).await;
            }
            hit(Point::AfterLinkSend, &said);
        }
        Ok(())
    };
    for message in first {
        if let Err(end) = send(message).await {
            return end;
        }
    }
    let mut beat = interval(*heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = queue.recv() => match message {
                Some(message) => message,
                None => return lost("the link's queue was closed"),
            },
            _ = beat.tick() => heartbeat_message(services),
        };
        if let Err(end) = send(message).await {
            return end;
        }
    }
}

async fn listen(
    (services, index): (&Arc<Services>, usize),
    from_server: &mut Streaming<ConnectResponse>,
    (mut outputs, mut exchanges): (Outputs, Exchanges),
    own_queue: &ReportQueue,
    heartbeat: Duration,
) -> LinkEnd {
    let patience = heartbeat * SILENT_INTERVALS;
    let begun = Instant::now();
    let mut told = false;
    loop {
        let message = match timeout(patience, from_server.message()).await {
            Err(_) => return lost("no message from the server"),
            Ok(Err(status)) => return ended(&status),
            Ok(Ok(None)) => return lost("the server closed the stream"),
            Ok(Ok(Some(message))) => message,
        };
        services.links.heard();
        // A message long after the complete report shows that the server has read the report.
        if !told && begun.elapsed() > patience {
            told = true;
            server_told(services, index);
        }
        let offered = offered(&message);
        match ToRunner::try_from(message).inspect(received) {
            Ok(ToRunner::OpenOutput { execution_id, ticket }) => outputs.open(execution_id, ticket),
            Ok(ToRunner::OpenExchange { ticket }) => exchanges.open(ticket),
            Ok(ToRunner::Probe { number }) => {
                services.reports.answer(own_queue, FromRunner::Probed { number });
            }
            Ok(message) => handle_request(services, message),
            // One invalid message must not end the jobs of this server.
            Err(error) => {
                tracing::warn!(
                    field = error.field,
                    "the server sent a message that the contract does not define"
                );
                if let Some((id, attempt)) = offered {
                    services.admission.refuse_malformed(id, attempt, &error.to_string());
                }
            }
        }
    }
}

fn received(message: &ToRunner) {
    if !matches!(message, ToRunner::Heartbeat | ToRunner::Probe { .. }) {
        hit(Point::AfterLinkReceive, message);
    }
}

/// Returns the execution and attempt of an offer that cannot be parsed in full, for example one of a newer server.
fn offered(message: &ConnectResponse) -> Option<(ExecutionId, u32)> {
    let Some(connect_response::Message::StartJob(offer)) = &message.message else { return None };
    let _: Epoch = offer.epoch.parse().ok()?;
    Some((offer.execution_id.parse().ok()?, offer.attempt))
}

/// Handles a message of a server, or starts to. The link itself handles `OpenOutput`, `OpenExchange`, `Probe` and
/// `Welcome`.
fn handle_request(services: &Services, message: ToRunner) {
    let Services { sessions, jobs, admission, draining, .. } = services;
    match message {
        ToRunner::OpenSession { session_id, base, profile } => sessions.open(session_id, &base, profile),
        ToRunner::CloseSession { session_id } => sessions.close(session_id),
        ToRunner::StartJob(offer) => admission.offer(*offer),
        ToRunner::EndJob { execution_id, cause } => admission.end(&execution_id, cause),
        ToRunner::ForgetJob { execution_id } => jobs.forget(execution_id),
        ToRunner::SignalJob { execution_id, signal } => jobs.signal(&execution_id, signal),
        ToRunner::ResizeJob { execution_id, size } => jobs.resize(&execution_id, size),
        ToRunner::DetachJob { execution_id, timeout } => jobs.detach(&execution_id, timeout),
        ToRunner::SetSessionNetwork { session_id, version, network } => {
            jobs.set_session_network(session_id, version, network.as_ref());
        }
        ToRunner::AnswerConnection { execution_id, approval_id, answer } => {
            jobs.answer_connection(&execution_id, approval_id, &answer);
        }
        ToRunner::Drain { undo } => draining.set_by_server(!undo),
        ToRunner::Welcome { .. }
        | ToRunner::OpenOutput { .. }
        | ToRunner::OpenExchange { .. }
        | ToRunner::Probe { .. }
        | ToRunner::Heartbeat => {}
    }
}

/// Builds the message with which the runner introduces itself.
fn hello_message(services: &Services) -> RunnerHello {
    services.identity.hello(services.links.epoch(), services.jobs.vouched())
}

/// Builds a heartbeat with the clock and the number of running jobs.
fn heartbeat_message(services: &Services) -> FromRunner {
    let running = u32::try_from(services.jobs.running()).unwrap_or(u32::MAX);
    FromRunner::Heartbeat { clock_ms: clock::now_ms(), running }
}

/// Returns the reports for a new link: all sessions, all jobs, and the marker that the list is complete.
fn snapshot(services: &Services) -> Vec<FromRunner> {
    let mut reports = services.sessions.all_reports();
    reports.extend(services.jobs.all_reports());
    reports.push(FromRunner::Reconciled);
    if services.draining.is_on() {
        reports.push(FromRunner::Draining { over: false });
    }
    reports
}

/// Records that a server has read the reports about earlier epochs. After all servers have, the next start does not
/// report again that the journal may be incomplete.
fn server_told(services: &Services, server: usize) {
    if services.links.server_told(server) >= services.config.servers.len() {
        services.jobs.all_servers_told();
    }
}
