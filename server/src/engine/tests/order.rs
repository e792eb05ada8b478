//! Whose turn it is.

use std::time::Duration;

use airlock_proto::domain::{Cause, ExecutionState};

use super::support::{Runner, World, hello, run, who};
use crate::api::StartExecution;

#[tokio::test]
async fn serial_commands_of_a_session_run_one_after_another_in_order() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let mut ids = Vec::new();
    for command in ["touch a", "touch b", "touch c"] {
        ids.push(world.start(&session, command).await.id);
    }
    for id in ids {
        let job = runner.take().await;
        assert_eq!(job.execution_id, id);
        runner.silence().await;
        runner.ends(&job, 0).await;
    }
}

#[tokio::test]
async fn what_is_safe_beside_others_runs_at_once_and_does_not_keep_its_directory() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let serial = runner.take().await;
    world.start(&session, "ls").await;
    let safe = runner.take().await;
    assert!(safe.grant.read_only && !safe.grant.keep_directory);
    let opted_out = StartExecution { allow_concurrent: true, ..run(session.id, "touch b") };
    world.engine.start(who("ann"), opted_out).await.unwrap();
    let beside = runner.take().await;
    assert!(!beside.grant.keep_directory);
    // A read-only command that moves takes its turn, and keeps where it went.
    world.start(&session, "cd src").await;
    runner.silence().await;
    runner.ends(&serial, 0).await;
    let moves = runner.take().await;
    assert!(moves.grant.read_only && moves.grant.keep_directory);
}

#[tokio::test]
async fn a_runner_is_given_no_more_than_it_has_slots() {
    let world = World::new().await;
    let mut one_slot = hello("r", airlock_proto::domain::Epoch::new());
    one_slot.slots = 1;
    let mut runner = Runner::connect(&world, one_slot).await.unwrap();
    runner.reconciled().await;
    let (first, second) = (world.session(&mut runner).await, world.session(&mut runner).await);
    world.start(&first, "touch a").await;
    let job = runner.take().await;
    let waits = world.start(&second, "touch b").await;
    runner.silence().await;
    assert_eq!(world.get(waits.id).await.state, ExecutionState::Queued);
    runner.ends(&job, 0).await;
    assert_eq!(runner.take().await.execution_id, waits.id);
}

#[tokio::test]
async fn waiting_for_a_runner_is_bounded_and_waiting_for_ones_own_session_does_not_count() {
    let world = World::with(|limits| limits.queue_wait = Duration::from_millis(1500)).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let job = runner.take().await;
    let behind = world.start(&session, "touch b").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(world.get(behind.id).await.state, ExecutionState::Queued, "its own session is busy");
    runner.ends(&job, 0).await;
    assert_eq!(runner.take().await.execution_id, behind.id);

    let other = world.session(&mut runner).await;
    drop(runner);
    let stuck = world.start(&other, "touch c").await;
    assert_eq!(world.cause(stuck.id).await, Cause::QueueExpired);
}
