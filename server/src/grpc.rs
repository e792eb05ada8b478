//! The gRPC edge: thin services between the wire and the engine.
//!
//! Generated protobuf types are not used beyond this module. The interceptor in `door` authenticates and
//! authorizes every call first. A handler validates its request, calls the engine and converts the result.

mod admin;
mod approval;
pub(crate) mod decision;
pub(crate) mod door;
mod exchange;
mod execution;
mod file;
mod incoming;
mod link;
mod outcome;
mod pages;
mod peer;
pub(crate) mod peers;
mod policy;
mod push;
mod read_output;
mod records;
mod session;
mod stdin;
mod view;
mod watch;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::limits::MESSAGE_BYTES;
use airlock_proto::{FILE_DESCRIPTOR_SET, runner_v1, server_v1, v1};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tonic::{Request, Status, service::Routes};
use tonic_health::pb::health_server::{Health, HealthServer};

use crate::{
    api::ApiError, authn::Caller, engine::Engine, exchange::Exchanges, status, stream::Streams,
    telemetry::Metrics,
};

/// The state that the services share.
pub(crate) struct Edge {
    pub(crate) engine: Engine,
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
    #[error("the contract cannot be served by reflection: {0}")]
    Refused(#[from] tonic_reflection::server::Error),
    /// The descriptors of the contract could not be decoded.
    #[error("the contract cannot be decoded: {0}")]
    Unreadable(#[from] prost::DecodeError),
}

/// The packages of services that only runners and servers may call.
const PRIVATE: [&str; 2] = ["airlock.runner.v1", "airlock.server.v1"];

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
pub(crate) fn routes(edge: &Arc<Edge>, health: HealthServer<impl Health>) -> Result<Routes, ReflectionError> {
    use runner_v1::runner_link_server::RunnerLinkServer;
    use server_v1::peer_server::PeerServer;
    use v1::{
        admin_service_server::AdminServiceServer, approval_service_server::ApprovalServiceServer,
        execution_service_server::ExecutionServiceServer, file_service_server::FileServiceServer,
        policy_service_server::PolicyServiceServer, session_service_server::SessionServiceServer,
    };

    let most = edge.message_bytes;
    let public = public_descriptors()?;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(&public)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut routes = Routes::builder();
    routes
        .add_service(
            SessionServiceServer::new(session::Sessions(edge.clone())).max_decoding_message_size(most),
        )
        .add_service(
            ExecutionServiceServer::new(execution::Executions(edge.clone())).max_decoding_message_size(most),
        )
        .add_service(FileServiceServer::new(file::Files(edge.clone())).max_decoding_message_size(most))
        .add_service(PolicyServiceServer::new(policy::Policy(edge.clone())).max_decoding_message_size(most))
        .add_service(
            ApprovalServiceServer::new(approval::Approvals(edge.clone())).max_decoding_message_size(most),
        )
        .add_service(AdminServiceServer::new(admin::Admin(edge.clone())).max_decoding_message_size(most))
        // Pages of files can have the contract's maximum size, regardless of the limit for clients.
        .add_service(
            RunnerLinkServer::new(link::RunnerLinks(edge.clone())).max_decoding_message_size(MESSAGE_BYTES),
        )
        .add_service(PeerServer::new(peer::Peers(edge.clone())).max_decoding_message_size(MESSAGE_BYTES))
        .add_service(health.max_decoding_message_size(most))
        .add_service(reflection().build_v1()?.max_decoding_message_size(most))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(most));
    Ok(routes.routes())
}

/// Returns the caller that the interceptor has authenticated.
///
/// # Errors
/// Returns INTERNAL if a call bypassed the interceptor, so that no call runs without a caller.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request.extensions().get::<Caller>().cloned().ok_or_else(|| {
        refused(ApiError::Internal("a call reached its handler without authentication".to_owned()))
    })
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` requires this signature")]
fn refused(error: ApiError) -> Status {
    status::from_api(&error)
}
