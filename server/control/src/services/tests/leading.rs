//! Tests of changes while commands wait: a session's mode, and the draining of its runner.

use std::time::Duration;

use airlock_domain::{Cause, DeniedBy, ExecutionState, FromRunner, Mode, NetworkRules, ToRunner};
use airlock_store::{NetworkChange, record::SessionRecord};

use super::support::{Runner, World, alone, denied, run, stranger, who};
use crate::{
    api::{ApiError, CreateSession, StartExecution, UpdateSession},
    runners::{RunnerState, RunnerView},
};

fn mode(mode: Mode) -> UpdateSession {
    UpdateSession { mode: Some(mode), ..UpdateSession::default() }
}

async fn update(world: &World, session: &SessionRecord, change: UpdateSession) -> SessionRecord {
    world.services.sessions.update(who("ann"), session.id, change).await.unwrap()
}

#[tokio::test]
async fn what_waits_is_decided_again_by_a_mode_that_became_tighter() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let writes = world.start(&session, "touch b").await;
    let moves = world.start(&session, "cd src").await;
    assert_eq!(update(&world, &session, mode(Mode::Plan)).await.mode, Mode::Plan);
    runner.ends(&first, 0).await;
    let cause = world.cause(writes.id).await;
    assert!(matches!(cause, Cause::Denied { by: DeniedBy::Policy, .. }), "{cause:?}");
    assert_eq!(runner.take().await.execution_id, moves.id, "read-only commands may run in it");
    let no = world.services.executions.start(who("ann"), run(session.id, "touch c")).await.unwrap_err();
    assert!(!denied(no).1);
}

#[tokio::test]
async fn a_mode_that_became_looser_does_not_loosen_what_waits() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let own = StartExecution { mode: Some(Mode::Plan), ..run(session.id, "cd src && ls") };
    let tight = world.services.executions.start(who("ann"), own).await.unwrap();
    update(&world, &session, mode(Mode::AcceptEdits)).await;
    runner.ends(&first, 0).await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, tight.id);
    assert!(job.grant.read_only);
}

#[tokio::test]
async fn an_update_is_of_an_open_session_of_ones_own_and_within_the_profile() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let idle = UpdateSession { idle_timeout: Some(Duration::from_secs(5)), ..UpdateSession::default() };
    let after = update(&world, &session, idle.clone()).await;
    assert_eq!((after.idle_timeout, after.mode), (Duration::from_secs(5), session.mode));
    let refused =
        async |who, change| world.services.sessions.update(who, session.id, change).await.unwrap_err();
    assert!(matches!(refused(stranger(), idle.clone()).await, ApiError::NotFound { .. }));
    // A profile that permits no other mode.
    let reads = CreateSession { profile: Some("strict".to_owned()), ..CreateSession::default() };
    let (strict, ()) = tokio::join!(world.services.sessions.create(who("ann"), reads), runner.open_session());
    let strict = strict.unwrap();
    let profiles = crate::profiles::Profiles::builtin();
    for wanted in [Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Plan] {
        let done = world.services.sessions.update(who("ann"), strict.id, mode(wanted)).await;
        assert_eq!(done.is_ok(), profiles.get("strict").unwrap().permits(wanted), "{wanted:?}: {done:?}");
        if let Err(error) = done {
            assert!(matches!(error, ApiError::Invalid(_)), "{error:?}");
        }
    }
    let (closed, _) =
        tokio::join!(world.services.sessions.close(who("ann"), session.id), runner.close_session());
    closed.unwrap();
    let error = refused(who("ann"), idle).await;
    assert!(matches!(error, ApiError::FailedPrecondition { reason: "SESSION_CLOSED", .. }), "{error:?}");
}

