//! Tests of a server that opens too many exchanges, or violates their protocol: only these exchanges fail.

use std::time::{Duration, Instant};

use airlock_domain::{
    ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, ExecutionId, FromRunner, JobPhase,
    OutputStream, SessionId, ToRunner,
};
use airlock_proto::runner_v1::ExchangeResponse;

use crate::{
    fixture::{Fixture, PATIENCE, grant},
    input::{failure, with_input},
    leaks::{Holdings, apart, back_to, is_back_to, settled},
};

fn invalid() -> (ExchangeFailure, String) {
    (ExchangeFailure::Invalid, "BAD_EXCHANGE".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn exchanges_beyond_the_limit_are_told_so_and_room_is_made_by_those_that_end() {
    let mut it = Fixture::with(Default::default(), |config| config.limits.exchanges = 2).await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "cat")).await;
    let held = [it.exchange().await, it.exchange().await];
    let mut beyond = it.exchange().await;
    let limit = "limits.exchanges".to_owned();
    let exhausted = ExchangeFailure::Exhausted { limit, value: 2 };
    assert_eq!(failure(&mut beyond).await, (exhausted, "TOO_MANY_EXCHANGES".to_owned()));
    drop(held);
    loop {
        let mut next = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
        match next.next().await {
            Some(ExchangeFromRunner::Ready { .. }) => break,
            Some(ExchangeFromRunner::Failed(failed)) => assert_eq!(failed.reason, "TOO_MANY_EXCHANGES"),
            other => assert_eq!(other, None),
        }
    }
    it.shut_down().await;
}

#[test]
fn ten_thousand_exchanges_cost_their_server_answers_and_the_runner_nothing() {
    apart(ten_thousand_exchanges());
}

/// The maximum number at once.
const MOST: u32 = 8;
/// The time for which an exchange may stay without an order.
const STAY: Duration = Duration::from_secs(2);

/// Uses each kind of resource once, so that everything that is created once exists. Output streams rotate over four
/// connections.
async fn warm_up(it: &mut Fixture, session: SessionId) {
    for _ in 0..4 {
        it.said(grant(session, "true")).await;
    }
    let mut all = Vec::new();
    for _ in 0..MOST {
        all.push(it.exchange().await);
    }
    let mut beyond = it.exchange().await;
    assert!(matches!(beyond.next().await, Some(ExchangeFromRunner::Failed(_))));
}

