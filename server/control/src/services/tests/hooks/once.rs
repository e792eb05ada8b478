//! Tests that a question is asked once: repeated requests, other servers, restarts and new bindings.

use std::time::Duration;

use airlock_domain::{ExecutionState, HookOutcome, Mode};
use airlock_store::record::Verdict;

use super::{HOOKED, REQUIRED, UNKNOWN, audited, outcomes, ready, session_in, start, started};
use crate::{
    api::{ApiError, StartExecution},
    approval::ApproverAnswer,
    services::tests::support::{Runner, World, alone, hello, patient, run, who},
};

/// A request without a session, which gets a session of its own.
fn keyed(key: &str, command: &str) -> StartExecution {
    StartExecution {
        request_id: Some(key.to_owned()),
        profile: Some("own".to_owned()),
        wait_for_approval: true,
        ..alone(command)
    }
}

#[tokio::test]
async fn a_repeated_request_asks_nobody_again() {
    let (world, _runner, _session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Ask);
    let first = start(&world, keyed("k", UNKNOWN)).await.unwrap();
    let again = start(&world, keyed("k", UNKNOWN)).await.unwrap();
    assert_eq!((again.id, world.hooks.count()), (first.id, 1));
    let error = start(&world, keyed("k", "make other")).await.unwrap_err();
    assert!(matches!(error, ApiError::AlreadyExists { .. }), "{error:?}");
}

#[tokio::test]
async fn concurrent_requests_with_one_key_ask_once_on_every_server() {
    let (world, runner, _session) = ready(HOOKED).await;
    let other = world.another("server-2").await;
    let mut second = Runner::to(&other, &world, hello("r", runner.epoch)).await.unwrap();
    second.reconciled().await;
    world.hooks.holds("first");
    let starts: Vec<_> = (0..6)
        .map(|index| {
            let services = if index % 2 == 0 { &world.services } else { &other };
            let executions = services.executions.clone();
            tokio::spawn(async move { executions.start(who("ann"), keyed("k", UNKNOWN)).await })
        })
        .collect();
    world.hooks.until_asked(1).await;
    let conflict = start(&world, keyed("k", "make other")).await.unwrap_err();
    assert!(matches!(conflict, ApiError::AlreadyExists { .. }), "{conflict:?}");
    world.hooks.says("first", HookOutcome::Ask);
    let mut ids = Vec::new();
    for start in starts {
        ids.push(start.await.unwrap().unwrap().id);
    }
    ids.dedup();
    assert_eq!((ids.len(), world.hooks.count()), (1, 1));
    other.shut_down().await;
}

#[tokio::test]
async fn a_request_that_was_cut_off_is_repeated_with_the_answer_that_came_meanwhile() {
    let (world, _runner, _session) = ready(HOOKED).await;
    world.hooks.holds("first");
    let executions = world.services.executions.clone();
    let cut = tokio::spawn(async move { executions.start(who("ann"), keyed("k", UNKNOWN)).await });
    world.hooks.until_asked(1).await;
    cut.abort();
    let _ = cut.await;
    world.hooks.says("first", HookOutcome::Allow);
    let record = start(&world, keyed("k", UNKNOWN)).await.unwrap();
    assert_eq!((record.state, world.hooks.count()), (ExecutionState::Queued, 1));
    assert_eq!(outcomes(&record), [(HookOutcome::Allow, true)]);
    assert_eq!(audited(&world, &record).await, record.decision.hooks);
}

#[tokio::test]
async fn a_question_whose_server_stopped_counts_as_unanswered_and_is_not_asked_again() {
    for (profile, verdict) in [(HOOKED, Verdict::Ask), (REQUIRED, Verdict::Deny)] {
        let (mut world, runner, _session) = ready(profile).await;
        world.hooks.holds("first");
        let executions = world.services.executions.clone();
        let cut = tokio::spawn(async move { executions.start(who("ann"), keyed("k", UNKNOWN)).await });
        world.hooks.until_asked(1).await;
        world.restart().await;
        let mut runner = Runner::again(&world, runner.epoch).await;
        runner.reconciled().await;
        let error = cut.await.unwrap().unwrap_err();
        assert!(matches!(error, ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }), "{error:?}");
        world.pass(Duration::from_secs(3600)).await;
        let record = started(&world, keyed("k", UNKNOWN)).await;
        assert_eq!(record.decision.verdict, verdict);
        assert_eq!(record.decision.hooks[0].outcome, HookOutcome::Unavailable);
        assert_eq!(world.hooks.asked().iter().filter(|(hook, _)| hook == "first").count(), 1);
        assert_eq!(audited(&world, &record).await[0], record.decision.hooks[0]);
    }
}

