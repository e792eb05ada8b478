//! Builds a server from its configuration and shuts it down.
//!
//! [`RunningServer`] owns all tasks. After [`RunningServer::shut_down`], none of its tasks, sockets and locks
//! remain. A server can run inside another program.

mod engines;
mod error;
mod followed;
mod hooks;
mod limits;
mod ready;
mod stop;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use airlock_control::{
    TraceHooks,
    exchange::{ExchangeParts, Exchanges},
    fleet::{Fleet, NoPeers, PeerClient},
    links::Links,
    model::ANY_PROFILE,
    profiles::{LiveProfiles, Needed, Profiles},
    services::{ServiceParts, Services},
};
use airlock_hooks::HookClients;
use airlock_output::{
    storage::{Outputs, Retention},
    stream::{StreamParts, Streams},
};
use airlock_store::{Store, changes::Changes};
use followed::{Followed, built_in, follow};
use futures::future::LocalBoxFuture;
use limits::{call_limits, exchange_limits, service_limits, stream_limits};
use ready::Tokens;
use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::{AbortOnDropHandle, TaskTracker},
};
use tonic::transport::Server as Transport;
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{
    authn::Authenticator,
    config::{Config, Layers},
    grpc::{
        self, EdgeParts,
        interceptor::{Interceptor, calls::Calls},
        peers::PeerLinks,
    },
    listen::listen,
    probes::{Probes, Readiness},
    telemetry::{self, Metrics, Telemetry, store::MeasuredStore},
    tls::{self, Accept, AcceptLimits, LiveTls},
};

pub use engines::{AllEngines, Engines, LocalEngines};
pub use error::{ServeError, StartError};

/// The interval at which an idle connection is probed.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// The timeout of such a probe.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The flow-control window of a stream in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// The maximum window of HTTP/2 in bytes.
const WINDOW_MOST: u32 = i32::MAX.unsigned_abs();
/// The maximum size of an HTTP/2 frame in bytes. A chunk of output with its envelope fits.
const FRAME_BYTES: u32 = 64 * 1024;
/// The maximum size of all headers of a request in bytes.
const HEADER_BYTES: u32 = 16 * 1024;

/// What the program that runs a server supplies.
#[derive(Debug)]
pub struct Options {
    /// The engines that this program contains.
    pub engines: &'static dyn Engines,
    /// A bound socket to use instead of `listen.address`.
    pub listener: Option<TcpListener>,
    /// Telemetry to use instead of the server's own. It is shut down with the server.
    pub telemetry: Option<Telemetry>,
    /// The layers of the configuration. Its identities are reloaded while the server runs.
    pub layers: Option<Layers>,
}

impl Options {
    /// Returns options with these engines and nothing else.
    #[must_use]
    pub const fn new(engines: &'static dyn Engines) -> Self {
        Self { engines, listener: None, telemetry: None, layers: None }
    }
}

/// The constructor of servers.
#[derive(Debug)]
pub struct Server;

/// A running server. [`RunningServer::shut_down`] ends it in order. Dropping it only cuts its connections.
pub struct RunningServer {
    local_addr: SocketAddr,
    health: HealthReporter,
    streams: Streams,
    exchanges: Exchanges,
    services: Services,
    peers: Option<PeerLinks>,
    store: Arc<dyn Store>,
    telemetry: Telemetry,
    tasks: TaskTracker,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
    accepting: JoinHandle<()>,
    probes: Option<AbortOnDropHandle<()>>,
    tokens: Tokens,
    grace: Duration,
    _cut_when_dropped: [DropGuard; 2],
}

