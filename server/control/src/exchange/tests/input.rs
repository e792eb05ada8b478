//! The input of commands: without a time limit, in order, and ended with the command.

use std::{future::pending, time::Duration};

use airlock_domain::{ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, ExecutionId};
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::world::{World, chunk_to, client, failed, outcome, piece, runner_id, sent, who};
use crate::{
    api::ApiError,
    exchange::{
        Piece, Pieces,
        input::{self, Written},
    },
};

const END: ExchangeToRunner = ExchangeToRunner::End { close: false };
const CLOSE: ExchangeToRunner = ExchangeToRunner::End { close: true };

fn ready(offset: u64) -> ExchangeFromRunner {
    ExchangeFromRunner::Ready { offset }
}

fn written(accepted: u64, ended: bool) -> ExchangeFromRunner {
    ExchangeFromRunner::Written { accepted, ended }
}

fn last(offset: u64, data: &'static [u8]) -> Piece {
    Piece { closes: true, ..piece(offset, data) }
}

impl World {
    fn write(
        &self,
        pieces: Pieces,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> JoinHandle<Result<Written, ApiError>> {
        let exchanges = self.exchanges.clone();
        let order = ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: false };
        tokio::spawn(
            async move { input::write(&exchanges, &who("one"), &runner_id(), order, pieces, over).await },
        )
    }
}