#[tokio::test]
async fn what_waits_gets_the_network_that_the_session_has_at_its_turn() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let only = |allow: &[&str]| {
        let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
        NetworkRules { allow, ..NetworkRules::default() }
    };
    let set = |rules| UpdateSession { network: Some(NetworkChange::Set(rules)), ..UpdateSession::default() };
    let closed = world.session(&mut runner).await;
    let refused = world.services.sessions.update(who("ann"), closed.id, set(only(&["a.example"]))).await;
    assert!(matches!(refused, Err(ApiError::Invalid(_))), "the profile has no network: {refused:?}");

    world.put_profile("own", "name = \"own\"\nextends = \"demo\"\nnetwork.allow = [\"a.example\"]\n");
    let wanted = CreateSession {
        profile: Some("own".to_owned()),
        network: Some(only(&["a.example", "b.example"])),
        ..CreateSession::default()
    };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    let session = session.unwrap();
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    assert_eq!(first.grant.egress, [only(&["a.example"]), only(&["a.example", "b.example"])]);
    runner.new_network().await;
    world.start(&session, "touch b").await;
    world.start(&session, "touch c").await;
    assert_eq!(update(&world, &session, set(only(&[]))).await.network, Some(only(&[])));
    runner.new_network().await;
    runner.ends(&first, 0).await;
    let second = runner.take().await;
    runner.new_network().await;
    assert_eq!(second.grant.egress, [], "the session allows nothing now");
    let reset = UpdateSession { network: Some(NetworkChange::Reset), ..UpdateSession::default() };
    assert_eq!(update(&world, &session, reset).await.network, None);
    runner.new_network().await;
    runner.ends(&second, 0).await;
    assert_eq!(runner.take().await.grant.egress, [only(&["a.example"])]);
}

#[tokio::test]
async fn an_update_that_changes_nothing_is_a_use_all_the_same() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let after = update(&world, &session, UpdateSession::default()).await;
    assert!(after.last_used > session.last_used);
}

async fn drain(world: &World, runner: &mut Runner, undo: bool) -> RunnerView {
    let id = "r".parse().unwrap();
    let answer = async {
        assert_eq!(runner.next().await, ToRunner::Drain { undo });
        runner.say(FromRunner::Draining { over: undo }).await;
    };
    let (view, ()) = tokio::join!(world.services.runners.drain(&id, undo), answer);
    view.unwrap()
}

#[tokio::test]
async fn a_draining_runner_finishes_what_it_has_and_is_given_nothing_until_it_is_undone() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let first = world.start(&session, "touch a").await;
    let job = runner.take().await;
    let waits = world.start(&session, "touch b").await;
    let view = drain(&world, &mut runner, false).await;
    assert_eq!((view.state, view.running), (RunnerState::Draining, 1));

    let error = world.services.executions.start(who("ann"), run(session.id, "touch c")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_DRAINING", .. }), "{error:?}");
    let no = world.services.executions.start(who("ann"), run(session.id, "git push")).await.unwrap_err();
    denied(no);
    let error = world.services.executions.start(who("ann"), alone("touch c")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unavailable { reason: "NO_RUNNER", .. }), "{error:?}");
    runner.ends(&job, 0).await;
    world.finished(first.id).await;
    runner.silence().await;
    assert_eq!(world.get(waits.id).await.state, ExecutionState::Queued, "it existed before");

    let view = drain(&world, &mut runner, true).await;
    // The waiting command may already be on its way.
    assert_eq!(view.state, RunnerState::Connected);
    assert_eq!(runner.take().await.execution_id, waits.id);
}

#[tokio::test]
async fn a_runner_that_is_unknown_away_or_silent_is_said_to_be() {
    let world = World::with(|limits| limits.drain_wait = Duration::from_millis(200)).await;
    let id = "r".parse().unwrap();
    let error = world.services.runners.drain(&id, false).await.unwrap_err();
    assert!(matches!(error, ApiError::NotFound { what: "runner", .. }), "{error:?}");
    let unreachable = async || {
        let error = world.services.runners.drain(&id, false).await.unwrap_err();
        assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
    };
    let runner = Runner::ready(&world).await;
    unreachable().await;
    drop(runner);
    unreachable().await;
}
