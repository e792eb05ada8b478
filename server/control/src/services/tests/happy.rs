//! Tests of the regular path of a request, and of requests that are answered at once.

use airlock_domain::{
    Cause, DeniedBy, DirectoryReport, ExecutionResult, ExecutionState, FromRunner, LinkState, Mode,
    OutputState, Started, ToRunner,
};
use airlock_store::{
    ExecutionQuery, PageQuery,
    record::{SessionState, Verdict},
    testing::PATIENCE,
};

use super::support::{Runner, World, alone, denied, run, stranger, who, within};
use crate::api::{ApiError, CheckCommand, CreateSession, StartExecution};

const PAGE: PageQuery = PageQuery { size: 10, token: None };

#[tokio::test]
async fn a_command_goes_from_start_to_end_and_the_output_keeper_is_told() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    assert_eq!((session.state, session.directory.as_slice()), (SessionState::Open, b"/workspace".as_slice()));

    let record = world.start(&session, "touch a").await;
    assert_eq!((record.state, record.decision.verdict), (ExecutionState::Queued, Verdict::Allow));
    let job = runner.next_job().await;
    assert_eq!((job.execution_id, job.attempt, job.epoch), (record.id, 1, runner.epoch));
    assert_eq!(job.grant.command.text, b"touch a");
    assert_eq!(job.grant.command.directory, b"/workspace");
    assert_eq!(job.binding, job.grant.binding());
    assert!(job.grant.keep_directory && !job.grant.read_only);
    assert!(job.not_after_clock_ms > 1000, "on the runner's clock");
    assert_eq!(job.traceparent, "00-trace");

    runner.accept(&job).await;
    assert_eq!(world.get(record.id).await.state, ExecutionState::Starting);
    runner.runs(&job).await;
    let running = world.get(record.id).await;
    assert_eq!((running.state, running.link), (ExecutionState::Running, Some(LinkState::Connected)));
    assert_eq!(running.output, OutputState::Live);
    runner.ends(&job, 3).await;
    let done = world.services.executions.wait(who("ann"), record.id, PATIENCE).await.unwrap();
    let result = done.result.unwrap();
    assert_eq!(
        (done.state, result.cause, result.started),
        (ExecutionState::Finished, Cause::Exited { code: 3 }, Started::Yes)
    );
    assert_eq!(*world.keeper.ended.lock().unwrap(), [record.id]);

    let audit = world.store.audit(0, 10).await.unwrap();
    let [entry] = audit.as_slice() else { panic!("{audit:?}") };
    assert_eq!((entry.cause.as_str(), entry.started.as_str()), ("EXITED", "YES"));
    assert!(entry.closed.is_some());
}

#[tokio::test]
async fn what_policy_denies_is_finished_at_once_and_audited_and_needs_no_runner() {
    let world = World::new().await;
    for (command, by, approval_required) in
        [("git push", DeniedBy::Policy, false), ("make all", DeniedBy::NobodyToAsk, true)]
    {
        let error = world.services.executions.start(who("ann"), alone(command)).await.unwrap_err();
        let (execution, asked) = denied(error);
        assert_eq!(asked, approval_required);
        assert_eq!(execution.state, ExecutionState::Finished);
        let result = execution.result.unwrap();
        assert!(matches!(result.cause, Cause::Denied { by: said, .. } if said == by), "{:?}", result.cause);
        assert_eq!(result.started, Started::No);
    }
    let audit = world.store.audit(0, 10).await.unwrap();
    assert_eq!(audit.len(), 2);
    assert!(audit.iter().all(|entry| entry.closed.is_some() && entry.cause == "DENIED"));
}

