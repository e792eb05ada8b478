//! Only servers may call the service between servers: other certificates and tokens are refused there, and a server's
//! certificate is refused elsewhere.

use airlock_client::{Client, From, v1};
use airlock_proto::{
    runner_v1::{self, connect_response::Message as Told},
    server_v1::{self, peer_client::PeerClient},
};
use airlock_tests::{
    fleet::{Fleet, Timers},
    pki::Pair,
    process::Process,
    raw::{Connection, frame, tls},
    reader::{ended, spec_in},
    schema::Schema,
};
use tonic::{Code, transport::Channel};

const PEER: &str = "/airlock.server.v1.Peer/";

/// Two servers; only the first has a link to the runner.
struct Fixture {
    agent: Client,
    _processes: [Process; 3],
    /// The last field, so that its directory is removed after the processes have ended.
    fleet: Fleet,
}

impl Fixture {
    async fn new() -> Self {
        let fleet = Fleet::new(2, &[&[0]], Timers::Patient);
        let processes = [fleet.server(0, &[]), fleet.server(1, &[]), fleet.runner(0)];
        fleet.ready(0, 1).await;
        let agent = fleet.ready(1, 1).await;
        Self { agent, fleet, _processes: processes }
    }

    /// Returns a client of a server's Peer service with this certificate.
    async fn peer(&self, server: usize, pair: &Pair) -> PeerClient<Channel> {
        PeerClient::new(self.fleet.channel(server, pair).await)
    }
}

/// Returns a message without an effect.
fn forget(runner: &str) -> server_v1::TellRequest {
    tell(runner, Told::ForgetJob(runner_v1::ForgetJob { execution_id: uuid::Uuid::now_v7().to_string() }))
}

