//! Exchanges. Each has its own connection, so that a slow receiver delays no other traffic. They end with their link.

use std::{sync::Arc, time::Duration};

use airlock_domain::{
    ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, limits::MESSAGE_BYTES,
};
use airlock_proto::runner_v1::{ExchangeRequest, runner_link_client::RunnerLinkClient};
use futures::{FutureExt, Stream, StreamExt};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinSet,
    time::timeout,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};

use super::endpoint::{self, EndpointSource, LinkEnd, lost};
use crate::{
    exchange::{self, OrderServices},
    services::Services,
};

/// The number of messages between an exchange and its connection.
const WIRE_QUEUE: usize = 1;
/// The maximum number of exchanges that are refused at once. Further requests get no answer.
const TURNED_AWAY_AT_ONCE: usize = 64;
/// The time for the server to close its side after the runner's last message.
const FAREWELL: Duration = Duration::from_secs(5);

/// The exchanges of one link.
pub(super) struct Exchanges {
    services: Arc<Services>,
    endpoints: Arc<EndpointSource>,
    work: JoinSet<()>,
    /// The places for exchanges within `limits.exchanges`.
    places: Arc<Semaphore>,
    turned_away: JoinSet<()>,
    /// The connection that all refused exchanges share.
    aside: Channel,
    /// The endpoint version with which that connection was created.
    version: u64,
    /// Whether the excess of exchanges was logged.
    flooded: bool,
}

impl Exchanges {
    /// Creates an empty set. The first exchange connects. Needs a runtime.
    pub(super) fn new(services: &Arc<Services>, endpoints: &Arc<EndpointSource>) -> Self {
        let (work, turned_away) = (JoinSet::new(), JoinSet::new());
        let (endpoint, version) = endpoints.endpoint();
        let (services, endpoints, aside) =
            (Arc::clone(services), Arc::clone(endpoints), endpoint.connect_lazy());
        let limit = usize::try_from(services.config.limits.exchanges).unwrap_or(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(limit));
        Self { services, endpoints, work, places, turned_away, aside, version, flooded: false }
    }

    /// Opens an exchange that the server asked for, within `limits.exchanges`. Beyond the limit, opens one that
    /// reports the refusal.
    pub(super) fn open(&mut self, ticket: String) {
        for tasks in [&mut self.work, &mut self.turned_away] {
            while tasks.join_next().now_or_never().flatten().is_some() {}
        }
        let services = Arc::clone(&self.services);
        let limit = services.config.limits.exchanges;
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            self.flooded = false;
            let (endpoint, _) = self.endpoints.endpoint();
            self.work.spawn(async move {
                if let Err(end) = hold(&services, &endpoint, place, ticket).await {
                    tracing::info!(%end, "cannot open an exchange");
                }
            });
        } else if self.turned_away.len() < TURNED_AWAY_AT_ONCE {
            let channel = self.aside();
            self.turned_away.spawn(async move {
                if let Err(end) = turn_away(&services, channel, ticket, limit).await {
                    tracing::info!(%end, "cannot refuse an exchange");
                }
            });
        } else if !std::mem::replace(&mut self.flooded, true) {
            tracing::warn!("the server requests far more exchanges than `limits.exchanges`");
        }
    }

    /// Returns the connection of refused exchanges, with the current certificates.
    fn aside(&mut self) -> Channel {
        let (endpoint, version) = self.endpoints.endpoint();
        if version != self.version {
            self.version = version;
            self.aside = endpoint.connect_lazy();
        }
        self.aside.clone()
    }
}

/// Runs one exchange, from the connection to its end.
async fn hold(
    services: &Arc<Services>,
    endpoint: &Endpoint,
    place: OwnedSemaphorePermit,
    ticket: String,
) -> Result<(), LinkEnd> {
    let channel = endpoint::connect(endpoint, services.config.limits.dial_timeout).await?;
    let (to_server, mut from_server) = greet(services, channel, ticket).await?;
    let order_services = OrderServices {
        sessions: Arc::clone(&services.session_table),
        files: Arc::clone(&services.files),
        jobs: Arc::clone(&services.jobs),
        forwards: Arc::clone(&services.forwards),
        previews: Arc::clone(&services.previews),
        order_timeout: services.config.limits.dial_timeout,
        idle: services.config.limits.exchange_idle,
    };
    exchange::serve(&order_services, place, &mut from_server, to_server).await;
    farewell(from_server).await;
    Ok(())
}

/// Runs an exchange that reports that there are too many.
async fn turn_away(services: &Services, channel: Channel, ticket: String, limit: u32) -> Result<(), LinkEnd> {
    let (to_server, from_server) = greet(services, channel, ticket).await?;
    let failed = ExchangeFailed {
        failure: ExchangeFailure::Exhausted { limit: "limits.exchanges".to_owned(), value: limit.into() },
        reason: "TOO_MANY_EXCHANGES".to_owned(),
        message: format!(
            "this runner has reached its limit of {limit} exchanges; try again when one has ended"
        ),
    };
    // The server accepts Hello, so the stream is open.
    let _ = timeout(FAREWELL, to_server.send(ExchangeFromRunner::Failed(failed))).await;
    drop(to_server);
    farewell(from_server).await;
    Ok(())
}

/// Waits for the server to close its side, so that the last message is not lost with the connection.
async fn farewell(mut from_server: impl Stream + Unpin) {
    let ended = async { while from_server.next().await.is_some() {} };
    // Do not wait longer for a server that continues to send.
    let _ = timeout(FAREWELL, ended).await;
}

type ToServer = mpsc::Sender<ExchangeFromRunner>;

/// Opens the stream and sends Hello. The returned stream yields the server's messages, or a description of the problem
/// for an invalid message.
async fn greet(
    services: &Services,
    channel: Channel,
    ticket: String,
) -> Result<(ToServer, impl Stream<Item = Result<ExchangeToRunner, String>> + Unpin + use<>), LinkEnd> {
    let mut client = RunnerLinkClient::new(channel).max_decoding_message_size(MESSAGE_BYTES);
    let (to_server, queue) = mpsc::channel(WIRE_QUEUE);
    let hello = ExchangeFromRunner::Hello { runner_id: services.identity.id.clone(), ticket };
    // Cannot fail: the queue is empty and its receiver exists.
    let _ = to_server.try_send(hello);
    let requests = ReceiverStream::new(queue).map(ExchangeRequest::from);
    let answer = timeout(services.config.limits.dial_timeout, client.exchange(requests)).await;
    let answer = answer.map_err(|_| lost("the server does not answer"))?;
    let messages = answer.map_err(|status| lost(status.message()))?.into_inner();
    // A broken connection ends the stream.
    let messages = messages
        .map(|message| message.ok().map(|it| ExchangeToRunner::try_from(it).map_err(|bad| bad.to_string())))
        .take_while(|message| std::future::ready(message.is_some()))
        .filter_map(std::future::ready);
    Ok((to_server, messages))
}
