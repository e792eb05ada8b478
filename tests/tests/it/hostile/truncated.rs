//! Cut streams: in a TLS handshake, in the HTTP/2 preface, in a frame, in a request; also views and
//! links that disappear. Nothing remains, and other clients are not affected.

use std::{net::SocketAddr, time::Duration};

use airlock_proto::{runner_v1, v1};
use airlock_tests::{
    process::{Process, until},
    raw::{Connection, frame, tls},
    reader::{ended, exit_code, replay, run, spec, spec_in},
    site::PATIENCE,
};
use bytes::Bytes;
use h2::Reason;
use prost::Message as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::Code;

use crate::hostile::fixture::Fixture;

/// The first bytes of a ClientHello.
const HALF_A_HANDSHAKE: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
/// The HTTP/2 preface in plain text, for a TLS port.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

async fn say(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server with too many connections may have closed it already.
    drop(stream.write_all(bytes).await);
    stream
}

/// The number of connections that the honest client and runner open later, for views and outputs; each
/// test cuts more.
const LATER: usize = 8;

/// Waits until a process has no more sockets than before.
fn lets_go(what: &str, process: &Process, before: usize) {
    until(what, PATIENCE, || process.sockets() <= before + LATER);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_never_speak_are_let_go() {
    let tables = crate::hostile::fixture::tables(1000)
        + "handshake_timeout = \"3s\"\nconnections = 64\nconnections_per_peer = 64\n";
    let fixture = Fixture::with(&tables).await;
    let before = fixture.server.sockets();
    let mut held = Vec::new();
    for bytes in [&b""[..], HALF_A_HANDSHAKE, GREETING, b"GET / HTTP/1.1\r\n\r\n", &[0; 4096]] {
        for _ in 0..5 {
            drop(say(fixture.site.address, bytes).await);
            held.push(say(fixture.site.address, bytes).await);
        }
    }
    fixture.runs_on().await;
    lets_go("handshakes that stand still end by their time", &fixture.server, before);
    for stream in &mut held {
        let mut rest = Vec::new();
        let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "the server has closed it");
    }
    // More connections than the limit: the surplus is refused, and the server recovers.
    let mut many = Vec::new();
    for _ in 0..100 {
        many.push(say(fixture.site.address, HALF_A_HANDSHAKE).await);
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let tls = || tls(&fixture.site.pki.ca(), None);
    while let Err(error) = Connection::open(fixture.site.address, tls()).await {
        assert!(tokio::time::Instant::now() < deadline, "no connection is released: {error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fixture.runs_on().await;
    drop(many);
    lets_go("and so do many", &fixture.server, before);
}

/// Methods with a single message or a stream of messages, and those of runners.
const METHODS: [&str; 10] = [
    "/airlock.v1.ExecutionService/Run",
    "/airlock.v1.ExecutionService/Attach",
    "/airlock.v1.ExecutionService/Start",
    "/airlock.v1.SessionService/Create",
    "/airlock.runner.v1.RunnerLink/Connect",
    "/airlock.runner.v1.RunnerLink/PushOutput",
    "/airlock.runner.v1.RunnerLink/Exchange",
    "/airlock.v1.SessionService/Forward",
    "/airlock.v1.FileService/Upload",
    "/airlock.v1.ExecutionService/WriteStdin",
];

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_cut_start_nothing_and_leave_nothing() {
    let fixture = Fixture::new().await;
    let pair = fixture.site.pki.issue("runner-2", &[]);
    let request = v1::ExecutionServiceStartRequest { spec: Some(spec("sleep 777")) };
    let whole = frame(&request.encode_to_vec());
    let before = fixture.server.sockets();
    for path in METHODS {
        for cut in [0, 1, 4, 5, 7, whole.len() - 1] {
            let agent = fixture.agent();
            let (connection, headers) = if path.contains("RunnerLink") {
                (fixture.connect_with(&pair).await.unwrap(), vec![])
            } else {
                (fixture.connect().await, vec![("authorization", agent.as_bytes())])
            };
            // Reset in the middle of the body ...
            let mut call = connection.begin(path, &headers).await.unwrap();
            call.body.send_data(whole.slice(..cut), false).unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
            call.body.send_reset(Reason::CANCEL);
            drop(call);
            // ... ended there in order ...
            let answer = connection.call(path, &headers, whole.slice(..cut)).await.unwrap();
            assert_eq!(
                answer.status.code(),
                Code::InvalidArgument,
                "{path}, cut at {cut}: {:?}",
                answer.status
            );
            assert!(!answer.reason().is_empty(), "{path}, cut at {cut}");
            // ... and with the whole connection closed.
            let mut call = connection.begin(path, &headers).await.unwrap();
            call.body.send_data(whole.slice(..cut), false).unwrap();
            drop(connection);
        }
    }
    let started = fixture.client.executions(v1::ExecutionServiceListRequest::default()).await.unwrap();
    assert!(started.executions.is_empty(), "no command was started: {:?}", started.executions);
    fixture.runs_on().await;
    lets_go("what was cut is let go", &fixture.server, before);
}

async fn open(connection: &Connection, path: &str, agent: &str, message: Vec<u8>) -> h2::RecvStream {
    let mut call = connection.begin(path, &[("authorization", agent.as_bytes())]).await.unwrap();
    call.body.send_data(frame(&message), true).unwrap();
    let (_body, response) = call.head().await.unwrap();
    assert!(response.headers().get("grpc-status").is_none(), "{path} is open: {:?}", response.headers());
    response.into_body()
}

#[tokio::test(flavor = "multi_thread")]
async fn views_whose_clients_vanish_leave_the_command_and_its_other_readers_alone() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent();
    let before = fixture.server.sockets();
    let session =
        fixture.client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    let command = "seq 1 200000; until [ -e go ]; do sleep 0.1; done; seq 200001 400000";
    let id = fixture.client.start(spec_in(&session, command)).await.unwrap().execution_id;
    let reader = {
        let (client, id) = (fixture.client.clone(), id.clone());
        tokio::spawn(async move { replay(&client, &id).await.unwrap() })
    };
    let attach = v1::ExecutionServiceAttachRequest { execution_id: id, from: None }.encode_to_vec();
    let runs = v1::ExecutionServiceRunRequest { spec: Some(spec("sleep 2; echo ran on > /dev/null")) }
        .encode_to_vec();
    for turn in 0..12 {
        let connection = fixture.connect().await;
        let mut views = Vec::new();
        for _ in 0..4 {
            views
                .push(open(&connection, "/airlock.v1.ExecutionService/Attach", &agent, attach.clone()).await);
        }
        views.push(open(&connection, "/airlock.v1.ExecutionService/Run", &agent, runs.clone()).await);
        if turn % 2 == 0 {
            views.clear(); // Resets each stream; the connection remains for a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(connection);
    }
    let go = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&session, "touch go") };
    assert_eq!(run(&fixture.client, go).await.unwrap().exit_code(), Some(0));
    let story = reader.await.unwrap();
    let expected: Vec<u8> = (1..=400_000).flat_map(|n: u32| format!("{n}\n").into_bytes()).collect();
    assert!(
        story.stdout == expected && story.missing == 0,
        "{} bytes, {} missing",
        story.stdout.len(),
        story.missing
    );
    // Commands that were started by lost views run to their end.
    let states = |list: &v1::ExecutionServiceListResponse| {
        list.executions.iter().map(|one| one.state).collect::<Vec<_>>()
    };
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let list = fixture.client.executions(v1::ExecutionServiceListRequest::default()).await.unwrap();
        assert_eq!(list.executions.len(), 14, "each Run has started one");
        if list.executions.iter().all(|one| exit_code(one) == Some(0)) {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{:?}", states(&list));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    fixture.runs_on().await;
    lets_go("vanished views are let go", &fixture.server, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_to_die_with_its_stream_does_and_another_does_not() {
    let fixture = Fixture::new().await;
    let agent = fixture.agent();
    let mut ids = Vec::new();
    for kill_on_disconnect in [true, false] {
        let spec = v1::ExecutionSpec {
            kill_on_disconnect,
            request_id: format!("k-{kill_on_disconnect}"),
            ..spec("sleep 300")
        };
        let connection = fixture.connect().await;
        let message = v1::ExecutionServiceRunRequest { spec: Some(spec.clone()) }.encode_to_vec();
        let view = open(&connection, "/airlock.v1.ExecutionService/Run", &agent, message).await;
        let id = fixture.client.start(spec).await.unwrap().execution_id;
        drop((view, connection));
        ids.push(id);
    }
    let end = ended(&fixture.client, &ids[0]).await;
    let cause = end.result.unwrap().cause.unwrap();
    assert_eq!(
        cause.detail,
        Some(v1::cause::Detail::Cancelled(v1::cause::Cancelled { by: v1::CancelledBy::Disconnect.into() }))
    );
    let other = fixture.client.execution(&ids[1]).await.unwrap();
    assert_ne!(other.state(), v1::ExecutionState::Finished, "control: the other view continues");
    fixture.client.cancel(&ids[1]).await.unwrap();
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_vanish_are_noticed_and_others_stay() {
    let fixture = Fixture::new().await;
    let pair = fixture.site.pki.issue("runner-2", &[]);
    let before = fixture.server.sockets();
    let hello = runner_v1::Hello {
        protocol_version: airlock_proto::LINK_PROTOCOL_VERSION,
        runner_id: "runner-2".to_owned(),
        epoch: "11111111-1111-4111-8111-111111111111".to_owned(),
        slots: 1,
        ..Default::default()
    };
    let hello =
        runner_v1::ConnectRequest { message: Some(runner_v1::connect_request::Message::Hello(hello)) };
    let hello = frame(&hello.encode_to_vec());
    for turn in 0..10 {
        let connection = fixture.connect_with(&pair).await.unwrap();
        let mut call = connection.begin("/airlock.runner.v1.RunnerLink/Connect", &[]).await.unwrap();
        call.body.send_data(hello.clone(), false).unwrap();
        let (mut body, response) = call.head().await.unwrap();
        assert!(response.headers().get("grpc-status").is_none(), "turn {turn}: {:?}", response.headers());
        match turn % 3 {
            0 => body.send_reset(Reason::CANCEL),
            1 => drop(body.send_data(Bytes::from_static(&[0, 0]), true)),
            _ => drop(connection),
        }
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let filter = v1::RunnerFilter { states: vec![1, 2, 3, 4] };
        let page = fixture
            .client
            .admin()
            .runners(v1::AdminServiceListRunnersRequest { page: None, filter: Some(filter) })
            .await
            .unwrap();
        let state =
            |id: &str| page.runners.iter().find(|runner| runner.runner_id == id).map(v1::Runner::state);
        assert_eq!(state("runner-1"), Some(v1::RunnerState::Connected));
        if state("runner-2") == Some(v1::RunnerState::Unreachable) {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{:?}", state("runner-2"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.alone_with_its_runner().await;
    fixture.runs_on().await;
    lets_go("vanished links are let go", &fixture.server, before);
}