#[tokio::test]
async fn a_restart_reuses_the_answer() {
    let (mut world, runner, session) = ready(HOOKED).await;
    let epoch = runner.epoch;
    drop(runner);
    world.hooks.says("first", HookOutcome::Allow);
    let record = started(&world, run(session.id, UNKNOWN)).await;
    world.hooks.says("first", HookOutcome::Deny);
    world.restart().await;
    let mut runner = Runner::again(&world, epoch).await;
    runner.reconciled().await;
    let lost = runner.next_job().await;
    assert_eq!(lost.execution_id, record.id);
    world.restart().await;
    let mut runner = Runner::again(&world, epoch).await;
    runner.reconciled().await;
    let job = runner.take().await;
    assert_eq!((job.execution_id, job.attempt), (record.id, lost.attempt), "the same offer is sent again");
    assert_eq!(world.hooks.count(), 1);
}

#[tokio::test]
async fn an_allow_does_not_count_for_another_binding_and_the_hook_is_asked_once_more() {
    let (world, mut runner, session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Allow);
    let before = started(&world, run(session.id, "make one")).await;
    let job = runner.take().await;
    let record = started(&world, patient(session.id, UNKNOWN)).await;
    world.hooks.says("first", HookOutcome::None);
    runner.ends_elsewhere(&job).await;
    world.finished(before.id).await;
    let record = world.until(record.id, ExecutionState::PendingApproval).await;
    assert_eq!(outcomes(&record), [(HookOutcome::None, false)]);
    assert_eq!(world.hooks.count(), 3);
    let (_, question) = world.hooks.asked().pop().unwrap();
    assert_eq!(question.execution.directory, b"/workspace/elsewhere");
    assert_eq!(question.execution.execution_id, record.id);
    let approval = world.store.approval(record.approval_id.unwrap()).await.unwrap().unwrap();
    let answer = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, answer).await.unwrap();
    assert_eq!(runner.take().await.execution_id, record.id);
    assert_eq!(world.hooks.count(), 3, "once per binding");
}

#[tokio::test]
async fn an_answer_that_tightens_stays_in_force_for_another_binding() {
    let (world, mut runner, session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Allow);
    let before = started(&world, run(session.id, "make one")).await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, before.id);
    world.hooks.says("first", HookOutcome::Ask);
    let asks = started(&world, patient(session.id, UNKNOWN)).await;
    let approval = world.store.approval(asks.approval_id.unwrap()).await.unwrap().unwrap();
    let answer = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, answer).await.unwrap();
    world.until(asks.id, ExecutionState::Queued).await;
    // The directory of the approved command changes before its turn.
    world.hooks.says("first", HookOutcome::Allow);
    runner.ends_elsewhere(&job).await;
    let again = world.until(asks.id, ExecutionState::PendingApproval).await;
    assert_eq!(again.decision.reason_code, "hook_ask");
    assert_eq!(outcomes(&again), [(HookOutcome::Ask, true), (HookOutcome::Allow, false)]);
    assert_ne!(again.approval_id, asks.approval_id);
}

#[tokio::test]
async fn a_queue_does_not_wait_for_the_hook_of_another_session() {
    let (world, mut runner, session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Allow);
    started(&world, run(session.id, "make one")).await;
    let job = runner.take().await;
    let record = started(&world, run(session.id, UNKNOWN)).await;
    world.hooks.holds("first");
    runner.ends_elsewhere(&job).await;
    world.hooks.until_asked(3).await;
    let other = world.session(&mut runner).await;
    let quick = world.start(&other, "ls").await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, quick.id, "the hook still holds its question");
    assert_eq!(world.get(record.id).await.state, ExecutionState::Queued);
    world.hooks.says("first", HookOutcome::Allow);
    assert_eq!(runner.take().await.execution_id, record.id);
    assert_eq!(world.hooks.count(), 3);
}

#[tokio::test]
async fn a_start_over_a_limit_asks_nobody() {
    let world = World::with(|limits| limits.executions_per_session = 1).await;
    world.put_profile("own", HOOKED);
    let mut runner = Runner::ready(&world).await;
    let session = session_in(&world, &mut runner, Mode::Default).await;
    started(&world, run(session.id, "ls")).await;
    let asked = world.hooks.count();
    let error = start(&world, run(session.id, "ls")).await.unwrap_err();
    assert!(matches!(error, ApiError::Exhausted { .. }), "{error:?}");
    assert_eq!(world.hooks.count(), asked);
}
