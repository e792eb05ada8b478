//! Tests of the shares of peers, tenants and their members: the limits of connections and calls, and the access to each
//! other's sessions, depending on profiles.

use airlock_proto::v1::{
    self, execution_service_client::ExecutionServiceClient, policy_service_client::PolicyServiceClient,
    session_service_client::SessionServiceClient,
};
use futures::stream;
use sha2::{Digest as _, Sha256};
use tokio::{io::AsyncReadExt as _, net::TcpStream};
use tonic::Code;

use crate::edge::{
    exchange::{Stage, by},
    raw::Outcome,
    until,
    world::World,
};

/// Returns executors of the session owner's tenant: one without the session's profile, and one with every
/// profile.
fn members() -> String {
    [("narrow", "read_only"), ("wide", "*")]
        .map(|(token, profile)| {
            let hash = hex::encode(Sha256::digest(token));
            format!(
                "[[identity]]\nname = \"{token}\"\ntenant = \"one\"\nroles = [\"executor\"]\n\
                 profiles = [\"{profile}\"]\nmatch = {{ token_sha256 = \"{hash}\" }}\n"
            )
        })
        .concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_use_a_sessions_profile_may_look_at_it_and_end_it_and_no_more() {
    let world = World::with(&members()).await;
    let mut stage = Stage::set(&world).await;
    let session_id = stage.session.clone();
    let mut executions = ExecutionServiceClient::new(world.plain());
    let mut sessions = SessionServiceClient::new(world.plain());
    let mut policy = PolicyServiceClient::new(world.plain());
    let spec =
        || v1::ExecutionSpec { command: "pwd".into(), session_id: session_id.clone(), ..Default::default() };
    let update = || v1::SessionServiceUpdateRequest {
        session_id: session_id.clone(),
        idle_timeout: Some(prost_types::Duration { seconds: 600, nanos: 0 }),
        ..Default::default()
    };
    let check = || v1::PolicyServiceCheckRequest {
        session_id: session_id.clone(),
        command: "pwd".into(),
        ..Default::default()
    };
    let start = v1::ExecutionServiceStartRequest { spec: Some(spec()) };
    let run = v1::ExecutionServiceRunRequest { spec: Some(spec()) };
    let upload = stream::iter([stage.header("t")]);
    let refused: [(&str, Outcome); 5] = [
        ("Start", executions.start(by("narrow", start)).await.unwrap_err().into()),
        ("Run", executions.run(by("narrow", run)).await.unwrap_err().into()),
        ("Update", sessions.update(by("narrow", update())).await.unwrap_err().into()),
        ("Check", policy.check(by("narrow", check())).await.unwrap_err().into()),
        ("Upload", stage.files.upload(by("narrow", upload)).await.unwrap_err().into()),
    ];
    for (method, outcome) in refused {
        assert!(outcome.is(Code::PermissionDenied, "FORBIDDEN"), "{method}: {outcome:?}");
    }
    let get = v1::SessionServiceGetRequest { session_id: session_id.clone() };
    sessions.get(by("narrow", get)).await.unwrap();

    sessions.update(by("wide", update())).await.unwrap();
    policy.check(by("wide", check())).await.unwrap();
    world.server.shut_down().await;
}

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