#[tokio::test]
async fn the_same_key_and_request_give_the_same_execution_and_another_request_a_conflict() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let keyed =
        |command: &str| StartExecution { request_id: Some("k".to_owned()), ..run(session.id, command) };

    let first = world.services.executions.start(who("ann"), keyed("touch a")).await.unwrap();
    let again = world.services.executions.start(who("ann"), keyed("touch a")).await.unwrap();
    assert_eq!(first.id, again.id);
    let error = world.services.executions.start(who("ann"), keyed("touch b")).await.unwrap_err();
    assert!(matches!(error, ApiError::AlreadyExists { ref request_id } if request_id == "k"), "{error:?}");
    // Keys are separate per principal.
    let other = world.services.executions.start(who("bob"), keyed("touch b")).await.unwrap();
    assert_ne!(other.id, first.id);

    let key = |command: &str| StartExecution { request_id: Some("denied".to_owned()), ..alone(command) };
    let (first, _) = denied(world.services.executions.start(who("ann"), key("git push")).await.unwrap_err());
    let (again, _) = denied(world.services.executions.start(who("ann"), key("git push")).await.unwrap_err());
    assert_eq!(first.id, again.id, "a denial is repeated, too");
}

#[tokio::test]
async fn a_request_without_a_session_gets_one_that_ends_with_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap();
    runner.open_session().await;
    let job = runner.take().await;
    runner.ends(&job, 0).await;
    assert_eq!(runner.close_session().await, record.session_id);
    let session = world.services.sessions.get(who("ann"), record.session_id).await.unwrap();
    assert_eq!((session.state, session.throwaway), (SessionState::Closed, true));
}

#[tokio::test]
async fn without_a_runner_or_the_base_asked_for_the_answer_says_so() {
    let world = World::new().await;
    let error = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "NO_RUNNER", .. }), "{error:?}");

    let _runner = Runner::ready(&world).await;
    let request = CreateSession { base: Some("nowhere".to_owned()), ..CreateSession::default() };
    let error = world.services.sessions.create(who("ann"), request).await.unwrap_err();
    assert!(matches!(error, ApiError::FailedPrecondition { reason: "NO_SUCH_BASE", .. }), "{error:?}");
}

#[tokio::test]
async fn a_session_is_made_once_for_its_key_and_closed_with_what_runs_in_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let request = CreateSession {
        request_id: Some("s".to_owned()),
        base: Some("repo".to_owned()),
        ..CreateSession::default()
    };
    let (first, asked) = tokio::join!(world.services.sessions.create(who("ann"), request.clone()), async {
        let asked = runner.next().await;
        let ToRunner::OpenSession { session_id, .. } = &asked else { panic!("{asked:?}") };
        runner.opened(*session_id).await;
        asked
    });
    let first = first.unwrap();
    assert_eq!(asked, ToRunner::OpenSession { session_id: first.id, base: "repo".to_owned(), profile: None });
    let again = world.services.sessions.create(who("ann"), request.clone()).await.unwrap();
    assert_eq!(again.id, first.id);
    let other = CreateSession { base: None, ..request };
    let error = world.services.sessions.create(who("ann"), other).await.unwrap_err();
    assert!(matches!(error, ApiError::AlreadyExists { .. }), "{error:?}");

    let running = world.start(&first, "touch a").await;
    let queued = world.start(&first, "touch b").await;
    let job = runner.take().await;
    let (closed, ()) = tokio::join!(world.services.sessions.close(who("ann"), first.id), async {
        let cause = runner.expect_end(running.id).await;
        let cancelled = ExecutionResult { started: Started::Yes, ..ExecutionResult::not_started(cause) };
        runner.report(&job, airlock_domain::JobPhase::Ended, Some(cancelled)).await;
        runner.close_session().await;
    });
    assert_eq!(closed.unwrap().state, SessionState::Closed);
    let by_session = Cause::Cancelled(airlock_domain::CancelledBy::Session);
    assert_eq!(world.cause(running.id).await, by_session);
    assert_eq!(world.cause(queued.id).await, by_session);
    let error = world.services.executions.start(who("ann"), run(first.id, "touch c")).await.unwrap_err();
    assert!(matches!(error, ApiError::FailedPrecondition { reason: "SESSION_CLOSED", .. }), "{error:?}");
    assert_eq!(
        world.services.sessions.close(who("ann"), first.id).await.unwrap().state,
        SessionState::Closed
    );
}

