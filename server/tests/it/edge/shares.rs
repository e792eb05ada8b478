//! Tests of the limits of connections and calls per peer and tenant.

use airlock_proto::v1::{self, execution_service_client::ExecutionServiceClient};
use tokio::{io::AsyncReadExt as _, net::TcpStream};
use tonic::Code;

use crate::edge::{
    exchange::{Stage, by},
    raw::Outcome,
    until,
    world::World,
};

#[tokio::test(flavor = "multi_thread")]
async fn one_peer_has_no_more_connections_than_its_share() {
    let world = World::with("[limits]\nconnections_per_peer = 2\n").await;
    let address = world.server.local_addr();
    // They send nothing until the deadline of their handshake.
    let held = [TcpStream::connect(address).await.unwrap(), TcpStream::connect(address).await.unwrap()];
    let mut more = TcpStream::connect(address).await.unwrap();
    let closed = more.read(&mut [0; 1]).await;
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    drop(held);
    let mut executions = ExecutionServiceClient::new(world.plain());
    until("the slots are released", async || {
        executions.list(by("executor", v1::ExecutionServiceListRequest::default())).await.is_ok()
    })
    .await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_never_shakes_hands_is_ended() {
    let world = World::with("[limits]\nhandshake_timeout = \"500ms\"\n").await;
    let mut silent = TcpStream::connect(world.server.local_addr()).await.unwrap();
    let closed = tokio::time::timeout(crate::PATIENCE, silent.read(&mut [0; 1])).await.unwrap();
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nobody_answers_ends_by_its_deadline() {
    let limits = "[limits]\nopen_wait = \"2s\"\ncall_timeout = \"3s\"\n";
    let world = World::with(limits).await;
    let mut stage = Stage::set(&world).await;
    let request = v1::FileServiceStatRequest {
        session_id: stage.session.clone(),
        path: "/workspace".into(),
        ..Default::default()
    };
    let mut files = stage.files.clone();
    let call = tokio::spawn(async move { files.stat(by("executor", request)).await });
    // The runner connects and sends nothing.
    let (_line, _) = stage.line().await;
    let outcome: Outcome = call.await.unwrap().unwrap_err().into();
    assert_eq!(outcome.code, Code::DeadlineExceeded, "{outcome:?}");
    world.server.shut_down().await;
}
