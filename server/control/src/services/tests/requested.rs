//! Tests of requests that start in the background or have a foreground budget, and of profiles that permit
//! neither.

use std::time::Duration;

use airlock_domain::{
    BackgroundedBy, CancelledBy, DirectoryReport, ExecutionId, ExecutionResult, ExecutionState, JobPhase,
    StartJob, ToRunner, limits::TIMEOUT_MAX,
};
use airlock_store::record::{ExecutionRecord, SessionRecord};

use super::support::{Runner, World, alone, exited, run, who, within};
use crate::api::{ApiError, StartExecution};

/// Shorter than the interval of the reconciliation.
const BUDGET: Duration = Duration::from_millis(300);

fn in_background(session: &SessionRecord, command: &str) -> StartExecution {
    StartExecution { background: true, ..run(session.id, command) }
}

fn with_budget(session: &SessionRecord, command: &str, budget: Duration) -> StartExecution {
    StartExecution { yield_after: Some(budget), ..run(session.id, command) }
}

async fn start(world: &World, request: StartExecution) -> ExecutionRecord {
    world.services.executions.start(who("ann"), request).await.unwrap()
}

/// Returns the background timeout that the runner receives and the next job, in either order.
async fn told_and_given(runner: &mut Runner, id: ExecutionId) -> (Duration, StartJob) {
    let (mut told, mut given) = (None, None);
    while told.is_none() || given.is_none() {
        match runner.next().await {
            ToRunner::DetachJob { execution_id, timeout } if execution_id == id => told = Some(timeout),
            ToRunner::StartJob(job) => given = Some(*job),
            other => panic!("{other:?}"),
        }
    }
    (told.unwrap(), given.unwrap())
}

async fn expect_detach(runner: &mut Runner, id: ExecutionId) -> Duration {
    match runner.next().await {
        ToRunner::DetachJob { execution_id, timeout } if execution_id == id => timeout,
        other => panic!("{other:?}"),
    }
}

fn fields(error: ApiError) -> Vec<String> {
    match error {
        ApiError::Invalid(violations) => violations.into_iter().map(|bad| bad.field).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_begins_in_the_background_takes_its_turn_and_holds_up_nobody_once_it_runs() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let server = start(&world, in_background(&session, "touch server")).await;
    assert_eq!((server.state, server.backgrounded), (ExecutionState::Queued, Some(BackgroundedBy::Request)));
    let after = world.start(&session, "touch b").await;
    runner.silence().await;
    runner.ends(&first, 0).await;
    let job = runner.next_job().await;
    assert_eq!(job.execution_id, server.id, "in the order of their requests");
    assert!(!job.grant.keep_directory);
    assert_eq!(job.grant.command.timeout, TIMEOUT_MAX, "the profile's maximum is its default");
    runner.silence().await;
    runner.accept(&job).await;
    runner.runs(&job).await;
    let (told, next) = told_and_given(&mut runner, server.id).await;
    assert_eq!((told, next.execution_id), (TIMEOUT_MAX, after.id));
    assert!(next.grant.keep_directory);
    // The result does not change the session's directory, regardless of the runner's report.
    let moved = ExecutionResult {
        directory: b"/workspace/a".to_vec(),
        directory_report: DirectoryReport::Reported,
        ..exited(0)
    };
    runner.report(&job, JobPhase::Ended, Some(moved)).await;
    let ended = world.finished(server.id).await;
    assert_eq!(ended.result.unwrap().directory_report, DirectoryReport::NotKept);
    assert_eq!(world.store.session(session.id).await.unwrap().unwrap().directory, b"/workspace");
}

#[tokio::test]
async fn several_run_in_the_background_beside_each_other() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let mut started = Vec::new();
    for command in ["touch a", "touch b", "touch c"] {
        let record = start(&world, in_background(&session, command)).await;
        let job = runner.take().await;
        assert_eq!(job.execution_id, record.id);
        expect_detach(&mut runner, record.id).await;
        started.push(record.id);
    }
    for id in started {
        assert_eq!(world.get(id).await.state, ExecutionState::Running);
    }
}

#[tokio::test]
async fn the_time_that_a_request_gives_holds_in_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (timeout, idle_timeout) = (Duration::from_secs(7), Some(Duration::from_secs(3)));
    let request = within(timeout, idle_timeout, in_background(&session, "touch a"));
    let record = start(&world, request).await;
    let job = runner.take().await;
    assert_eq!((job.grant.command.timeout, job.grant.command.idle_timeout), (timeout, idle_timeout));
    assert_eq!(expect_detach(&mut runner, record.id).await, timeout);
}

#[tokio::test]
async fn the_end_of_its_stream_does_not_end_what_waits_to_run_in_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let waits = start(&world, in_background(&session, "touch server")).await;
    let in_front = world.start(&session, "touch b").await;
    let leave =
        async |id| world.services.executions.cancel(who("ann"), id, CancelledBy::Disconnect).await.unwrap();
    assert_eq!(leave(waits.id).await.state, ExecutionState::Queued);
    assert_eq!(leave(in_front.id).await.state, ExecutionState::Finished, "the control");
    runner.ends(&first, 0).await;
    assert_eq!(runner.take().await.execution_id, waits.id);
}

