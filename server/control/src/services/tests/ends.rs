//! Tests of executions that end early: cancelled, refused, lost.

use std::time::Duration;

use airlock_domain::{
    CancelledBy, Cause, DirectoryReport, ExecutionResult, ExecutionState, FromRunner, JobPhase, LinkState,
    OutputState, SessionSnapshot, Started, ToRunner,
};
use airlock_store::{
    Transition,
    record::SessionState,
    testing::{self, PATIENCE},
};

use super::support::{Runner, World, alone, exited, who};
use crate::{
    api::{ApiError, CreateSession},
    reconcile::reconcile_once,
};

const BY_CLIENT: Cause = Cause::Cancelled(CancelledBy::Client);

fn cancelled(started: Started) -> ExecutionResult {
    ExecutionResult { started, ..ExecutionResult::not_started(BY_CLIENT) }
}

#[tokio::test]
async fn a_cancel_in_the_queue_ends_at_once() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let job = runner.take().await;
    let queued = world.start(&session, "touch b").await;
    let record = world.cancel(queued.id).await;
    assert_eq!(record.state, ExecutionState::Finished);
    assert_eq!(record.result, Some(cancelled(Started::No)));
    runner.ends(&job, 0).await;
    runner.silence().await;
    assert_eq!(world.cancel(queued.id).await.version, record.version, "and has no effect the second time");
}

#[tokio::test]
async fn a_cancel_of_what_runs_is_passed_on_and_the_runner_says_how_it_ended() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let asked = world.cancel(record.id).await;
    assert_eq!((asked.state, asked.cancel_requested), (ExecutionState::Running, true));
    assert_eq!(runner.expect_end(record.id).await, BY_CLIENT);
    runner.report(&job, JobPhase::Ended, Some(cancelled(Started::Yes))).await;
    assert_eq!(world.finished(record.id).await.result, Some(cancelled(Started::Yes)));

    // A cancel request after the end has no effect.
    let record = world.start(&session, "touch b").await;
    let job = runner.take().await;
    runner.ends(&job, 0).await;
    world.cancel(record.id).await;
    assert_eq!(world.cause(record.id).await, Cause::Exited { code: 0 });
}

#[tokio::test]
async fn a_cancel_between_offer_and_answer_reaches_the_runner_after_the_offer() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    assert_eq!(world.cancel(record.id).await.state, ExecutionState::Starting);
    assert_eq!(runner.expect_end(record.id).await, BY_CLIENT);
    runner.report(&job, JobPhase::Refused, Some(cancelled(Started::No))).await;
    assert_eq!(world.finished(record.id).await.result, Some(cancelled(Started::No)));
}

#[tokio::test]
async fn a_cancel_while_the_link_is_away_is_passed_on_when_it_is_back() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let epoch = runner.epoch;
    drop(runner);
    world.until_true(record.id, |record| record.link == Some(LinkState::Unreachable)).await;
    assert!(world.cancel(record.id).await.cancel_requested);
    let mut runner = Runner::again(&world, epoch).await;
    runner.runs(&job).await;
    assert_eq!(runner.expect_end(record.id).await, BY_CLIENT);
    runner.report(&job, JobPhase::Ended, Some(cancelled(Started::Yes))).await;
    assert_eq!(world.cause(record.id).await, BY_CLIENT);
}

#[tokio::test]
async fn a_refusal_that_passes_is_offered_again_and_any_other_is_the_end() {
    let world = World::with(|limits| limits.attempts = 3).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    for attempt in 1..=3 {
        let job = runner.next_job().await;
        assert_eq!((job.execution_id, job.attempt), (record.id, attempt));
        runner.refuses(&job, "past_not_after").await;
    }
    let refused = Cause::refused("past_not_after", "no".to_owned());
    assert_eq!(world.cause(record.id).await, refused);
    assert!(matches!(runner.next().await, ToRunner::ForgetJob { .. }));

    let record = world.start(&session, "touch b").await;
    let job = runner.next_job().await;
    runner.refuses(&job, "floor").await;
    let refused = Cause::refused("floor", "no".to_owned());
    let result = world.finished(record.id).await.result.unwrap();
    assert_eq!((result.cause, result.started), (refused, Started::No));
}