fn not_running(error: ApiError) -> Option<u64> {
    match error {
        ApiError::Exchange(refusal) => {
            assert_eq!(refusal.failure, ExchangeFailure::FailedPrecondition);
            assert_eq!(refusal.reason, "NOT_RUNNING");
            refusal.accepted
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn input_is_written_and_closed_only_if_the_client_says_so() {
    for (pieces, end) in [
        (vec![piece(0, b"abc")], END),
        (vec![last(0, b"abc")], CLOSE),
        (vec![piece(0, b"abc"), last(3, b"")], CLOSE),
    ] {
        let world = World::new();
        let call = world.write(sent(pieces), pending());
        let (mut line, _) = world.line().await;
        line.say(ready(0)).await;
        assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
        assert_eq!(line.hear().await, Some(end.clone()));
        line.say(written(3, end == CLOSE)).await;
        assert_eq!(outcome(call).await.unwrap(), Written { accepted: 3, ended: end == CLOSE });
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_may_be_silent_for_hours_and_the_command_too() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.write(pieces, pending());
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    for offset in 0..4 {
        sleep(Duration::from_secs(3600)).await;
        client.send(Ok(piece(offset, b"x"))).await.unwrap();
    }
    // The command also does not read for hours.
    sleep(Duration::from_secs(3600)).await;
    for offset in 0..4 {
        assert_eq!(line.hear().await, Some(chunk_to(offset, b"x")));
    }
    drop(client);
    assert_eq!(line.hear().await, Some(END));
    sleep(Duration::from_secs(3000)).await;
    line.say(written(4, false)).await;
    assert_eq!(outcome(call).await.unwrap().accepted, 4);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_was_cut_off_sends_again_from_where_it_believes_to_be() {
    let world = World::new();
    let call = world.write(sent(vec![piece(1, b"bcd")]), pending());
    let (mut line, _) = world.line().await;
    line.say(ready(3)).await;
    assert_eq!(line.hear().await, Some(chunk_to(3, b"d")));
    line.say(written(4, false)).await;
    drop(call);

    let call = world.write(sent(vec![piece(0, b"ab")]), pending());
    let (mut line, _) = world.line().await;
    line.say(ready(3)).await;
    assert_eq!(line.hear().await, Some(END), "all data is there");
    line.say(written(3, false)).await;
    assert_eq!(outcome(call).await.unwrap().accepted, 3);

    let call = world.write(sent(vec![piece(4, b"x")]), pending());
    let (line, _) = world.line().await;
    line.say(ready(3)).await;
    let error = outcome(call).await.unwrap_err();
    let ApiError::Exchange(refusal) = error else { panic!("{error:?}") };
    assert_eq!(refusal.failure, ExchangeFailure::OutOfRange { end: 3 });
}

#[tokio::test(start_paused = true)]
async fn nothing_may_follow_the_end() {
    let world = World::new();
    let call = world.write(sent(vec![last(0, b"abc"), piece(3, b"d")]), pending());
    let (line, _) = world.line().await;
    line.say(ready(0)).await;
    let error = outcome(call).await.unwrap_err();
    assert!(matches!(&error, ApiError::Invalid(bad) if bad[0].field == "data"), "{error:?}");
    assert_eq!(line.rest().await, [chunk_to(0, b"abc"), CLOSE]);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_meanwhile_says_how_much_it_took() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.write(pieces, pending());
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    client.send(Ok(piece(0, b"abc"))).await.unwrap();
    assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
    line.say(written(2, false)).await;
    line.say(failed(ExchangeFailure::FailedPrecondition, "STDIN_CLOSED")).await;
    let error = outcome(call).await.unwrap_err();
    let ApiError::Exchange(refusal) = error else { panic!("{error:?}") };
    assert_eq!((refusal.reason.as_str(), refusal.accepted), ("STDIN_CLOSED", Some(2)));
    client.closed().await;

    // The runner disconnects without a reason.
    let call = world.write(Box::pin(futures::stream::pending()), pending());
    let (line, _) = world.line().await;
    line.say(ready(0)).await;
    line.say(written(2, false)).await;
    drop(line);
    assert_eq!(not_running(outcome(call).await.unwrap_err()), Some(2));

    let call = world.write(sent(vec![piece(0, b"abc")]), pending());
    let (line, _) = world.line().await;
    line.say(ready(1)).await;
    line.say(failed(ExchangeFailure::FailedPrecondition, "NOT_RUNNING")).await;
    assert_eq!(not_running(outcome(call).await.unwrap_err()), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_with_all_that_was_written_ends_its_writer_well() {
    let world = World::new();
    let (client, pieces) = client();
    let call = world.write(pieces, pending());
    let (mut line, _) = world.line().await;
    line.say(ready(0)).await;
    client.send(Ok(piece(0, b"abc"))).await.unwrap();
    assert_eq!(line.hear().await, Some(chunk_to(0, b"abc")));
    line.say(written(3, false)).await;
    line.say(failed(ExchangeFailure::FailedPrecondition, "NOT_RUNNING")).await;
    assert_eq!(outcome(call).await.unwrap(), Written { accepted: 3, ended: true });
    client.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_does_not_say_that_the_command_has_ended_is_not_waited_for() {
    let world = World::new();
    let (client, pieces) = client();
    let (end, ended) = oneshot::channel();
    let call = world.write(pieces, async move { ended.await.unwrap() });
    let (line, _) = world.line().await;
    line.say(ready(0)).await;
    sleep(Duration::from_secs(20_000)).await;
    assert!(!call.is_finished(), "it runs");
    end.send(()).unwrap();
    assert_eq!(not_running(outcome(call).await.unwrap_err()), None);
    client.closed().await;
    assert_eq!(line.rest().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_lying_runner_is_found_out() {
    let lies = [
        ("no ready", vec![written(3, true)]),
        ("less than was sent", vec![ready(0), written(2, true)]),
        ("not closed", vec![ready(0), written(3, false)]),
        ("another answer", vec![ready(0), ready(0)]),
    ];
    for (name, lie) in lies {
        let world = World::new();
        let call = world.write(sent(vec![last(0, b"abc")]), pending());
        let (mut line, _) = world.line().await;
        let mut lie = lie.into_iter();
        line.say(lie.next().unwrap()).await;
        if let Some(second) = lie.next() {
            while line.hear().await != Some(CLOSE) {}
            line.say(second).await;
        }
        let error = outcome(call).await.unwrap_err();
        assert!(matches!(error, ApiError::Internal(_)), "{name}: {error:?}");
    }
}
