//! Forwarded connections: both directions, their ends, and runners and clients that stop or violate the protocol.

use std::time::Duration;

use airlock_domain::{ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, SessionId};
use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle, time::sleep};
use tokio_stream::wrappers::ReceiverStream;

use super::world::{Line, World, chunk_from, chunk_to, failed, outcome, runner_id, who};
use crate::{
    api::ApiError,
    exchange::{ExchangeKind, ExchangeLimits, ExchangeOutcome, ForwardPart, Traffic},
};

const END: ExchangeToRunner = ExchangeToRunner::End { close: true };

/// The client's side of a connection.
struct Client {
    say: mpsc::Sender<Result<ForwardPart, ApiError>>,
    heard: mpsc::Receiver<ForwardPart>,
    call: JoinHandle<(Result<(), ApiError>, Traffic)>,
}

impl Client {
    async fn say(&self, data: &'static [u8]) {
        self.say.send(Ok(ForwardPart::Data(Bytes::from_static(data)))).await.unwrap();
    }

    async fn end(&self) {
        self.say.send(Ok(ForwardPart::End)).await.unwrap();
    }

    async fn hear(&mut self) -> Option<ForwardPart> {
        self.heard.recv().await
    }
}

fn order(session_id: SessionId) -> ExchangeOrder {
    ExchangeOrder::Forward { session_id, port: 8000 }
}

fn data(bytes: &'static [u8]) -> Option<ForwardPart> {
    Some(ForwardPart::Data(Bytes::from_static(bytes)))
}

impl World {
    /// Opens a connection.
    async fn forward(&self) -> (Client, Line) {
        let exchanges = self.exchanges.clone();
        let (say, said) = mpsc::channel(1);
        let (to_client, heard) = mpsc::channel(1);
        let call = tokio::spawn(async move {
            let order = order(SessionId::new());
            let mut exchange = exchanges.open(&who("one"), &runner_id(), order).await.unwrap();
            let mut traffic = Traffic::default();
            let mut input = Box::pin(ReceiverStream::new(said)) as crate::exchange::ForwardInput;
            let done = exchange.forward(&mut input, &to_client, &mut traffic).await;
            (exchange.settled(done), traffic)
        });
        let (line, _) = self.line().await;
        (Client { say, heard, call }, line)
    }
}