#[tokio::test]
async fn a_session_that_cannot_be_made_ends_what_waits_for_it() {
    use airlock_domain::{FromRunner, SessionPhase, SessionReport, ToRunner};
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap();
    let ToRunner::OpenSession { session_id, .. } = runner.next().await else {
        panic!("no session was requested")
    };
    let phase = SessionPhase::Failed { reason: "disk".to_owned(), message: "the disk is full".to_owned() };
    runner.say(FromRunner::Session(SessionReport { session_id, phase: phase.clone() })).await;
    let refused = Cause::refused("disk", "the disk is full".to_owned());
    assert_eq!(world.cause(record.id).await, refused);

    let request = CreateSession::default();
    let ann = who("ann");
    let (made, ()) = tokio::join!(world.services.sessions.create(ann, request), async {
        let ToRunner::OpenSession { session_id, .. } = runner.next().await else {
            panic!("no session was requested")
        };
        runner.say(FromRunner::Session(SessionReport { session_id, phase })).await;
    });
    let error = made.unwrap_err();
    assert!(
        matches!(&error, ApiError::FailedPrecondition { message, .. } if message.contains("the disk is full")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_runner_that_stays_away_is_lost_with_all_that_it_ran_and_its_late_word_changes_no_result() {
    // The maximum grace period of the built-in profiles is 5 s. After the sum of all three, no command can run.
    let lost_after = Duration::from_millis(125_300);
    let world = World::with(|limits| {
        limits.heartbeat_timeout = PATIENCE;
        limits.link_grace = Duration::from_millis(100);
        limits.lost_after = lost_after;
    })
    .await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let queued = world.start(&session, "touch b").await;
    let (other, third) = (world.session(&mut runner).await, world.session(&mut runner).await);
    let offered = world.start(&other, "touch c").await;
    let accepted_unheard = runner.next_job().await;
    let never_arrived = world.start(&third, "touch d").await;
    runner.next_job().await;
    let epoch = runner.epoch;
    drop(runner);
    world.until_true(record.id, |record| record.link == Some(LinkState::Unreachable)).await;
    world.pass(lost_after / 2).await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert_eq!(
        world.get(record.id).await.state,
        ExecutionState::Running,
        "the loss is not reported too early"
    );
    world.pass(lost_after).await;
    let lost = world.finished(record.id).await.result.unwrap();
    assert_eq!((lost.cause.clone(), lost.started), (Cause::RunnerLost, Started::Yes));
    for id in [offered.id, never_arrived.id] {
        let lost = world.finished(id).await;
        let result = lost.result.unwrap();
        assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Unknown));
        assert_eq!(lost.output, OutputState::Live, "the command may have written output");
    }
    assert_eq!(*world.keeper.ended.lock().unwrap(), [], "no runner can return the output");
    let never = world.finished(queued.id).await.result.unwrap();
    assert_eq!((never.cause, never.started), (Cause::RunnerLost, Started::No));
    let session = world.services.sessions.get(who("ann"), session.id).await.unwrap();
    assert_eq!(
        (session.state, session.state_message.as_str()),
        (SessionState::Lost, "its runner did not return in time")
    );

    let mut runner = Runner::again(&world, epoch).await;
    runner.ends(&job, 0).await;
    assert_eq!(world.cause(record.id).await, Cause::RunnerLost);
    runner.ends(&accepted_unheard, 0).await;
    assert_eq!(world.cause(offered.id).await, Cause::RunnerLost);
    assert_eq!(*world.keeper.ended.lock().unwrap(), [record.id, offered.id], "but its output is stored");
    runner.reconciled().await;
    assert!(
        world.keeper.ended.lock().unwrap().contains(&never_arrived.id),
        "also for jobs that it does not report"
    );
    let sessions = [runner.close_session().await, runner.close_session().await, runner.close_session().await];
    assert!(sessions.contains(&session.id), "and the remains of its sessions are removed");
}

#[tokio::test]
async fn a_cancel_that_crossed_a_refusal_is_not_lost_in_the_queue() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    let asked = world.cancel(record.id).await;
    runner.expect_end(record.id).await;
    // A refusal does this if it read the record just before the cancel request was written.
    let back = Transition { state: Some(ExecutionState::Queued), ..Transition::default() };
    world.store.transition(record.id, asked.version, &back).await.unwrap();
    assert_eq!(world.cause(record.id).await, BY_CLIENT);
    runner.refuses(&job, "no_slots").await;
    assert!(matches!(runner.next().await, ToRunner::ForgetJob { .. }), "it was not offered again");
}

#[tokio::test]
async fn an_idle_session_is_closed() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let idle = Duration::from_secs(600);
    let request = CreateSession { idle_timeout: Some(idle), ..CreateSession::default() };
    let ann = who("ann");
    let (session, ()) = tokio::join!(world.services.sessions.create(ann, request), runner.open_session());
    let id = session.unwrap().id;
    world.pass(idle / 2).await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert_eq!(world.services.sessions.get(who("ann"), id).await.unwrap().state, SessionState::Open);
    world.pass(idle).await;
    assert_eq!(runner.close_session().await, id);
    let session = world.services.sessions.get(who("ann"), id).await.unwrap();
    assert_eq!(
        (session.state, session.state_message.as_str()),
        (SessionState::Closed, "it exceeded its idle timeout")
    );
}

