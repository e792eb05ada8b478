//! The gRPC edge: thin services between the wire and the engine.
//!
//! Generated protobuf types end here. Every call has passed `door` first, which knows who calls and
//! whether they may; a handler checks its request, asks the engine, and says what that said.

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

use airlock_proto::{FILE_DESCRIPTOR_SET, limits::MESSAGE_BYTES, runner_v1, server_v1, v1};
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

/// What the services share.
pub(crate) struct Edge {
    pub(crate) engine: Engine,
    pub(crate) streams: Streams,
    pub(crate) exchanges: Exchanges,
    pub(crate) metrics: Metrics,
    /// Owns what outlives a call: links, and starts whose caller has gone.
    pub(crate) tasks: TaskTracker,
    /// The server stops: what ends now does not end by its client's will.
    pub(crate) stopping: CancellationToken,
    /// Of one message, in bytes.
    pub(crate) message_bytes: usize,
    /// From a link's first byte to its Hello.
    pub(crate) hello_wait: Duration,
    /// Streams that are relayed for other servers.
    pub(crate) relays: Arc<Semaphore>,
    /// Every limit of the configuration by its name.
    pub(crate) limits: BTreeMap<String, u64>,
}

/// Why the services could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The descriptors are refused.
    #[error("the contract cannot be shown by reflection: {0}")]
    Refused(#[from] tonic_reflection::server::Error),
    /// The descriptors of the contract are none.
    #[error("the contract cannot be read: {0}")]
    Unreadable(#[from] prost::DecodeError),
}

/// The packages of the services that only runners and servers may call.
const PRIVATE: [&str; 2] = ["airlock.runner.v1", "airlock.server.v1"];

/// The descriptors of the contract without those of the private packages, which clients have no use for.
fn public_descriptors() -> Result<Vec<u8>, prost::DecodeError> {
    let mut set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    set.file.retain(|file| !PRIVATE.contains(&file.package()));
    Ok(set.encode_to_vec())
}

/// Every service.
///
/// # Errors
/// The descriptors of the contract cannot be read.
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
        // Pages of files are as large as the contract permits, whatever clients may send.
        .add_service(
            RunnerLinkServer::new(link::RunnerLinks(edge.clone())).max_decoding_message_size(MESSAGE_BYTES),
        )
        .add_service(PeerServer::new(peer::Peers(edge.clone())).max_decoding_message_size(MESSAGE_BYTES))
        .add_service(health.max_decoding_message_size(most))
        .add_service(reflection().build_v1()?.max_decoding_message_size(most))
        .add_service(reflection().build_v1alpha()?.max_decoding_message_size(most));
    Ok(routes.routes())
}

/// Who calls, as the door has found.
///
/// # Errors
/// INTERNAL if a call came past the door, so that nothing is ever done for nobody.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| refused(ApiError::Internal("a call came past the door".to_owned())))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn refused(error: ApiError) -> Status {
    status::from_api(&error)
}