#[tokio::test]
async fn another_tenants_things_are_not_there() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    let eve = stranger();
    let not_found = |error: ApiError| matches!(error, ApiError::NotFound { .. });
    let services = &world.services;
    assert!(not_found(services.sessions.get(eve, session.id).await.unwrap_err()));
    assert!(not_found(services.sessions.close(eve, session.id).await.unwrap_err()));
    assert!(not_found(services.executions.start(eve, run(session.id, "touch a")).await.unwrap_err()));
    assert!(not_found(services.executions.get(eve, record.id).await.unwrap_err()));
    assert!(not_found(
        services.executions.cancel(eve, record.id, airlock_domain::CancelledBy::Client).await.unwrap_err()
    ));
    assert!(not_found(services.executions.wait(eve, record.id, PATIENCE).await.unwrap_err()));
    let check = CheckCommand { session_id: Some(session.id), ..CheckCommand::default() };
    assert!(not_found(services.decisions.check(eve, check).await.unwrap_err()));
    let query = ExecutionQuery { tenant: Some("t".to_owned()), ..ExecutionQuery::default() };
    assert!(services.executions.list(eve, query, &PAGE).await.unwrap().items.is_empty());
    assert_eq!(
        services.executions.list(who("ann"), ExecutionQuery::default(), &PAGE).await.unwrap().items.len(),
        1
    );
}

#[tokio::test]
async fn every_bad_field_is_named() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let request = CreateSession { mode: Some(Mode::Default), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), request), runner.open_session());
    let bad = StartExecution {
        mode: Some(Mode::Bypass),
        ..within(std::time::Duration::from_secs(7200), None, run(session.unwrap().id, "touch a"))
    };
    let ApiError::Invalid(fields) = world.services.executions.start(who("ann"), bad).await.unwrap_err()
    else {
        panic!("valid?")
    };
    let fields: Vec<_> = fields.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["spec.mode", "spec.timeout"]);
    let request = CreateSession { profile: Some("sandboxed".to_owned()), ..CreateSession::default() };
    let error = world.services.sessions.create(who("ann"), request).await.unwrap_err();
    assert!(matches!(error, ApiError::NotFound { what: "profile", .. }), "not among the caller's: {error:?}");
}

#[tokio::test]
async fn check_decides_and_changes_nothing() {
    let world = World::new().await;
    let check =
        |command: &str| CheckCommand { command: command.as_bytes().to_vec(), ..CheckCommand::default() };
    let (decision, profile) = world.services.decisions.check(who("ann"), check("git push")).await.unwrap();
    assert_eq!((decision.verdict, profile.as_str()), (airlock_policy::Verdict::Deny, "demo"));
    let (decision, _) = world.services.decisions.check(who("ann"), check("ls")).await.unwrap();
    assert_eq!((decision.verdict, decision.read_only), (airlock_policy::Verdict::Allow, true));
    assert!(world.store.audit(0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_directory_goes_from_command_to_command() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "cd src").await;
    let job = runner.take().await;
    let moved = ExecutionResult {
        directory: b"/workspace/src".to_vec(),
        directory_report: DirectoryReport::Reported,
        ..super::support::exited(0)
    };
    runner.report(&job, airlock_domain::JobPhase::Ended, Some(moved)).await;
    world.start(&session, "touch a").await;
    assert_eq!(runner.next_job().await.grant.command.directory, b"/workspace/src");
    runner.say(FromRunner::Heartbeat { clock_ms: 2000, running: 1 }).await;
}

/// Each field that the hash of a request for a session does not cover. A retry with another value gets the first session.
#[tokio::test]
async fn a_session_is_the_same_whatever_its_unbound_fields_are() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let mut made = Vec::new();
    for field in CreateSession::UNBOUND.iter().map(|one| Some(one.field)).chain([None]) {
        let mut request = CreateSession::default();
        match field {
            None => {}
            Some("request_id") => request.request_id = Some("k".to_owned()),
            Some("labels") => request.labels = [("a".to_owned(), "b".to_owned())].into(),
            Some(name) => panic!("no test shows why `{name}` need not be bound"),
        }
        let created = world.services.sessions.create(who("ann"), request);
        let (session, ()) = tokio::join!(created, runner.open_session());
        let session = session.unwrap();
        let place = (session.base, session.runner_labels, session.directory, session.idle_timeout);
        made.push((session.profile, session.mode, session.shell, session.env, place, session.request_hash));
    }
    assert!(made.windows(2).all(|two| two[0] == two[1]), "{made:?}");
}