#[tokio::test]
async fn a_directory_that_is_gone_is_set_back_and_the_command_decided_again() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "cd src").await;
    let job = runner.take().await;
    let moved = ExecutionResult {
        directory: b"/workspace/src".to_vec(),
        directory_report: DirectoryReport::Reported,
        ..exited(0)
    };
    runner.report(&job, JobPhase::Ended, Some(moved)).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    assert_eq!(job.grant.command.directory, b"/workspace/src");
    // A runner without the directory does this.
    runner.opened(session.id).await;
    runner.refuses(&job, "no_such_directory").await;
    let again = runner.take().await;
    assert_eq!((again.execution_id, again.attempt), (record.id, 2));
    assert_eq!(again.grant.command.directory, b"/workspace");
    assert_eq!(world.get(record.id).await.spec.command.directory, b"/workspace");
}

#[tokio::test]
async fn a_lost_snapshot_causes_a_decision_without_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap();
    let ToRunner::OpenSession { session_id, .. } = runner.next().await else {
        panic!("no session was requested")
    };
    let made = SessionSnapshot { text: b"# PATH=/usr/bin\nalias a=b\n".to_vec(), problem: String::new() };
    runner.opened_with(session_id, made.clone()).await;
    let job = runner.next_job().await;
    assert_eq!(job.grant.snapshot_digest, made.digest());
    // A different snapshot is never accepted from a runner.
    let other = SessionSnapshot { text: b"alias a=c\n".to_vec(), problem: String::new() };
    runner.opened_with(session_id, other).await;
    runner.opened_with(session_id, SessionSnapshot::missing("it was changed on the disk")).await;
    runner.refuses(&job, "no_snapshot").await;
    let again = runner.take().await;
    assert_eq!((again.execution_id, again.attempt), (record.id, 2));
    assert!(again.grant.snapshot_digest.is_empty());
    let session = world.services.sessions.get(who("ann"), session_id).await.unwrap();
    assert_eq!(session.snapshot, SessionSnapshot::missing("it was changed on the disk"));
}

#[tokio::test]
async fn a_session_that_its_runner_does_not_have_is_lost_and_says_so() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    runner.refuses(&job, "no_such_session").await;
    assert!(matches!(world.cause(record.id).await, Cause::Refused { .. }));
    assert_eq!(world.services.sessions.get(who("ann"), session.id).await.unwrap().state, SessionState::Lost);

    assert!(matches!(runner.next().await, ToRunner::ForgetJob { .. }));

    let other = world.session(&mut runner).await;
    world.held.lock().unwrap().clear();
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.reconciled().await;
    let other = world.services.sessions.get(who("ann"), other.id).await.unwrap();
    assert_eq!(other.state, SessionState::Lost);
    assert_eq!(other.state_message, "its runner no longer has it");
}

/// The server repeats a reconciliation if the store failed before its end.
#[tokio::test]
async fn a_repeated_reconciliation_loses_no_session() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let before = world.session(&mut runner).await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.reconciled().await;
    let after = world.session(&mut runner).await;
    runner.say(FromRunner::Reconciled).await;
    runner.answer_probes().await;
    for id in [before.id, after.id] {
        let session = world.services.sessions.get(who("ann"), id).await.unwrap();
        assert_eq!(session.state, SessionState::Open, "{}", session.state_message);
    }
}

#[tokio::test]
async fn a_refusal_because_it_was_accepted_before_does_not_claim_that_nothing_ran() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.next_job().await;
    runner.refuses(&job, "already_accepted").await;
    assert_eq!(world.finished(record.id).await.result.unwrap().started, Started::Unknown);
}

#[tokio::test]
async fn an_output_whose_runner_never_returns_is_lost_in_the_end() {
    // Longer than the time that a new server waits for its runners.
    const AWAY: Duration = Duration::from_secs(4 * 3600);
    let world = World::with(|limits| {
        limits.outputs_lost_after = AWAY;
    })
    .await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let job = runner.take().await;
    runner.ends(&job, 0).await;
    assert_eq!(world.finished(record.id).await.output, OutputState::Live);
    drop(runner);
    world.pass(AWAY + Duration::from_secs(1)).await;
    // The regular check is too infrequent for a test.
    testing::until("the output is lost", async || {
        reconcile_once(&world.services.reconciler).await.unwrap();
        world.get(record.id).await.output == OutputState::Lost
    })
    .await;
}
