//! Tests of forwarded connections with a server that the test implements: the floor, the limits, and the addresses that
//! are reached.

use std::net::{TcpListener, TcpStream};

use airlock_domain::{
    ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, ExecutionId, JobPhase, SessionId,
    ToRunner,
};

use crate::{
    fake::{Exchange, Manners},
    fixture::{Fixture, grant},
    input::failure,
};

/// The port of the server in sessions.
const PORT: u16 = 8977;
/// A server that sends its input back, for one connection after the other.
const ECHO: &str = "python3 -uc 'import socket
server = socket.create_server((\"127.0.0.1\", 8977))
print(\"listens\")
while True:
    connection, _ = server.accept()
    try:
        while data := connection.recv(65536):
            connection.sendall(data)
    except OSError:
        pass
    connection.close()'";

async fn fixture(ports: &str, limit: u32) -> Fixture {
    Fixture::with(Manners::default(), |config| {
        config.floor.port_forward = ports.parse().into_iter().collect();
        config.limits.forwards = limit;
    })
    .await
}

/// Opens a session with a server in it.
async fn serving(it: &mut Fixture) -> (SessionId, ExecutionId) {
    let session = it.open("").await;
    let id = it.offer(grant(session, ECHO)).await;
    it.job(id, JobPhase::Running).await;
    it.shown(id, "listens\n").await;
    (session, id)
}

async fn forward(it: &mut Fixture, session_id: SessionId, port: u16) -> Exchange {
    it.order(ExchangeOrder::Forward { session_id, port }).await
}

async fn refusal(it: &mut Fixture, session: SessionId, port: u16) -> String {
    failure(&mut forward(it, session, port).await).await.1
}

async fn is_ready(exchange: &mut Exchange) {
    assert_eq!(exchange.next().await, Some(ExchangeFromRunner::Ready { offset: 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_pass_until_both_directions_have_ended() {
    let mut it = fixture("1-65535", 8).await;
    let (session, _) = serving(&mut it).await;
    let mut exchange = forward(&mut it, session, PORT).await;
    is_ready(&mut exchange).await;
    exchange.write(0, "abc").await;
    let echo = ExchangeFromRunner::Chunk { offset: 0, data: "abc".into() };
    assert_eq!(exchange.next().await, Some(echo));
    exchange.send(ExchangeToRunner::End { close: true }).await;
    assert_eq!(exchange.next().await, Some(ExchangeFromRunner::End));
    assert_eq!(exchange.next().await, None, "the runner closes its side");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_cannot_widen_the_floor() {
    let mut it = fixture("8977", 8).await;
    let (session, _) = serving(&mut it).await;
    is_ready(&mut forward(&mut it, session, PORT).await).await;
    for port in [PORT - 1, PORT + 1, 1, u16::MAX] {
        assert_eq!(refusal(&mut it, session, port).await, "PORT_FORWARD_OFF", "{port}");
    }
    it.shut_down().await;

    let mut it = Fixture::new().await;
    let (session, _) = serving(&mut it).await;
    assert_eq!(refusal(&mut it, session, PORT).await, "PORT_FORWARD_OFF", "the default permits no port");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_loopback_of_the_runner_is_never_reached() {
    let mut it = fixture("1-65535", 8).await;
    let (session, _) = serving(&mut it).await;
    let empty = it.open("").await;
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    host.set_nonblocking(true).unwrap();
    let port = host.local_addr().unwrap().port();
    for session in [session, empty] {
        assert_eq!(refusal(&mut it, session, port).await, "NOTHING_LISTENS");
    }
    assert!(host.accept().is_err(), "no connection arrived");
    // The controls: the port answers on the host, and the session's port is reached.
    TcpStream::connect(("127.0.0.1", port)).unwrap();
    is_ready(&mut forward(&mut it, session, PORT).await).await;
    assert_eq!(
        refusal(&mut it, empty, PORT).await,
        "NOTHING_LISTENS",
        "another session has another loopback"
    );
    assert_eq!(refusal(&mut it, SessionId::new(), PORT).await, "SESSION_NOT_OPEN");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_have_a_limit_of_their_own() {
    let mut it = fixture("1-65535", 2).await;
    let (session, _) = serving(&mut it).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut exchange = forward(&mut it, session, PORT).await;
        is_ready(&mut exchange).await;
        held.push(exchange);
    }
    let limit = "limits.forwards".to_owned();
    let exhausted = ExchangeFailure::Exhausted { limit, value: 2 };
    let beyond = failure(&mut forward(&mut it, session, PORT).await).await;
    assert_eq!(beyond, (exhausted, "TOO_MANY_FORWARDS".to_owned()));
    drop(held);
    loop {
        let mut next = forward(&mut it, session, PORT).await;
        match next.next().await {
            Some(ExchangeFromRunner::Ready { .. }) => break,
            Some(ExchangeFromRunner::Failed(failed)) => assert_eq!(failed.reason, "TOO_MANY_FORWARDS"),
            other => assert_eq!(other, None),
        }
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_of_the_session_ends_its_connections() {
    let mut it = fixture("1-65535", 8).await;
    let (session, _) = serving(&mut it).await;
    let mut exchange = forward(&mut it, session, PORT).await;
    is_ready(&mut exchange).await;
    it.link.send(ToRunner::CloseSession { session_id: session }).await;
    let (_, reason) = failure(&mut exchange).await;
    assert_eq!(reason, "SESSION_NOT_OPEN");
    it.shut_down().await;
}
