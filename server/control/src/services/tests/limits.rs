//! Tests of limits, which are reported by name, and of a server that stops.

use std::{collections::HashSet, time::Duration};

use airlock_domain::{CancelledBy, ExecutionId, FromRunner};
use airlock_store::{record::SessionState, testing::PATIENCE};

use super::support::{Runner, World, alone, who};
use crate::{
    api::{ApiError, CreateSession, UpdateSession},
    reconcile::reconcile_once,
};

fn limit(error: &ApiError) -> &'static str {
    match error {
        ApiError::Exhausted { limit, .. } => limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn sessions_of_a_tenant_are_limited_and_a_repeated_request_still_finds_its_own() {
    let world = World::with(|limits| limits.sessions_per_tenant = 1).await;
    let mut runner = Runner::ready(&world).await;
    let request = CreateSession { request_id: Some("s".to_owned()), ..CreateSession::default() };
    let ann = who("ann");
    let (first, ()) =
        tokio::join!(world.services.sessions.create(ann, request.clone()), runner.open_session());
    let error = world.services.sessions.create(ann, CreateSession::default()).await.unwrap_err();
    assert_eq!(limit(&error), "sessions_per_tenant");
    assert_eq!(
        limit(&world.services.executions.start(ann, alone("touch a")).await.unwrap_err()),
        "sessions_per_tenant"
    );
    let again = world.services.sessions.create(ann, request).await.unwrap();
    assert_eq!(again.id, first.unwrap().id);
}

#[tokio::test]
async fn policy_works_beside_the_threads_that_serve() {
    let world = World::new().await;
    let (say, heard) = std::sync::mpsc::sync_channel(1);
    let judged = world.services.decisions.judge("t", move || heard.recv_timeout(PATIENCE).is_ok());
    // The runtime has one thread, so this fails if the policy blocks it.
    let (judged, ()) = tokio::join!(judged, async move { say.send(()).unwrap() });
    assert!(judged.unwrap());
}

#[tokio::test]
async fn executions_are_limited_by_tenant_and_by_session() {
    let world = World::with(|limits| {
        limits.executions_per_tenant = 3;
        limits.executions_per_session = 2;
    })
    .await;
    let mut runner = Runner::ready(&world).await;
    let (first, second) = (world.session(&mut runner).await, world.session(&mut runner).await);
    for _ in 0..2 {
        world.start(&first, "touch a").await;
    }
    let start = |session: &airlock_store::record::SessionRecord| super::support::run(session.id, "touch b");
    let error = world.services.executions.start(who("ann"), start(&first)).await.unwrap_err();
    assert_eq!(limit(&error), "executions_per_session");
    world.start(&second, "touch a").await;
    let error = world.services.executions.start(who("ann"), start(&second)).await.unwrap_err();
    assert_eq!(limit(&error), "executions_per_tenant");
}

#[tokio::test]
async fn denials_are_limited_and_cost_no_start() {
    let world = World::with(|limits| limits.denials_per_second = 1).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let deny = || world.services.executions.start(who("ann"), super::support::run(session.id, "git push"));
    let mut error = deny().await.unwrap_err();
    while matches!(error, ApiError::Denied { .. }) {
        error = deny().await.unwrap_err();
    }
    assert_eq!(limit(&error), "denials_per_second");
    world.start(&session, "touch a").await;
}

#[tokio::test]
async fn the_queue_of_all_tenants_is_limited_and_what_has_left_it_does_not_count() {
    let world = World::with(|limits| limits.queue = 1).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    for command in ["touch a", "touch b", "touch c"] {
        let record = world.start(&session, command).await;
        let job = runner.take().await;
        assert_eq!(job.execution_id, record.id);
        runner.ends(&job, 0).await;
    }
    drop(runner);
    let start =
        |command| world.services.executions.start(who("ann"), super::support::run(session.id, command));
    let (one, other) = tokio::join!(start("touch d"), start("touch e"));
    // Concurrent requests do not exceed the limit either.
    let refused: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.iter().map(limit).collect::<Vec<_>>(), ["queue"]);
}

#[tokio::test]
async fn a_stopping_server_takes_nothing_new_and_gives_back_what_it_drove() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    runner.take().await;
    world.services.shut_down().await;
    let error = world.services.executions.start(who("ann"), alone("touch b")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }), "{error:?}");
    let record = world.get(record.id).await;
    assert!(record.lease_until <= world.store.now().await.unwrap(), "another server can take it at once");
    assert!(runner.handle.received(FromRunner::Reconciled).await.is_err());
    assert!(world.services.lifecycle.has_ended());
}

#[tokio::test]
async fn nothing_is_remembered_of_what_is_gone() {
    let world = World::new().await;
    // Stop the server's own reconciliation.
    world.services.lifecycle.stop();
    world.services.lifecycle.wait().await;
    let transient = &world.services.reconciler.transient;
    let (alive, gone) = (ExecutionId::new(), ExecutionId::new());
    for id in [alive, gone] {
        transient.note_cancel(id, CancelledBy::Client);
    }
    let live = HashSet::from([alive]);
    transient.prune(&live);
    assert!(transient.cancelled_by(gone).is_some(), "the job may be too new for the list");
    transient.prune(&live);
    assert!(transient.cancelled_by(gone).is_none() && transient.cancelled_by(alive).is_some());
}

#[tokio::test]
async fn a_session_is_not_idle_while_its_files_are_worked_on() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let [first, second] = [(); 2].map(|()| world.services.sessions.in_use(who("ann"), session.id));
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    let short = UpdateSession { idle_timeout: Some(Duration::from_millis(1)), ..UpdateSession::default() };
    world.services.sessions.update(who("ann"), session.id, short).await.unwrap();
    let state = async || {
        tokio::time::sleep(Duration::from_millis(20)).await;
        reconcile_once(&world.services.reconciler).await.unwrap();
        world.store.session(session.id).await.unwrap().unwrap().state
    };
    assert_eq!(state().await, SessionState::Open);
    drop(first);
    assert_eq!(state().await, SessionState::Open);
    drop(second);
    assert_eq!(state().await, SessionState::Closing, "control: no other lease keeps it");
}
