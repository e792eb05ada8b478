//! Tests of signals and of moving commands to the background.

use std::time::Duration;

use airlock_domain::{
    BackgroundedBy, CancelledBy, Cause, DirectoryReport, Epoch, ExecutionId, ExecutionResult, ExecutionState,
    JobPhase, Signal, ToRunner,
};

use super::support::{Runner, World, alone, exited, patient, run, stranger, who, within};
use crate::api::ApiError;

fn reason(error: ApiError) -> &'static str {
    match error {
        ApiError::FailedPrecondition { reason, .. } | ApiError::Unavailable { reason, .. } => reason,
        ApiError::NotFound { .. } => "NOT_FOUND",
        other => panic!("{other:?}"),
    }
}

async fn detach(world: &World, id: ExecutionId) -> airlock_store::record::ExecutionRecord {
    world.services.executions.detach(who("ann"), id).await.unwrap()
}

async fn expect_detach(runner: &mut Runner, id: ExecutionId) -> Duration {
    match runner.next().await {
        ToRunner::DetachJob { execution_id, timeout } if execution_id == id => timeout,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_signal_goes_to_the_runner_of_what_runs() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let seen = world.services.executions.signal(who("ann"), record.id, Signal::Int).await.unwrap();
    assert_eq!((seen.id, seen.state), (record.id, ExecutionState::Running));
    assert_eq!(runner.next().await, ToRunner::SignalJob { execution_id: record.id, signal: Signal::Int });
    let version = world.get(record.id).await.version;
    runner.ends(&job, 0).await;
    assert_eq!(world.finished(record.id).await.version, version + 1, "a signal is not a step");
}

#[tokio::test]
async fn only_what_runs_is_signalled_or_sent_to_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let asked = world.services.executions.start(who("ann"), patient(session.id, "make all")).await.unwrap();
    let first = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    let queued = world.start(&session, "touch b").await;
    let refused = async |id| {
        let signal = world.services.executions.signal(who("ann"), id, Signal::Term).await.unwrap_err();
        let detach = world.services.executions.detach(who("ann"), id).await.unwrap_err();
        (reason(signal), reason(detach))
    };
    let not_running = ("NOT_RUNNING", "NOT_RUNNING");
    for id in [asked.id, first.id, queued.id] {
        assert_eq!(refused(id).await, not_running, "{:?}", world.get(id).await.state);
    }
    runner.accept(&job).await;
    runner.runs(&job).await;
    let theirs = world.services.executions.signal(stranger(), first.id, Signal::Kill).await.unwrap_err();
    assert_eq!(reason(theirs), "NOT_FOUND");
    let theirs = world.services.executions.detach(stranger(), first.id).await.unwrap_err();
    assert_eq!(reason(theirs), "NOT_FOUND");
    runner.ends(&job, 0).await;
    world.finished(first.id).await;
    assert_eq!(refused(first.id).await, not_running);
    assert_eq!(refused(ExecutionId::new()).await, ("NOT_FOUND", "NOT_FOUND"));
}

#[tokio::test]
async fn a_signal_that_cannot_be_sent_says_so() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    let signal =
        async || world.services.executions.signal(who("ann"), record.id, Signal::Hup).await.unwrap_err();
    drop(runner);
    assert_eq!(reason(signal().await), "RUNNER_UNREACHABLE");
    // A new epoch of the runner does not have the job, and has not reported that yet.
    let mut other = Runner::again(&world, Epoch::new()).await;
    assert_eq!(reason(signal().await), "RUNNER_UNREACHABLE");
    other.silence().await;
}

#[tokio::test]
async fn the_background_leaves_the_order_and_has_the_profiles_time() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let first = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let second = world.start(&session, "touch b").await;
    runner.silence().await;
    let after = detach(&world, first.id).await;
    assert_eq!((after.state, after.backgrounded), (ExecutionState::Running, Some(BackgroundedBy::Client)));
    // The messages can arrive in either order.
    let (mut told, mut started) = (None, None);
    for _ in 0..2 {
        match runner.next().await {
            ToRunner::DetachJob { execution_id, timeout } if execution_id == first.id => told = Some(timeout),
            ToRunner::StartJob(job) => started = Some(*job),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, Some(airlock_domain::limits::TIMEOUT_MAX), "the request has no timeout");
    let beside = started.unwrap();
    assert_eq!(beside.execution_id, second.id);
    assert!(beside.grant.keep_directory, "the next command is in the order as usual");
    runner.accept(&beside).await;
    runner.runs(&beside).await;

    assert_eq!(detach(&world, first.id).await.version, after.version, "a repeated call has no effect");
    runner.silence().await;
    let third = world.start(&session, "touch c").await;
    runner.ends(&job, 0).await;
    world.finished(first.id).await;
    runner.silence().await;
    assert_eq!(world.get(third.id).await.state, ExecutionState::Queued, "the second still has the order");
}

#[tokio::test]
async fn a_time_that_the_request_gave_stays() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let timeout = Duration::from_secs(7);
    let request = within(timeout, None, run(session.id, "touch a"));
    let record = world.services.executions.start(who("ann"), request).await.unwrap();
    runner.take().await;
    detach(&world, record.id).await;
    assert_eq!(expect_detach(&mut runner, record.id).await, timeout);
}