#[tokio::test(start_paused = true)]
async fn each_direction_ends_by_itself_and_the_runner_confirms_the_end() {
    for client_first in [true, false] {
        let world = World::new();
        let (mut client, mut line) = world.forward().await;
        client.say(b"ab").await;
        client.say(b"c").await;
        assert_eq!(line.hear().await, Some(chunk_to(0, b"ab")));
        assert_eq!(line.hear().await, Some(chunk_to(2, b"c")));
        line.say(chunk_from(0, b"xyz")).await;
        assert_eq!(client.hear().await, data(b"xyz"));
        if client_first {
            client.end().await;
            assert_eq!(line.hear().await, Some(END));
            line.say(chunk_from(3, b"!")).await;
            assert_eq!(client.hear().await, data(b"!"));
            line.say(ExchangeFromRunner::End).await;
            assert_eq!(client.hear().await, Some(ForwardPart::End));
        } else {
            line.say(ExchangeFromRunner::End).await;
            assert_eq!(client.hear().await, Some(ForwardPart::End));
            client.say(b"!").await;
            assert_eq!(line.hear().await, Some(chunk_to(3, b"!")));
            client.end().await;
            assert_eq!(line.hear().await, Some(END));
        }
        sleep(Duration::from_secs(1)).await;
        assert!(!client.call.is_finished(), "the runner may still write to the program");
        drop(line);
        let (done, traffic) = outcome(client.call).await;
        done.unwrap();
        let (sent, received) = if client_first { (3, 4) } else { (4, 3) };
        assert_eq!(traffic, Traffic { sent, received });
        assert_eq!(world.ended(ExchangeKind::Forward, ExchangeOutcome::Done), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_direction_that_stops_does_not_stop_the_other_one() {
    let world = World::new();
    let (client, mut line) = world.forward().await;
    // The client reads nothing. One part waits in the channel, and one in the transfer.
    for offset in 0..8 {
        line.say(chunk_from(offset, b"x")).await;
    }
    for offset in 0..100 {
        client.say(b"y").await;
        assert_eq!(line.hear().await, Some(chunk_to(offset, b"y")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_violates_the_protocol_ends_the_connection() {
    for messages in [
        vec![chunk_from(1, b"x")],
        vec![chunk_from(0, b"x"), chunk_from(0, b"x")],
        vec![chunk_from(0, b"")],
        vec![ExchangeFromRunner::End, chunk_from(0, b"x")],
        vec![ExchangeFromRunner::End, ExchangeFromRunner::End],
        vec![ExchangeFromRunner::Ready { offset: 0 }],
        vec![ExchangeFromRunner::Written { accepted: 0, ended: true }],
    ] {
        let world = World::new();
        let (mut client, line) = world.forward().await;
        for message in messages {
            line.say(message).await;
        }
        while client.hear().await.is_some() {}
        let (done, _) = outcome(client.call).await;
        assert!(matches!(done, Err(ApiError::Internal(_))), "{done:?}");
        assert_eq!(world.ended(ExchangeKind::Forward, ExchangeOutcome::Misbehaved), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_early_end_is_an_error() {
    let world = World::new();
    // The runner disconnects.
    let (client, line) = world.forward().await;
    drop(line);
    let (done, _) = outcome(client.call).await;
    assert!(matches!(done, Err(ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. })), "{done:?}");
    // The program resets the connection.
    let (client, line) = world.forward().await;
    line.say(failed(ExchangeFailure::FailedPrecondition, "CONNECTION_RESET")).await;
    let (done, _) = outcome(client.call).await;
    assert!(matches!(&done, Err(ApiError::Exchange(refusal)) if refusal.reason == "CONNECTION_RESET"));
    // The client disconnects: the runner gets no end.
    let (client, mut line) = world.forward().await;
    drop(client.heard);
    let (done, _) = outcome(client.call).await;
    assert!(matches!(done, Err(ApiError::ClientStream(_))), "{done:?}");
    assert_eq!(line.hear().await, None);
    // So does one whose stream ends without an end.
    let (client, mut line) = world.forward().await;
    drop(client.say);
    let (done, _) = outcome(client.call).await;
    assert!(matches!(done, Err(ApiError::ClientStream(_))), "{done:?}");
    assert_eq!(line.hear().await, None);
    assert_eq!(world.ended(ExchangeKind::Forward, ExchangeOutcome::Left), 2);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_traffic_ends_and_traffic_in_one_direction_keeps_it() {
    let idle = Duration::from_secs(60);
    let world = World::with(ExchangeLimits { forward_idle: idle, ..ExchangeLimits::default() });
    let (mut client, mut line) = world.forward().await;
    for offset in 0..5 {
        sleep(idle * 2 / 3).await;
        line.say(chunk_from(offset, b"x")).await;
        assert_eq!(client.hear().await, data(b"x"));
    }
    for offset in 0..5 {
        sleep(idle * 2 / 3).await;
        client.say(b"y").await;
        assert_eq!(line.hear().await, Some(chunk_to(offset, b"y")));
    }
    let (done, _) = outcome(client.call).await;
    assert!(matches!(done, Err(ApiError::Unavailable { reason: "FORWARD_IDLE", .. })), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn connections_have_limits_of_their_own() {
    let limits = ExchangeLimits {
        forwards_per_session: 1,
        forwards_per_tenant: 2,
        forwards: 3,
        exchanges_per_tenant: 1,
        exchanges: 1,
        ..ExchangeLimits::default()
    };
    let world = World::with(limits);
    let sessions = [SessionId::new(), SessionId::new(), SessionId::new(), SessionId::new()];
    let mut held = Vec::new();
    for (tenant, session, limit) in [
        ("one", 0, None),
        ("one", 0, Some("forwards_per_session")),
        ("one", 1, None),
        ("one", 2, Some("forwards_per_tenant")),
        ("two", 2, None),
        ("two", 3, Some("forwards")),
    ] {
        let (exchanges, order) = (world.exchanges.clone(), order(sessions[session]));
        let opening = tokio::spawn(async move { exchanges.open(&who(tenant), &runner_id(), order).await });
        match limit {
            None => {
                let (line, _) = world.line().await;
                held.push((line, outcome(opening).await.map_err(|_| "refused").unwrap()));
            }
            Some(name) => match outcome(opening).await {
                Err(ApiError::Exhausted { limit, .. }) => assert_eq!(limit, name),
                _ => panic!("{name}"),
            },
        }
    }
    // They use no place of other exchanges.
    let exchanges = world.exchanges.clone();
    let stat = ExchangeOrder::Stat { session_id: SessionId::new(), path: Vec::new() };
    let opening = tokio::spawn(async move { exchanges.open(&who("one"), &runner_id(), stat).await.is_ok() });
    let _line = world.line().await;
    assert!(outcome(opening).await);
    drop(held);
    assert_eq!(world.exchanges.open_now(), 0);
}
