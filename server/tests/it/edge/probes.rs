//! Tests of the services without authentication: probes, health and reflection. A server that is still opening its store
//! is alive, but not ready.

use std::net::SocketAddr;

use airlock_server::{config::Config, wiring::Server};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use crate::edge::{
    until,
    world::{World, loopback},
};

/// Returns the response for `path`, or `None` if no probes are answered yet.
async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_store_takes_long_to_open_is_alive_and_not_ready() {
    // A database that accepts connections and does not respond, as during the migrations of another server.
    let database = TcpListener::bind((loopback(), 0)).await.unwrap();
    let free = TcpListener::bind((loopback(), 0)).await.unwrap();
    let probes = free.local_addr().unwrap();
    drop(free);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "server_id = \"s\"\n[listen]\naddress = \"{}:0\"\nprobes = \"{probes}\"\ninsecure_loopback = true\n\
         [store.postgres]\nurl = \"postgres://airlock@{}/airlock\"\nsslmode = \"disable\"\nconnect_timeout = \"5m\"\n\
         [outputs]\ndirectory = \"{}\"\n\
         [[identity]]\nname = \"dev\"\ntenant = \"dev\"\nroles = [\"executor\"]\nmatch = \"loopback\"\n",
        loopback(),
        database.local_addr().unwrap(),
        folder.path().display(),
    );
    let starting = Server::start(Config::parse(&text, "server.toml").unwrap());
    let asked = async {
        until("the probe reports that the server is alive", async || {
            get(probes, "/healthz").await.is_some_and(|answer| answer.starts_with("HTTP/1.1 200 "))
        })
        .await;
        let ready = get(probes, "/readyz").await.unwrap();
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("not open yet"), "{ready}");
    };
    tokio::select! {
        _ = starting => panic!("the store does not respond, but the server has started or stopped"),
        () = asked => {}
    }
    // The start was abandoned, so its probes must end.
    until("the probes stop when the start fails", async || get(probes, "/healthz").await.is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_is_healthy() {
    let world = World::new().await;
    let mut health = HealthClient::new(world.plain());
    let answer = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(answer.status(), ServingStatus::Serving);
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_shows_every_public_service_in_both_versions_and_no_other() {
    let world = World::new().await;
    let request = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(String::new())),
    };
    let mut client = v1::server_reflection_client::ServerReflectionClient::new(world.plain());
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let v1::server_reflection_response::MessageResponse::ListServicesResponse(list) = answer else {
        panic!("{answer:?}")
    };
    let names: Vec<String> = list.service.into_iter().map(|service| service.name).collect();
    for name in [
        "airlock.v1.ExecutionService",
        "airlock.v1.SessionService",
        "airlock.v1.PolicyService",
        "airlock.v1.ApprovalService",
        "airlock.v1.AdminService",
        "airlock.v1.FileService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ] {
        assert!(names.iter().any(|shown| shown == name), "{name} is not among {names:?}");
    }
    let private = |name: &&String| name.starts_with("airlock.runner") || name.starts_with("airlock.server");
    assert_eq!(names.iter().find(private), None, "runners and servers have the contract");

    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1alpha::server_reflection_request::MessageRequest::FileContainingSymbol(
            "airlock.v1.ExecutionService".to_owned(),
        )),
    };
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(world.plain());
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap().message_response.unwrap();
    let file = v1alpha::server_reflection_response::MessageResponse::FileDescriptorResponse;
    assert_eq!(
        std::mem::discriminant(&answer),
        std::mem::discriminant(&file(Default::default())),
        "{answer:?}"
    );
    world.server.shut_down().await;
}