fn tell(runner: &str, message: Told) -> server_v1::TellRequest {
    let message = Some(runner_v1::ConnectResponse { message: Some(message) });
    server_v1::TellRequest { runner_id: runner.to_owned(), message }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_server_is_a_peer_and_it_has_no_other_role() {
    let fixture = Fixture::new().await;
    let schema = Schema::of_the_contract();
    let runner = fixture.fleet.pki.issue("runner", &[]);
    let stranger = fixture.fleet.pki.issue("somebody", &[]);
    let address = fixture.fleet.servers[0];
    let ca = fixture.fleet.pki.ca();
    let bearer = format!("Bearer {}", fixture.fleet.token());
    let mut peers = 0;
    for method in &schema.methods {
        let call = async |pair: Option<&Pair>, token: Option<&str>| {
            let connection = Connection::open(address, tls(&ca, pair)).await.unwrap();
            let headers: Vec<(&str, &[u8])> =
                token.map(|token| ("authorization", token.as_bytes())).into_iter().collect();
            connection.call(&method.path, &headers, frame(&[])).await.unwrap()
        };
        let server = call(Some(fixture.fleet.server_pair()), None).await;
        if !method.path.starts_with(PEER) {
            assert_eq!(server.status.code(), Code::PermissionDenied, "{}: a server", method.path);
            continue;
        }
        peers += 1;
        assert_ne!(server.status.code(), Code::PermissionDenied, "{}: the control", method.path);
        for (pair, token, code) in [
            (Some(&runner), None, Code::PermissionDenied),
            (Some(&stranger), None, Code::Unauthenticated),
            (None, Some(bearer.as_str()), Code::PermissionDenied),
            // A token takes precedence over a certificate.
            (Some(fixture.fleet.server_pair()), Some(bearer.as_str()), Code::PermissionDenied),
            (None, None, Code::Unauthenticated),
        ] {
            let answer = call(pair, token).await;
            assert_eq!(answer.status.code(), code, "{}: {answer:?}", method.path);
        }
    }
    assert_eq!(peers, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_link_does_not_forward_a_request() {
    let fixture = Fixture::new().await;
    let mut near = fixture.peer(0, fixture.fleet.server_pair()).await;
    near.tell(forget("runner-1")).await.expect("control: it has the link");
    let mut far = fixture.peer(1, fixture.fleet.server_pair()).await;
    for status in [
        far.tell(forget("runner-1")).await.unwrap_err(),
        near.tell(forget("runner-7")).await.unwrap_err(),
        far.relay_output(tokio_stream::iter([open_output("runner-1")])).await.unwrap_err(),
        far.relay_exchange(tokio_stream::iter([open_exchange("runner-1")])).await.unwrap_err(),
    ] {
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    }
}

fn open_output(runner: &str) -> server_v1::RelayOutputRequest {
    let open = server_v1::OutputOpen {
        runner_id: runner.to_owned(),
        execution_id: uuid::Uuid::now_v7().to_string(),
    };
    server_v1::RelayOutputRequest { message: Some(server_v1::relay_output_request::Message::Open(open)) }
}

fn open_exchange(runner: &str) -> server_v1::RelayExchangeRequest {
    let open = server_v1::ExchangeOpen { runner_id: runner.to_owned() };
    server_v1::RelayExchangeRequest { message: Some(server_v1::relay_exchange_request::Message::Open(open)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_has_nothing_told_but_what_any_server_may_say_at_any_time() {
    let fixture = Fixture::new().await;
    let mut near = fixture.peer(0, fixture.fleet.server_pair()).await;
    let id = || uuid::Uuid::now_v7().to_string();
    for message in [
        Told::OpenSession(runner_v1::OpenSession { session_id: id(), ..Default::default() }),
        Told::OpenOutput(runner_v1::OpenOutput { execution_id: id(), ticket: "x".to_owned() }),
        Told::OpenExchange(runner_v1::OpenExchange { ticket: "x".to_owned() }),
        Told::Heartbeat(runner_v1::ServerHeartbeat {}),
        Told::Probe(runner_v1::Probe { number: 1 }),
        Told::Welcome(runner_v1::Welcome { server_id: "x".to_owned(), ..Default::default() }),
        Told::StartJob(runner_v1::StartJob { execution_id: id(), ..Default::default() }),
    ] {
        let status = near.tell(tell("runner-1", message.clone())).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{message:?}: {status:?}");
    }
    for request in [
        server_v1::TellRequest::default(),
        server_v1::TellRequest { runner_id: "runner-1".to_owned(), message: None },
        tell("no runner's name", Told::Drain(runner_v1::Drain { undo: true })),
        tell("runner-1", Told::EndJob(runner_v1::EndJob { execution_id: "x".to_owned(), cause: None })),
    ] {
        let status = near.tell(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    }
    assert_eq!(
        near.nudge(server_v1::NudgeRequest::default()).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    let nothing = server_v1::NudgeRequest { session_id: id() };
    near.nudge(nothing).await.expect("a hint about an unknown session has no effect");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_says_nothing_or_nonsense_ends_with_what_it_had() {
    let fixture = Fixture::new().await;
    let session = v1::SessionServiceCreateRequest { profile: "demo".to_owned(), ..Default::default() };
    let session = fixture.agent.create_session(session).await.unwrap().session_id;
    let id = fixture.agent.start(spec_in(&session, "echo hello; sleep 1000")).await.unwrap().execution_id;
    let mut events = fixture.agent.attach(&id, From::Beginning);
    while !matches!(events.next().await.unwrap().unwrap().event, Some(v1::event::Event::Output(_))) {}
    let mut near = fixture.peer(0, fixture.fleet.server_pair()).await;
    let open = server_v1::OutputOpen { runner_id: "runner-1".to_owned(), execution_id: id.clone() };
    let open =
        server_v1::RelayOutputRequest { message: Some(server_v1::relay_output_request::Message::Open(open)) };
    // A second `open` is invalid, and ends the stream.
    let twice = near.relay_output(tokio_stream::iter([open.clone(), open.clone()])).await.unwrap();
    let mut answers = twice.into_inner();
    while let Ok(Some(_)) = answers.message().await {}
    // Too many reads violate the runner's limits, and the runner ends the stream.
    let greedy = (0..40).map(|read_id| {
        let read = runner_v1::Read { read_id, max_bytes: 1, stream: 1, ..Default::default() };
        let message = runner_v1::push_output_response::Message::Read(read);
        let message = runner_v1::PushOutputResponse { message: Some(message) };
        let message = server_v1::relay_output_request::Message::ToRunner(message);
        server_v1::RelayOutputRequest { message: Some(message) }
    });
    let requests: Vec<_> = std::iter::once(open).chain(greedy).collect();
    let mut answers = near.relay_output(tokio_stream::iter(requests)).await.unwrap().into_inner();
    while let Ok(Some(_)) = answers.message().await {}
    // Other readers of the output are not affected.
    fixture.agent.cancel(&id).await.unwrap();
    let story = airlock_tests::reader::replay(&fixture.agent, &id).await.unwrap();
    assert_eq!(story.stdout, b"hello\n");
    let ended = ended(&fixture.agent, &id).await;
    assert_eq!(airlock_tests::reader::cause(&ended), v1::CauseCode::Cancelled);
}
