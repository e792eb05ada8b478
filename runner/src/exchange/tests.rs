//! Tests of exchanges with a server that is slow, disconnected or violates the protocol.

use airlock_domain::{FileFormat, SessionId, UploadOrder};
use futures::stream::{self, BoxStream};

use super::*;

const IDLE: Duration = Duration::from_secs(300);

type FromServer = Result<ExchangeToRunner, String>;

fn upload() -> ExchangeOrder {
    ExchangeOrder::Upload(UploadOrder {
        session_id: SessionId::new(),
        transfer_id: "t".to_owned(),
        path: Vec::new(),
        format: FileFormat::Tar,
        size: None,
        sha256: None,
        mode: 0,
    })
}

fn stdin() -> ExchangeOrder {
    ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: false }
}

fn chunk(offset: u64) -> FromServer {
    Ok(ExchangeToRunner::Chunk { offset, data: vec![0; 4].into() })
}

fn end() -> FromServer {
    Ok(ExchangeToRunner::End { close: false })
}

/// Returns a stream that yields these messages, and then neither yields nor ends.
fn silent(messages: Vec<FromServer>) -> BoxStream<'static, FromServer> {
    stream::iter(messages).chain(stream::pending()).boxed()
}

/// Listens to a server for an order, with a worker that accepts every message.
async fn heard(
    order: &ExchangeOrder,
    mut from_server: BoxStream<'static, FromServer>,
    idle: Option<Duration>,
) -> (Result<Heard, ExchangeFailed>, usize) {
    let (messages, mut taken) = mpsc::channel(AHEAD);
    let worker = async {
        let mut count = 0;
        while taken.recv().await.is_some() {
            count += 1;
        }
        count
    };
    tokio::join!(listen(&mut from_server, Check::new(order), idle, messages), worker)
}

#[tokio::test]
async fn a_server_that_goes_is_told_from_one_that_has_said_its_last_word() {
    let (cut, count) = heard(&upload(), stream::iter([chunk(0)]).boxed(), None).await;
    assert!(matches!(cut, Ok(Heard::Cut)));
    assert_eq!(count, 1);
    let (gone, count) = heard(&upload(), stream::iter([chunk(0), end()]).boxed(), None).await;
    assert!(matches!(gone, Ok(Heard::Closed)));
    assert_eq!(count, 2);
}

#[tokio::test]
async fn what_comes_after_the_end_or_out_of_order_is_refused() {
    for messages in [
        vec![end(), end()],
        vec![chunk(0), chunk(5)],
        vec![Ok(ExchangeToRunner::Order(stdin()))],
        vec![Err("`message` is missing".to_owned())],
    ] {
        let (heard, _) = heard(&stdin(), silent(messages), None).await;
        assert_eq!(heard.err().map(|failed| failed.failure), Some(ExchangeFailure::Invalid));
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_does_not_wait_for_its_server_for_ever() {
    let (heard, count) = heard(&upload(), silent(vec![chunk(0), chunk(4)]), Some(IDLE)).await;
    assert_eq!(heard.err().map(|failed| failed.reason), Some("EXCHANGE_IDLE".to_owned()));
    assert_eq!(count, 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_waited_for_may_take_its_time() {
    // A person who types input, an upload that is being unpacked, and a busy worker.
    let long = IDLE * 10;
    let (messages, _taken) = mpsc::channel(AHEAD);
    let mut from_server = silent(vec![chunk(0), chunk(4), chunk(8)]);
    let busy = listen(&mut from_server, Check::new(&upload()), Some(IDLE), messages);
    assert!(timeout(long, busy).await.is_err());
    assert!(timeout(long, heard(&upload(), silent(vec![chunk(0), end()]), Some(IDLE))).await.is_err());
    assert!(timeout(long, heard(&stdin(), silent(vec![chunk(0)]), None)).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_answer_counts_as_gone() {
    let (to_server, _never_read) = mpsc::channel(1);
    let (answers, queue) = mpsc::channel(OUTGOING);
    for offset in 0..3 {
        answers.send(ExchangeFromRunner::Ready { offset }).await.unwrap();
    }
    assert_eq!(relay(queue, &to_server, IDLE).await, Err(Disconnected));
    assert!(answers.is_closed());
}

#[tokio::test]
async fn a_server_that_has_gone_ends_a_worker_that_has_nothing_to_say() {
    let (to_server, gone) = mpsc::channel(1);
    let (_answers, queue) = mpsc::channel(OUTGOING);
    drop(gone);
    assert_eq!(relay(queue, &to_server, IDLE).await, Err(Disconnected));
}

#[tokio::test]
async fn answers_pass_in_order_and_end_with_their_worker() {
    let (to_server, mut taken) = mpsc::channel(1);
    let (answers, queue) = mpsc::channel(OUTGOING);
    let worker = async move {
        for offset in 0..100 {
            answers.send(ExchangeFromRunner::Ready { offset }).await.unwrap();
        }
    };
    let server = async {
        for offset in 0..100 {
            assert_eq!(taken.recv().await, Some(ExchangeFromRunner::Ready { offset }));
        }
    };
    let (passed, (), ()) = tokio::join!(relay(queue, &to_server, IDLE), worker, server);
    assert_eq!(passed, Ok(()));
}