impl Server {
    /// Checks whether a server could start with this configuration and the files that it names.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn check(config: &Config) -> Result<(), StartError> {
        config.check()?;
        load_profiles(config)?;
        config.listen.tls.as_ref().map(tls::server_config).transpose()?;
        Ok(())
    }

    /// Starts a server that can use every engine. It is ready when this returns.
    ///
    /// # Errors
    /// See [`StartError`]. After an error, only an empty store can remain.
    pub async fn start(config: Config) -> Result<RunningServer, StartError> {
        Self::start_with(config, Options::new(&AllEngines)).await
    }

    /// Like [`Server::start`], with resources of an embedding program.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start_with(
        config: Config,
        options: Options,
    ) -> LocalBoxFuture<'static, Result<RunningServer, StartError>> {
        // Boxed as a trait object, so that the compiler generates the server's code once in this crate, not in every
        // crate that polls this future.
        Box::pin(Self::make(config, options))
    }

    async fn make(config: Config, options: Options) -> Result<RunningServer, StartError> {
        config.check()?;
        let telemetry = match options.telemetry {
            Some(telemetry) => telemetry,
            None => Telemetry::start(&config.telemetry, &config.server_id)?,
        };
        let metrics = telemetry.metrics();

        // Errors of the operator are detected before anything slow is done.
        let profiles = LiveProfiles::new(load_profiles(&config)?);
        let followed = Followed::begin(&config, options.layers.as_ref());
        let tls = config.listen.tls.as_ref().map(tls::live).transpose()?;
        let hooks = hooks::clients(&config, &metrics)?;
        let authenticator = Arc::new(Authenticator::new(&config));
        let needed = Needed::new(named_profiles(&config).cloned().collect());
        let listener = match options.listener {
            Some(listener) => listener,
            None => bind(config.listen.address)?,
        };
        let tokens = Tokens::default();
        let readiness = Readiness { closed: tokens.closed.clone(), ..Readiness::default() };
        // Probes are answered from here on, because opening the store can take long, for example during
        // migrations.
        let probes = probes(&config, &readiness, &tokens)?;
        let local_addr = listener.local_addr().map_err(StartError::Address)?;

        let changes = Changes::default();
        let store = options.engines.store(&config, changes.clone()).await?;
        let store: Arc<dyn Store> = Arc::new(MeasuredStore::new(store, metrics.clone()));
        let outputs = Arc::new(options.engines.outputs(&config).await?);
        let callees = (config.peers.clone().map(PeerLinks::new), hooks);
        let state =
            State { store: store.clone(), outputs: outputs.clone(), changes, callees: callees.clone() };
        let (services, streams, exchanges) =
            Box::pin(start_services(&config, profiles.clone(), state, &metrics)).await?;

        let tasks = TaskTracker::new();
        if let Some(keep) = config.outputs.retention {
            let retention = Retention { outputs, store: store.clone(), keep };
            tasks.spawn(retention.run(tokens.closed.clone()));
        }
        let identities = (authenticator.clone(), profiles.clone(), needed);
        let live = (tls.clone(), callees.clone(), identities);
        follow(&config, followed, live, &metrics, (&tasks, &tokens));
        let parts =
            edge_parts(&config, (&services, &streams, &exchanges), &profiles, &metrics, (&tasks, &tokens));
        let (health, health_service) = tonic_health::server::health_reporter();
        ready::follow(&config, &services.runners, &health, (&tasks, &readiness)).await;
        let routes = grpc::routes(parts, health_service)?;
        let interceptor = interceptor(&config, authenticator, &metrics, &tokens);
        let (accepting, connections) = accept(&config, listener, tls, metrics, &tokens);
        let serving = transport(&config)
            .layer(interceptor)
            .add_routes(routes)
            .serve_with_incoming_shutdown(connections, tokens.draining.clone().cancelled_owned());

        tracing::info!(address = %local_addr, server = %config.server_id, "serving");
        Ok(RunningServer {
            local_addr,
            health,
            streams,
            exchanges,
            services,
            peers: callees.0,
            store,
            telemetry,
            tasks,
            serving: tokio::spawn(serving),
            accepting,
            probes,
            _cut_when_dropped: [tokens.draining.clone().drop_guard(), tokens.cut.clone().drop_guard()],
            tokens,
            grace: config.limits.shutdown_grace,
        })
    }
}

fn interceptor(
    config: &Config,
    authenticator: Arc<Authenticator>,
    metrics: &Metrics,
    tokens: &Tokens,
) -> Interceptor {
    Interceptor {
        authenticator,
        calls: Calls::new(call_limits(config)),
        metrics: metrics.clone(),
        closed: tokens.closed.clone(),
        draining: tokens.draining.clone(),
    }
}

/// Loads the profiles and checks that every named profile exists.
fn load_profiles(config: &Config) -> Result<Profiles, StartError> {
    let profiles = Profiles::load_with(&built_in(config), config.profiles.directory.as_deref())?;
    for name in named_profiles(config) {
        if profiles.get(name).is_none() {
            let known = profiles.names().collect::<Vec<_>>().join(", ");
            return Err(StartError::UnknownProfile { name: name.clone(), known });
        }
    }
    let grace = profiles.longest_grace();
    if grace > config.link.ending_grace {
        return Err(StartError::Grace { grace, limit: config.link.ending_grace });
    }
    for (profile, warning) in profiles.warnings() {
        tracing::warn!(profile, "{warning}");
    }
    Ok(profiles)
}

fn named_profiles(config: &Config) -> impl Iterator<Item = &String> {
    let named = config.identities.iter().flat_map(|identity| &identity.profiles);
    named.filter(|name| *name != ANY_PROFILE).chain([&config.profiles.default])
}

fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    listen(address).map_err(|source| StartError::Bind { address, source })
}

/// The stored state, the notifier of its changes, and the other servers.
struct State {
    store: Arc<dyn Store>,
    outputs: Arc<Outputs>,
    changes: Changes,
    /// The other servers of the store, and the hooks.
    callees: (Option<PeerLinks>, HookClients),
}

