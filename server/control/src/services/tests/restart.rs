//! Tests of a failure of the server, the link or the runner at each point of a start. The command
//! runs at most once, and its result states whether it ran.

use std::time::Duration;

use airlock_domain::{Cause, ExecutionState, FromRunner, JobPhase, LinkState, OutputState, Started};

use super::support::{Runner, World, hello};
use crate::reconcile::reconcile_once;

#[tokio::test]
async fn what_was_queued_is_placed_by_the_next_server() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let epoch = runner.epoch;
    drop(runner);
    let record = world.start(&session, "touch a").await;
    world.restart().await;
    let mut runner = Runner::again(&world, epoch).await;
    runner.silence().await;
    runner.reconciled().await;
    let job = runner.take().await;
    assert_eq!((job.execution_id, job.attempt), (record.id, 1));
    runner.ends(&job, 0).await;
    assert_eq!(world.cause(record.id).await, Cause::Exited { code: 0 });
}

#[tokio::test]
async fn an_offer_that_did_not_arrive_is_sent_again_as_the_same_offer() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let lost = runner.next_job().await;
    world.restart().await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    assert_eq!(
        world.get(record.id).await.state,
        ExecutionState::Starting,
        "unknown, and reported as unknown"
    );
    runner.reconciled().await;
    let job = runner.take().await;
    assert_eq!((job.execution_id, job.attempt, job.binding), (record.id, lost.attempt, lost.binding));
    runner.ends(&job, 0).await;
    assert_eq!(world.finished(record.id).await.attempt, 1);
}

#[tokio::test]
async fn an_accepted_offer_is_not_repeated() {
    for phase in [JobPhase::Accepted, JobPhase::Running] {
        let mut world = World::new().await;
        let mut runner = Runner::ready(&world).await;
        let session = world.session(&mut runner).await;
        let record = world.start(&session, "touch a").await;
        let job = runner.next_job().await;
        world.restart().await;
        let mut runner = Runner::again(&world, runner.epoch).await;
        runner.report(&job, phase, None).await;
        runner.reconciled().await;
        runner.silence().await;
        runner.runs(&job).await;
        let running = world.get(record.id).await;
        assert_eq!((running.state, running.link), (ExecutionState::Running, Some(LinkState::Connected)));
        runner.ends(&job, 0).await;
        assert_eq!(world.cause(record.id).await, Cause::Exited { code: 0 });
    }
}

#[tokio::test]
async fn an_end_while_the_server_was_away_is_taken_in_and_only_once() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    world.restart().await;
    world.until_true(record.id, |record| record.link == Some(LinkState::Unreachable)).await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.ends(&job, 7).await;
    runner.reconciled().await;
    let done = world.finished(record.id).await;
    assert_eq!(done.result.unwrap().cause, Cause::Exited { code: 7 });

    // The result is reported on every link until the job is forgotten. Repeated reports have no effect.
    world.restart().await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.ends(&job, 9).await;
    runner.reconciled().await;
    assert_eq!(world.get(record.id).await.version, done.version);
    let asked = world.keeper.ended.lock().unwrap().len();
    assert_eq!(asked, 4, "each report and each reconciliation requests the output");
    world.store_output(record.id).await;
    runner.ends(&job, 7).await;
    assert!(matches!(runner.next().await, airlock_domain::ToRunner::ForgetJob { .. }));
}

#[tokio::test]
async fn a_new_life_of_the_runner_gets_anew_what_the_old_one_never_accepted() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let lost = runner.next_job().await;
    let mut next = Runner::ready(&world).await;
    let job = next.take().await;
    assert_eq!((job.execution_id, job.attempt), (record.id, lost.attempt + 1));
    assert_eq!(job.epoch, next.epoch);
    assert!(
        runner.handle.received(FromRunner::Reconciled).await.is_err(),
        "reports of the old epoch are ignored"
    );
    let old = Runner::connect(&world, hello("r", runner.epoch)).await;
    assert!(matches!(old, Err(crate::links::LinkRefusal::Fenced)));
}

#[tokio::test]
async fn what_the_old_life_of_the_runner_ran_is_lost_with_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (ran, never) = (world.start(&session, "touch a").await, world.start(&session, "touch b").await);
    let job = runner.take().await;
    let mut next = Runner::connect(&world, hello("r", airlock_domain::Epoch::new())).await.unwrap();
    next.report(&job, JobPhase::Lost, None).await;
    let result = world.finished(ran.id).await.result.unwrap();
    assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Yes));
    assert_eq!(*world.keeper.ended.lock().unwrap(), [ran.id], "its output until then is readable");
    next.reconciled().await;
    assert_eq!(next.take().await.execution_id, never.id);
}

#[tokio::test]
async fn what_ran_and_is_not_even_reported_is_lost() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    let _next = Runner::ready(&world).await;
    let result = world.finished(record.id).await.result.unwrap();
    assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Yes));
    assert_eq!(
        world.keeper.ended.lock().unwrap().first(),
        Some(&record.id),
        "the runner is asked for the output"
    );
}

#[tokio::test]
async fn after_its_host_went_down_a_runner_cannot_vouch_for_what_it_does_not_report() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.next_job().await;
    let mut next = Runner::after_host_crash(&world).await;
    next.reconciled().await;
    let lost = world.finished(record.id).await;
    let result = lost.result.unwrap();
    assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Unknown));
    assert_eq!(lost.output, OutputState::Live, "the command may have written output");
    assert_eq!(
        world.keeper.ended.lock().unwrap().first(),
        Some(&record.id),
        "the runner is asked for the output"
    );
}

#[tokio::test]
async fn a_runner_whose_journal_is_new_vouches_for_what_was_offered_since_it_began() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let offered = runner.next_job().await;
    let mut next = Runner::with_a_new_journal(&world, &[runner.epoch]).await;
    next.reconciled().await;
    let again = next.next_job().await;
    assert_eq!(
        (again.execution_id, again.attempt),
        (record.id, offered.attempt + 1),
        "it was never accepted"
    );
}

#[tokio::test]
async fn a_cancelled_offer_that_did_not_arrive_ends_when_it_cannot_arrive_any_more() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.next_job().await;
    world.cancel(record.id).await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.reconciled().await;
    runner.expect_end(record.id).await;
    assert_eq!(world.get(record.id).await.state, ExecutionState::Starting);
    // The offer has expired by the runner's clock.
    runner.say(FromRunner::Heartbeat { clock_ms: 36_000_000, running: 0 }).await;
    let result = world.finished(record.id).await.result.unwrap();
    assert_eq!(result.started, Started::No);
    assert!(matches!(result.cause, Cause::Cancelled(_)));
}

#[tokio::test]
async fn another_server_takes_over_when_a_lease_is_over_and_not_before() {
    let lease = Duration::from_secs(60);
    let world = World::with(|limits| limits.lease = lease).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    world.kill().await;
    let other = world.another("server-2").await;
    reconcile_once(&other.reconciler).await.unwrap();
    assert_eq!(
        world.get(record.id).await.owner_server.as_deref(),
        Some("server-1"),
        "its lease has not expired"
    );
    world.pass(2 * lease).await;
    world.until_true(record.id, |record| record.owner_server.as_deref() == Some("server-2")).await;
    other.shut_down().await;
}