/// Returns how many of the requested exchanges were refused and how many were opened. All of them arrive eventually.
/// Exchanges without an order are closed.
async fn answers(it: &mut Fixture, before: Holdings) -> (u32, u32) {
    let begun = Instant::now();
    let (mut told, mut opened) = (0, 0);
    while begun.elapsed() < PATIENCE {
        match it.server.exchanges.try_recv() {
            Ok(mut exchange) => match failure(&mut exchange).await {
                (ExchangeFailure::Exhausted { .. }, _) => told += 1,
                other => {
                    assert_eq!(other, invalid());
                    opened += 1;
                }
            },
            Err(_) if is_back_to(before) => break,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    (told, opened)
}

async fn ten_thousand_exchanges() {
    let mut it = Fixture::with(Default::default(), |config| {
        config.limits.exchanges = MOST;
        config.limits.dial_timeout = STAY;
    })
    .await;
    let session = it.open("").await;
    warm_up(&mut it, session).await;
    let before = settled().await;
    let begun = Instant::now();
    for index in 0..10_000 {
        it.link.send(ToRunner::OpenExchange { ticket: format!("ticket-{index}") }).await;
    }
    // Other work continues in the meantime.
    assert_eq!(it.said(grant(session, "echo on")).await, "on\n");
    it.link.send(ToRunner::Probe { number: 1 }).await;
    it.report(|message| matches!(message, FromRunner::Probed { .. }).then_some(())).await;
    let (told, opened) = answers(&mut it, before).await;
    back_to(before).await;
    // A slot becomes free when its exchange has stayed for its time.
    let places = u64::from(MOST) * (1 + begun.elapsed().as_secs() / STAY.as_secs());
    assert!(told > 0 && u64::from(opened) <= places, "{told} told, {opened} opened in {:?}", begun.elapsed());
    assert_eq!(it.said(grant(session, "echo on")).await, "on\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_out_of_order_ends_the_exchange() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "cat")).await;
    let stdin = || ExchangeToRunner::Order(ExchangeOrder::Stdin { execution_id: id, take_over: false });
    let stat = || ExchangeToRunner::Order(ExchangeOrder::Stat { session_id: session, path: Vec::new() });
    let chunk = |offset, data: &'static str| ExchangeToRunner::Chunk { offset, data: data.as_bytes().into() };
    let end = || ExchangeToRunner::End { close: false };
    for messages in [
        vec![chunk(0, "before an order")],
        vec![end()],
        vec![stdin(), stdin()],
        vec![stdin(), stat()],
        vec![stdin(), chunk(0, "one"), chunk(7, "further on")],
        vec![stdin(), chunk(0, "one"), chunk(0, "one")],
    ] {
        let mut exchange = it.exchange().await;
        for message in messages.clone() {
            exchange.send(message).await;
        }
        let told = loop {
            match exchange.next().await {
                Some(ExchangeFromRunner::Ready { .. }) => {}
                other => break other,
            }
        };
        let Some(ExchangeFromRunner::Failed(failed)) = told else { unreachable!("{messages:?}: {told:?}") };
        assert_eq!((failed.failure, failed.reason), invalid(), "{messages:?}");
    }
    // Messages that violate the contract.
    for first in [ExchangeResponse { message: None }, too_large()] {
        let mut exchange = it.exchange().await;
        exchange.to.send(Ok(first)).await.unwrap();
        assert_eq!(failure(&mut exchange).await, invalid());
    }
    // A new exchange can continue the input.
    let mut exchange = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
    assert!(matches!(exchange.next().await, Some(ExchangeFromRunner::Ready { offset: 0 | 3 })));
    exchange.write(0, "one").await;
    exchange.send(ExchangeToRunner::End { close: true }).await;
    it.job(id, JobPhase::Ended).await;
    assert_eq!(it.text(id, OutputStream::Stdout).await, "one");
    it.shut_down().await;
}

fn too_large() -> ExchangeResponse {
    ExchangeToRunner::Chunk { offset: 0, data: vec![0; (256 << 10) + 1].into() }.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_for_what_is_not_there_are_answered() {
    let mut it = Fixture::new().await;
    let session_id = SessionId::new();
    let mut stat = it.order(ExchangeOrder::Stat { session_id, path: b"x".to_vec() }).await;
    let not_open = (ExchangeFailure::FailedPrecondition, "SESSION_NOT_OPEN".to_owned());
    assert_eq!(failure(&mut stat).await, not_open);
    let mut stdin =
        it.order(ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: false }).await;
    assert_eq!(failure(&mut stdin).await, (ExchangeFailure::NotFound, "NO_SUCH_EXECUTION".to_owned()));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exchanges_end_with_their_link_and_inputs_stay_open() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "cat")).await;
    let mut writer = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
    assert_eq!(writer.next().await, Some(ExchangeFromRunner::Ready { offset: 0 }));
    writer.write(0, "before").await;
    // The server loses only the control stream.
    drop(std::mem::replace(&mut it.link.to, tokio::sync::mpsc::channel(1).0));
    it.next_link().await;
    let gone = async { while writer.from.recv().await.is_some() {} };
    tokio::time::timeout(PATIENCE, gone).await.unwrap();
    let mut writer = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
    let Some(ExchangeFromRunner::Ready { offset }) = writer.next().await else { unreachable!() };
    assert!(offset == 0 || offset == 6, "{offset}");
    writer.write(0, "before and after").await;
    writer.send(ExchangeToRunner::End { close: true }).await;
    assert_eq!(writer.next().await, Some(ExchangeFromRunner::Written { accepted: 16, ended: true }));
    it.job(id, JobPhase::Ended).await;
    assert_eq!(it.text(id, OutputStream::Stdout).await, "before and after");
    it.shut_down().await;
}