/// Starts the task that answers probes, if an address is configured.
fn probes(
    config: &Config,
    readiness: &Readiness,
    tokens: &Tokens,
) -> Result<Option<AbortOnDropHandle<()>>, StartError> {
    let Some(address) = config.listen.probes else { return Ok(None) };
    let bound = Probes::bind(address).map_err(|source| StartError::BindProbes { address, source })?;
    let answering = tokio::spawn(bound.run(readiness.clone(), tokens.cut.clone()));
    Ok(Some(AbortOnDropHandle::new(answering)))
}

/// Starts the services, the streams and the exchanges, and connects their interfaces.
async fn start_services(
    config: &Config,
    profiles: LiveProfiles,
    State { store, outputs, changes, callees: (peers, hooks) }: State,
    metrics: &Metrics,
) -> Result<(Services, Streams, Exchanges), StartError> {
    let limits = service_limits(config);
    limits.check(config.link.ending_grace)?;
    let stream_limits = stream_limits(config);
    stream_limits.check()?;
    exchange_limits(config).check()?;
    let links = Links::new(config.server_id.clone(), limits.clone());
    let peer_client: Arc<dyn PeerClient> = match &peers {
        Some(peers) => Arc::new(peers.clone()),
        None => Arc::new(NoPeers),
    };
    let fleet = Fleet::new(config.server_id.clone(), links.clone(), peer_client);
    let observer = Arc::new(metrics.clone());
    let streams = Streams::new(StreamParts {
        store: store.clone(),
        outputs,
        link: Arc::new(fleet.clone()),
        changes: changes.clone(),
        server_id: config.server_id.clone(),
        limits: stream_limits,
        observer: observer.clone(),
        cancel: CancellationToken::new(),
    });
    let exchanges = Exchanges::new(ExchangeParts {
        link: Arc::new(fleet.clone()),
        limits: exchange_limits(config),
        observer: observer.clone(),
    });
    if let Some(peers) = &peers {
        peers.attach(streams.clone(), exchanges.clone());
    }
    let services = Services::start_up(ServiceParts {
        store,
        profiles,
        links,
        output: Arc::new(streams.clone()),
        files: Arc::new(exchanges.clone()),
        changes,
        fleet,
        server_id: config.server_id.clone(),
        advertise: config.peers.as_ref().and_then(|peers| peers.advertise.clone()),
        limits,
        encode_decision: grpc::decision::encode,
        hooks: Arc::new(hooks),
        trace: TraceHooks { adopt: telemetry::adopt, current: telemetry::current_traceparent },
        observer,
    })
    .await?;
    if let Err(error) = streams.resume_storing().await {
        streams.shut_down().await;
        services.shut_down().await;
        return Err(StartError::Resume(error));
    }
    Ok((services, streams, exchanges))
}

/// Collects the dependencies of the handlers.
fn edge_parts(
    config: &Config,
    (services, streams, exchanges): (&Services, &Streams, &Exchanges),
    profiles: &LiveProfiles,
    metrics: &Metrics,
    (tasks, tokens): (&TaskTracker, &Tokens),
) -> EdgeParts {
    EdgeParts {
        services: services.clone(),
        profiles: profiles.clone(),
        streams: streams.clone(),
        exchanges: exchanges.clone(),
        metrics: metrics.clone(),
        tasks: tasks.clone(),
        stopping: tokens.closed.clone(),
        message_bytes: config.limits.message_bytes,
        hello_wait: config.link.heartbeat_timeout,
        relays: Arc::new(Semaphore::new(config.peers.as_ref().map_or(0, |peers| peers.relays))),
        limits: config.named_limits(),
    }
}

/// Starts the task that accepts connections. Returns it with the stream of connections.
fn accept(
    config: &Config,
    listener: TcpListener,
    tls: Option<LiveTls>,
    metrics: Metrics,
    tokens: &Tokens,
) -> (JoinHandle<()>, ReceiverStream<std::io::Result<tls::Connection>>) {
    let limits = AcceptLimits {
        connections: config.limits.connections,
        connections_per_peer: config.limits.connections_per_peer,
        handshake_timeout: config.limits.handshake_timeout,
        connection_idle: config.limits.connection_idle,
    };
    let (ready, connections) = Accept::channel();
    let accept = Accept::new(listener, tls, limits, metrics, tokens.cut.clone());
    let accepting = tokio::spawn(accept.run(ready, tokens.draining.clone()));
    (accepting, ReceiverStream::new(connections))
}

fn transport(config: &Config) -> Transport {
    let streams = config.limits.streams_per_connection;
    // The connection window has room for all streams, so that inputs that no command reads do not block a
    // cancellation.
    let connection_window = STREAM_WINDOW.saturating_mul(streams).clamp(STREAM_WINDOW, WINDOW_MOST);
    Transport::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(connection_window)
        .max_concurrent_streams(streams)
        .max_frame_size(FRAME_BYTES)
        .http2_max_header_list_size(HEADER_BYTES)
}
