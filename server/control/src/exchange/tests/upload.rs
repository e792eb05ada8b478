//! Uploads: accepted and rejected pieces, and runners that violate the protocol.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_domain::{
    ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, RunnerId, Uploaded, limits::TRANSFER_CHUNK_BYTES,
};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use tokio::{task::JoinHandle, time::sleep};

use super::world::{
    World, chunk_from, chunk_to, client, failed, info, outcome, piece, runner_id, sent, upload_order, who,
};
use crate::{
    api::ApiError,
    exchange::{ClientFault, ExchangeBroken, ExchangeKind, ExchangeOutcome, Piece, Pieces},
    files,
};

const END: ExchangeToRunner = ExchangeToRunner::End { close: false };

type Slip = (u64, Option<u64>, Vec<Piece>, Result<u64, &'static str>);

fn ready(offset: u64) -> ExchangeFromRunner {
    ExchangeFromRunner::Ready { offset }
}

fn uploaded(received: u64) -> ExchangeFromRunner {
    ExchangeFromRunner::Uploaded(Uploaded { received, files: 1, ..Uploaded::default() })
}

impl World {
    fn upload(&self, size: Option<u64>, pieces: Pieces) -> JoinHandle<Result<Uploaded, ApiError>> {
        let exchanges = self.exchanges.clone();
        tokio::spawn(async move {
            let runner: RunnerId = runner_id();
            files::upload(&exchanges, &who("one"), &runner, upload_order(size), pieces).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_pass_in_order_and_then_the_end() {
    let world = World::new();
    let call = world.upload(Some(6), sent(vec![piece(0, b"abc"), piece(3, b""), piece(3, b"def")]));
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
    assert_eq!(line.hear().await, Some(chunk_to(3, b"def")));
    assert_eq!(line.hear().await, Some(END));
    line.say(uploaded(6)).await;
    assert_eq!(outcome(call).await.unwrap().files, 1);
    assert_eq!(world.counts.bytes.load(Ordering::Relaxed), 6);
    assert_eq!(world.ended(ExchangeKind::Upload, ExchangeOutcome::Done), 1);
}

#[tokio::test(start_paused = true)]
async fn an_upload_goes_on_from_what_the_runner_has() {
    // (bytes that the runner has, pieces sent, messages that the runner gets)
    let abc_def = || vec![piece(0, b"abc"), piece(3, b"def")];
    let table = [
        (4, abc_def(), vec![chunk_to(4, b"ef")]),
        (3, abc_def(), vec![chunk_to(3, b"def")]),
        (6, abc_def(), vec![]),
        (6, vec![], vec![]),
        (4, vec![piece(4, b"ef")], vec![chunk_to(4, b"ef")]),
        (4, vec![piece(2, b"cdef")], vec![chunk_to(4, b"ef")]),
    ];
    for (there, pieces, expected) in table {
        let world = World::new();
        let call = world.upload(Some(6), sent(pieces.clone()));
        let (mut line, _) = world.line().await;
        line.say(ready(there)).await;
        let mut heard = Vec::new();
        while heard.last() != Some(&END) {
            heard.push(line.hear().await.unwrap());
        }
        heard.pop();
        assert_eq!(heard, expected, "{there}: {pieces:?}");
        line.say(uploaded(6)).await;
        outcome(call).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn pieces_out_of_order_end_the_upload_and_the_runner_is_not_told_that_it_is_complete() {
    let long = Piece { offset: 0, data: Bytes::from(vec![0; TRANSFER_CHUNK_BYTES + 1]), closes: false };
    // (bytes that the runner has, declared size, pieces sent, offset to continue from or invalid
    // field)
    let table: [Slip; 9] = [
        (4, None, vec![piece(5, b"x")], Ok(4)),
        (0, None, vec![piece(0, b"abc"), piece(4, b"x")], Err("chunk.offset")),
        (0, None, vec![piece(0, b"abc"), piece(2, b"x")], Err("chunk.offset")),
        (0, None, vec![long], Err("chunk.data")),
        (9, None, vec![piece(u64::MAX, b"x")], Err("chunk.offset")),
        (0, Some(2), vec![piece(0, b"abc")], Err("chunk.data")),
        (0, Some(4), vec![piece(0, b"abc")], Ok(3)),
        (3, Some(4), vec![], Ok(3)),
        (5, None, vec![piece(0, b"abc")], Err("header.transfer_id")),
    ];
    for (there, size, pieces, expected) in table {
        let name =
            format!("{there}, {size:?}, {:?}", pieces.iter().map(|piece| piece.offset).collect::<Vec<_>>());
        let world = World::new();
        let call = world.upload(size, sent(pieces));
        let (line, _) = world.line().await;
        line.say(ready(there)).await;
        match (outcome(call).await.unwrap_err(), expected) {
            (ApiError::Exchange(refusal), Ok(end)) => {
                assert_eq!(refusal.failure, ExchangeFailure::OutOfRange { end }, "{name}");
            }
            (ApiError::Invalid(bad), Err(field)) => assert_eq!(bad[0].field, field, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
        assert!(!line.rest().await.contains(&END), "{name}");
        assert_eq!(world.ended(ExchangeKind::Upload, ExchangeOutcome::Refused), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_cut_off_has_not_uploaded() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.upload(None, pieces);
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    client.send(Ok(piece(0, b"abc"))).await.unwrap();
    assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
    client.send(Err(ApiError::ClientStream(ClientFault::Gone))).await.unwrap();
    assert!(outcome(call).await.is_err());
    assert_eq!(line.rest().await, []);
    assert_eq!(world.ended(ExchangeKind::Upload, ExchangeOutcome::Left), 1);
}

#[tokio::test(start_paused = true)]
async fn a_no_of_the_runner_ends_the_call_while_the_client_still_sends() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.upload(None, pieces);
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    client.send(Ok(piece(0, b"abc"))).await.unwrap();
    assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
    let limit = "transfers.archive_bytes".to_owned();
    line.say(failed(ExchangeFailure::Exhausted { limit, value: 3 }, "TOO_LARGE")).await;
    let error = outcome(call).await.unwrap_err();
    let ApiError::Exchange(refusal) = error else { panic!("{error:?}") };
    assert_eq!(refusal.reason, "TOO_LARGE");
    client.closed().await;
    assert_eq!(line.rest().await, []);
}

#[tokio::test(start_paused = true)]
async fn no_more_is_taken_from_a_client_than_the_runner_takes() {
    let world = World::new();
    let pulled = Arc::new(AtomicUsize::new(0));
    let counter = pulled.clone();
    let endless = stream::iter(0u64..).map(move |index| {
        counter.fetch_add(1, Ordering::Relaxed);
        let size = TRANSFER_CHUNK_BYTES as u64;
        let data = Bytes::from_static(&[7; TRANSFER_CHUNK_BYTES]);
        Ok(Piece { offset: index * size, data, closes: false })
    });
    let call = world.upload(None, Box::pin(endless));
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    for taken in 0..20 {
        sleep(Duration::from_millis(10)).await;
        let ahead = pulled.load(Ordering::Relaxed) - taken;
        assert!(ahead <= 3, "{ahead} pieces ahead of the runner");
        line.hear().await.unwrap();
    }
    // The runner accepts no more data.
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    assert!(pulled.load(Ordering::Relaxed) <= 23);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_nothing_for_too_long_is_sent_away() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.upload(None, pieces);
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    let limit = world.exchanges.limits().transfer_idle;
    for offset in 0..3 {
        sleep(limit - Duration::from_secs(1)).await;
        client.send(Ok(piece(offset, b"x"))).await.unwrap();
        assert_eq!(line.hear().await, Some(chunk_to(offset, b"x")));
    }
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "TRANSFER_IDLE", .. }), "{error:?}");
    assert_eq!(line.rest().await, []);
    assert_eq!(world.ended(ExchangeKind::Upload, ExchangeOutcome::Left), 1);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_says_nothing_after_the_end_is_given_up() {
    let world = World::new();
    let call = world.upload(None, sent(vec![piece(0, b"abc")]));
    let (line, _) = world.line().await;
    line.say(ready(0)).await;
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    assert_eq!(line.rest().await, [chunk_to(0, b"abc"), END]);
}

#[tokio::test(start_paused = true)]
async fn a_lying_runner_is_found_out_and_the_client_told_nothing_of_it() {
    let unreadable = Err(ExchangeBroken::Unreadable("x".to_owned()));
    // The runner's messages in order. The client sends all 3 bytes.
    let lies = [
        ("no ready", vec![Ok(uploaded(3))]),
        ("a file instead", vec![Ok(ExchangeFromRunner::File(info("/workspace/a")))]),
        ("more than there can be", vec![Ok(ready(4))]),
        ("done before the end", vec![Ok(ready(0)), Ok(uploaded(3))]),
        ("ready twice", vec![Ok(ready(0)), Ok(ready(0))]),
        ("bytes back", vec![Ok(ready(0)), Ok(chunk_from(0, b"abc"))]),
        ("no message", vec![Ok(ready(0)), unreadable]),
    ];
    for (name, lie) in lies {
        let world = World::new();
        let (client, pieces) = client();
        let call = world.upload(Some(3), pieces);
        let (line, _) = world.line().await;
        for message in lie {
            line.say.send(message).await.unwrap();
        }
        let error = outcome(call).await.unwrap_err();
        assert!(matches!(error, ApiError::Internal(_)), "{name}: {error:?}");
        client.closed().await;
        assert_eq!(line.rest().await, [], "{name}");
        assert_eq!(world.ended(ExchangeKind::Upload, ExchangeOutcome::Misbehaved), 1, "{name}");
    }

    let world = World::new();
    let call = world.upload(None, sent(vec![piece(0, b"abc")]));
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    while line.hear().await != Some(END) {}
    line.say(uploaded(2)).await;
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(error, ApiError::Internal(_)), "other bytes than were sent: {error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_dies_is_unavailable_and_the_upload_can_go_on() {
    for say_why in [true, false] {
        let world = World::new();
        let (client, pieces) = client();
        let call = world.upload(None, pieces);
        let (line, _) = world.line().await;
        line.say(ready(0)).await;
        if say_why {
            line.say.send(Err(ExchangeBroken::Cut("reset".to_owned()))).await.unwrap();
        }
        drop(line);
        let error = outcome(call).await.unwrap_err();
        let ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", message, .. } = error else {
            panic!("{error:?}")
        };
        assert!(message.contains("transfer_id"), "{message}");
        client.closed().await;
    }
}
