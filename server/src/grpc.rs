//! The gRPC edge: thin handlers between the wire and the services.
//!
//! Generated protobuf types are not used beyond this module. The interceptor authenticates and
//! authorizes every call first. A handler validates its request, calls a service and converts the result.

mod admin;
mod approval;
mod call;
pub(crate) mod decision;
mod exchange;
mod execution;
mod file;
mod forward;
mod incoming;
pub(crate) mod interceptor;
mod link;
mod outcome;
mod peer;
pub(crate) mod peers;
mod policy;
mod push;
mod read_output;
mod records;
mod session;
mod stdin;
mod view;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_control::{exchange::Exchanges, forward::Forwards, profiles::LiveProfiles, services::Services};
use airlock_domain::limits::MESSAGE_BYTES;
use airlock_output::stream::Streams;
use airlock_proto::{
    FILE_DESCRIPTOR_SET,
    runner_v1::runner_link_server::RunnerLinkServer,
    server_v1::peer_server::PeerServer,
    v1::{self, execution_service_server::ExecutionServiceServer},
};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::service::Routes;
use tonic_health::pb::health_server::{Health, HealthServer};

pub(crate) use self::outcome::explain;
use self::{
    admin::AdminHandler, approval::ApprovalHandler, execution::ExecutionHandler, file::FileHandler,
    link::LinkHandler, peer::PeerHandler, policy::PolicyHandler, session::SessionHandler, view::Disconnects,
};
use crate::telemetry::Metrics;

/// The dependencies of the handlers.
pub(crate) struct EdgeParts {
    pub(crate) services: Services,
    pub(crate) profiles: LiveProfiles,
    pub(crate) streams: Streams,
    pub(crate) exchanges: Exchanges,
    pub(crate) metrics: Metrics,
    /// Owns the tasks that outlive a call: links, and starts after their caller has disconnected.
    pub(crate) tasks: TaskTracker,
    /// The server shuts down. A call that ends now was not ended by its client.
    pub(crate) stopping: CancellationToken,
    /// The maximum size of one message in bytes.
    pub(crate) message_bytes: usize,
    /// The time from the first byte of a link to its Hello.
    pub(crate) hello_wait: Duration,
    /// The permits for streams that are relayed for other servers.
    pub(crate) relays: Arc<Semaphore>,
    /// Every limit of the configuration by name.
    pub(crate) limits: BTreeMap<String, u64>,
}

/// The reason why the services could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The descriptors were rejected.
    #[error("gRPC reflection cannot serve the contract: {0}")]
    Refused(#[from] tonic_reflection::server::Error),
    /// The descriptors of the contract could not be decoded.
    #[error("the contract cannot be decoded: {0}")]
    Unreadable(#[from] prost::DecodeError),
}

/// The packages of services that only runners and servers may call, or that hooks serve.
const PRIVATE: [&str; 3] = ["airlock.hooks.v1", "airlock.runner.v1", "airlock.server.v1"];

/// Returns the descriptors of the contract without the private packages, which clients do not need.
fn public_descriptors() -> Result<Vec<u8>, prost::DecodeError> {
    let mut set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    set.file.retain(|file| !PRIVATE.contains(&file.package()));
    Ok(set.encode_to_vec())
}

/// Returns the routes of every service.
///
/// # Errors
/// Returns an error if the descriptors of the contract cannot be read.
pub(crate) fn routes(parts: EdgeParts, health: HealthServer<impl Health>) -> Result<Routes, ReflectionError> {
    use v1::{
        admin_service_server::AdminServiceServer, approval_service_server::ApprovalServiceServer,
        file_service_server::FileServiceServer, policy_service_server::PolicyServiceServer,
        session_service_server::SessionServiceServer,
    };

    let most = parts.message_bytes;
    let public = public_descriptors()?;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(&public)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let services = &parts.services;
    let sessions = SessionHandler {
        sessions: services.sessions.clone(),
        forwards: Forwards::new(services.sessions.clone(), parts.exchanges.clone()),
        open_wait: parts.exchanges.limits().transfer_idle,
    };
    let approvals = ApprovalHandler { approvals: services.approvals.clone() };
    let policy = PolicyHandler { decisions: services.decisions.clone(), profiles: parts.profiles.clone() };
    let admin = AdminHandler { runners: services.runners.clone(), limits: parts.limits.clone() };
    let files = FileHandler { sessions: services.sessions.clone(), exchanges: parts.exchanges.clone() };
    let mut routes = Routes::builder();
    routes
        .add_service(SessionServiceServer::new(sessions).max_decoding_message_size(most))
        .add_service(execution_service(&parts).max_decoding_message_size(most))
        .add_service(FileServiceServer::new(files).max_decoding_message_size(most))
        .add_service(PolicyServiceServer::new(policy).max_decoding_message_size(most))
        .add_service(ApprovalServiceServer::new(approvals).max_decoding_message_size(most))
        .add_service(AdminServiceServer::new(admin).max_decoding_message_size(most))
        // Pages of files can have the contract's maximum size, regardless of the limit for clients.
        .add_service(runner_link(&parts).max_decoding_message_size(MESSAGE_BYTES))
        .add_service(peer(parts).max_decoding_message_size(MESSAGE_BYTES))
        .add_service(health.max_decoding_message_size(most))
        .add_service(reflection().build_v1()?.max_decoding_message_size(most))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(most));
    Ok(routes.routes())
}

fn execution_service(parts: &EdgeParts) -> ExecutionServiceServer<ExecutionHandler> {
    let executions = parts.services.executions.clone();
    ExecutionServiceServer::new(ExecutionHandler {
        executions: executions.clone(),
        watches: parts.services.watches.clone(),
        streams: parts.streams.clone(),
        exchanges: parts.exchanges.clone(),
        metrics: parts.metrics.clone(),
        disconnects: Disconnects { executions, tasks: parts.tasks.clone(), stopping: parts.stopping.clone() },
    })
}

fn runner_link(parts: &EdgeParts) -> RunnerLinkServer<LinkHandler> {
    RunnerLinkServer::new(LinkHandler {
        links: parts.services.links.clone(),
        streams: parts.streams.clone(),
        exchanges: parts.exchanges.clone(),
        tasks: parts.tasks.clone(),
        hello_wait: parts.hello_wait,
    })
}

fn peer(parts: EdgeParts) -> PeerServer<PeerHandler> {
    PeerServer::new(PeerHandler {
        links: parts.services.links,
        sessions: parts.services.sessions,
        streams: parts.streams,
        exchanges: parts.exchanges,
        tasks: parts.tasks,
        stopping: parts.stopping,
        hello_wait: parts.hello_wait,
        relays: parts.relays,
        relays_limit: parts.limits.get("peers.relays").copied().unwrap_or(0),
    })
}