#[tokio::test]
async fn a_budget_that_is_over_sends_the_command_to_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = start(&world, with_budget(&session, "touch a", BUDGET)).await;
    let job = runner.take().await;
    let next = world.start(&session, "touch b").await;
    let (told, given) = told_and_given(&mut runner, record.id).await;
    assert_eq!((told, given.execution_id), (TIMEOUT_MAX, next.id));
    let running = world.get(record.id).await;
    assert_eq!(
        (running.state, running.backgrounded),
        (ExecutionState::Running, Some(BackgroundedBy::Budget))
    );
    let history = world.store.state_changes(record.id, 0).await.unwrap();
    let left = history.iter().find(|change| change.backgrounded_by.is_some()).unwrap();
    assert!(left.at >= running.started.unwrap().after(BUDGET), "not before its time: {history:?}");
    runner.ends(&job, 0).await;
    world.finished(record.id).await;
}

#[tokio::test]
async fn a_budget_outlives_the_server_that_was_told_of_it() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let budget = Duration::from_secs(1);
    let record = start(&world, with_budget(&session, "touch a", budget)).await;
    let job = runner.take().await;
    let running = world.until(record.id, ExecutionState::Running).await;
    world.restart().await;
    // This also works without a link; the runner is informed on its next link.
    world.until_true(record.id, |now| now.backgrounded == Some(BackgroundedBy::Budget)).await;
    let history = world.store.state_changes(record.id, 0).await.unwrap();
    let left = history.iter().find(|change| change.backgrounded_by.is_some()).unwrap();
    assert!(left.at >= running.started.unwrap().after(budget), "the restart does not restart the timeout");
    let mut runner = Runner::again(&world, job.epoch).await;
    runner.runs(&job).await;
    assert_eq!(expect_detach(&mut runner, record.id).await, TIMEOUT_MAX);
}

#[tokio::test]
async fn who_sleeps_means_to_wait() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = start(&world, with_budget(&session, "sleep 60", Duration::from_millis(1))).await;
    assert_eq!(record.spec.yield_after, None);
    let job = runner.take().await;
    runner.silence().await;
    assert_eq!(world.get(record.id).await.backgrounded, None);
    runner.ends(&job, 0).await;
    // The control: the command does not only sleep.
    let record = start(&world, with_budget(&session, "touch a && sleep 60", Duration::from_millis(1))).await;
    runner.take().await;
    expect_detach(&mut runner, record.id).await;
}

#[tokio::test]
async fn a_profile_without_a_background_refuses_all_three_ways_into_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let quiet = |command: &str| StartExecution { profile: Some("quiet".to_owned()), ..alone(command) };
    let start_it = async |request| world.services.executions.start(who("ann"), request).await;
    let refused = start_it(StartExecution { background: true, ..quiet("touch a") }).await.unwrap_err();
    assert_eq!(fields(refused), ["spec.background"]);
    let refused =
        start_it(StartExecution { yield_after: Some(BUDGET), ..quiet("touch a") }).await.unwrap_err();
    assert_eq!(fields(refused), ["spec.yield_after"]);
    let record = start_it(quiet("touch a")).await.unwrap();
    runner.open_session().await;
    runner.take().await;
    let refused = world.services.executions.detach(who("ann"), record.id).await.unwrap_err();
    assert!(matches!(refused, ApiError::FailedPrecondition { reason: "NO_BACKGROUND", .. }), "{refused:?}");
    assert_eq!(world.get(record.id).await.backgrounded, None);
}

#[tokio::test]
async fn a_profile_may_refuse_a_long_sleep_in_the_foreground() {
    let world = World::new().await;
    let _runner = Runner::ready(&world).await;
    let with =
        |profile: &str, command: &str| StartExecution { profile: Some(profile.to_owned()), ..alone(command) };
    for command in ["sleep 2", "sleep 1m && touch a", "sleep 1 1"] {
        let refused = world.services.executions.start(who("ann"), with("quiet", command)).await.unwrap_err();
        let ApiError::FailedPrecondition { reason: "FOREGROUND_SLEEP", message } = refused else {
            panic!("{refused:?}")
        };
        assert!(message.contains("`background`"), "{message}");
    }
    for command in ["sleep 1.9", "sleep $N", "touch a; sleep 9"] {
        start(&world, with("quiet", command)).await;
    }
    // The check is off unless the profile enables it, and never applies to commands in the background.
    start(&world, with("demo", "sleep 9")).await;
    start(&world, StartExecution { background: true, ..with("demo", "sleep 9") }).await;
}

#[tokio::test]
async fn a_silence_longer_than_the_profiles_time_is_refused() {
    let world = World::new().await;
    let _runner = Runner::ready(&world).await;
    let longer = TIMEOUT_MAX + Duration::from_secs(1);
    let request = within(longer, Some(longer), alone("touch a"));
    let refused = world.services.executions.start(who("ann"), request).await.unwrap_err();
    assert_eq!(fields(refused), ["spec.timeout", "spec.idle_timeout"], "all at once");
}