#[tokio::test]
async fn a_directory_from_the_background_moves_no_session_by_result_or_by_link() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let moved = |directory: &[u8]| ExecutionResult {
        directory: directory.to_vec(),
        directory_report: DirectoryReport::Reported,
        ..exited(0)
    };
    let first = world.start(&session, "cd a").await;
    let job = runner.take().await;
    detach(&world, first.id).await;
    expect_detach(&mut runner, first.id).await;
    // The runner reports a directory, because it has not processed the move.
    runner.report(&job, JobPhase::Ended, Some(moved(b"/workspace/a"))).await;
    let ended = world.finished(first.id).await.result.unwrap();
    assert_eq!(ended.directory_report, DirectoryReport::NotKept);
    let directory = async || world.store.session(session.id).await.unwrap().unwrap().directory;
    assert_eq!(directory().await, b"/workspace");
    drop(runner);
    let mut runner = Runner::again(&world, job.epoch).await;
    runner.has_session_in(session.id, b"/workspace/a").await;
    runner.reconciled().await;
    assert_eq!(directory().await, b"/workspace");
    // The controls: a foreground command and a reset directory do move the session.
    let second = world.start(&session, "cd b").await;
    let job = runner.take().await;
    runner.report(&job, JobPhase::Ended, Some(moved(b"/workspace/b"))).await;
    world.finished(second.id).await;
    assert_eq!(directory().await, b"/workspace/b");
    runner.has_session_in(session.id, b"/workspace").await;
    assert_eq!(directory().await, b"/workspace/b", "not before the refusal with the reason");
    world.start(&session, "touch c").await;
    let job = runner.next_job().await;
    runner.has_session_in(session.id, b"/workspace").await;
    runner.refuses(&job, "no_such_directory").await;
    assert_eq!(directory().await, b"/workspace");
    assert_eq!(runner.next_job().await.grant.command.directory, b"/workspace");
}

#[tokio::test]
async fn what_its_runner_was_not_told_it_is_told_on_its_next_link() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    drop(runner);
    let after = detach(&world, record.id).await;
    assert!(after.backgrounded.is_some(), "no runner is needed for this");
    let mut runner = Runner::again(&world, job.epoch).await;
    runner.runs(&job).await;
    expect_detach(&mut runner, record.id).await;
    runner.reconciled().await;
    runner.runs(&job).await;
    runner.silence().await;
}

#[tokio::test]
async fn a_server_that_dies_before_it_tells_the_runner_does_so_in_its_next_life() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let detached = airlock_store::Transition {
        backgrounded: Some(BackgroundedBy::Client),
        ..airlock_store::Transition::default()
    };
    // The step that the server completed before it died.
    let running = world.get(record.id).await;
    world.store.transition(record.id, running.version, &detached).await.unwrap();
    world.restart().await;
    let mut runner = Runner::again(&world, job.epoch).await;
    runner.runs(&job).await;
    expect_detach(&mut runner, record.id).await;
}

#[tokio::test]
async fn a_caller_that_leaves_midway_leaves_the_rest_to_the_poll() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    let running = world.get(record.id).await;
    let detached = airlock_store::Transition {
        backgrounded: Some(BackgroundedBy::Client),
        ..airlock_store::Transition::default()
    };
    world.store.transition(record.id, running.version, &detached).await.unwrap();
    expect_detach(&mut runner, record.id).await;
}

#[tokio::test]
async fn a_throwaway_session_lives_as_long_as_its_command_in_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap();
    runner.open_session().await;
    let job = runner.take().await;
    detach(&world, record.id).await;
    expect_detach(&mut runner, record.id).await;
    runner.silence().await;
    runner.ends(&job, 0).await;
    world.finished(record.id).await;
    assert_eq!(runner.close_session().await, record.session_id);
}

#[tokio::test]
async fn a_client_that_leaves_does_not_end_what_was_sent_to_the_background() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    detach(&world, record.id).await;
    expect_detach(&mut runner, record.id).await;
    let gone =
        world.services.executions.cancel(who("ann"), record.id, CancelledBy::Disconnect).await.unwrap();
    assert!(!gone.cancel_requested);
    runner.silence().await;
    // The control: an explicit cancel request takes effect.
    world.cancel(record.id).await;
    assert_eq!(runner.expect_end(record.id).await, Cause::Cancelled(CancelledBy::Client));
}

#[tokio::test]
async fn of_an_end_and_a_detach_the_first_to_be_written_wins() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    for _ in 0..20 {
        let record = world.start(&session, "touch a").await;
        let job = loop {
            match runner.next().await {
                ToRunner::StartJob(job) => break *job,
                ToRunner::DetachJob { .. } => {}
                other => panic!("{other:?}"),
            }
        };
        runner.accept(&job).await;
        runner.runs(&job).await;
        let (detached, ()) =
            tokio::join!(world.services.executions.detach(who("ann"), record.id), runner.ends(&job, 0));
        let ended = world.finished(record.id).await;
        assert_eq!(detached.is_ok(), ended.backgrounded.is_some());
        if let Err(error) = detached {
            assert_eq!(reason(error), "NOT_RUNNING");
        }
        world.store_output(record.id).await;
    }
}
