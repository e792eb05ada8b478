//! Tests of the order of executions, and of many concurrent executions: each runs exactly once, and the number of slots is
//! never exceeded.

use std::{sync::Arc, time::Duration};

use airlock_domain::{Cause, DeniedBy, DirectoryReport, ExecutionResult, ExecutionState, JobPhase, StartJob};
use airlock_store::{
    PageQuery, SessionQuery,
    record::SessionRecord,
    testing::{PATIENCE, until},
};

use super::support::{Auto, Runner, World, alone, exited, hello, patient, run, who};
use crate::{
    api::{CreateSession, StartExecution},
    reconcile::reconcile_once,
};

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
    world.services.executions.start(who("ann"), opted_out).await.unwrap();
    let beside = runner.take().await;
    assert!(!beside.grant.keep_directory);
    // A read-only command that changes the directory is serial, and its directory is kept.
    world.start(&session, "cd src").await;
    runner.silence().await;
    runner.ends(&serial, 0).await;
    let moves = runner.take().await;
    assert!(moves.grant.read_only && moves.grant.keep_directory);
}

#[tokio::test]
async fn a_runner_is_given_no_more_than_it_has_slots() {
    let world = World::new().await;
    let mut one_slot = hello("r", airlock_domain::Epoch::new());
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
    let wait = Duration::from_secs(60);
    let world = World::with(|limits| limits.queue_wait = wait).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "touch a").await;
    let job = runner.take().await;
    let behind = world.start(&session, "touch b").await;
    world.pass(2 * wait).await;
    runner.silence().await;
    assert_eq!(world.get(behind.id).await.state, ExecutionState::Queued, "its own session is busy");
    runner.ends(&job, 0).await;
    assert_eq!(runner.take().await.execution_id, behind.id);

    let other = world.session(&mut runner).await;
    drop(runner);
    let stuck = world.start(&other, "touch c").await;
    until("it waits only for a runner", async || world.services.reconciler.transient.is_head(stuck.id)).await;
    world.pass(wait / 2).await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert_eq!(
        world.get(stuck.id).await.state,
        ExecutionState::Queued,
        "its time in the queue has not expired"
    );
    world.pass(wait).await;
    assert_eq!(world.cause(stuck.id).await, Cause::QueueExpired);
}

/// Opens a session of a profile that denies or asks about edits in some directories.
async fn in_rooms(world: &World, runner: &mut Runner) -> SessionRecord {
    let wanted = CreateSession { profile: Some("rooms".to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    session.unwrap()
}

async fn ends_in(runner: &mut Runner, job: &StartJob, directory: &str) {
    let result = ExecutionResult {
        directory: directory.as_bytes().to_vec(),
        directory_report: DirectoryReport::Reported,
        ..exited(0)
    };
    runner.report(job, JobPhase::Ended, Some(result)).await;
}

#[tokio::test]
async fn who_comes_to_the_head_is_decided_again_in_the_directory_of_then() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = in_rooms(&world, &mut runner).await;
    // The control: the directory has not changed.
    world.start(&session, "cd secrets").await;
    let first = runner.take().await;
    let stays = world.start(&session, "touch a").await;
    ends_in(&mut runner, &first, "/workspace").await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, stays.id);
    // In the new directory, the command is denied.
    let denied = world.start(&session, "touch b").await;
    ends_in(&mut runner, &job, "/workspace/secrets").await;
    let cause = world.cause(denied.id).await;
    assert!(matches!(cause, Cause::Denied { by: DeniedBy::Policy, .. }), "{cause:?}");
    assert_eq!(
        world.get(denied.id).await.spec.command.directory,
        b"/workspace/secrets",
        "the error names the place"
    );
    // If the policy asks about a command, it waits if its request permits it, and otherwise ends.
    world.start(&session, "cd /workspace").await;
    let back = runner.take().await;
    ends_in(&mut runner, &back, "/workspace").await;
    world.until_session(session.id, |session| session.directory == b"/workspace").await;
    world.start(&session, "cd lab").await;
    let moves = runner.take().await;
    let asks = world.services.executions.start(who("ann"), patient(session.id, "touch c")).await.unwrap();
    let ends = world.start(&session, "touch d").await;
    let passes = world.start(&session, "cd /workspace").await;
    assert_eq!((asks.state, ends.state), (ExecutionState::Queued, ExecutionState::Queued));
    ends_in(&mut runner, &moves, "/workspace/lab").await;
    let cause = world.cause(ends.id).await;
    assert!(matches!(cause, Cause::Denied { by: DeniedBy::NobodyToAsk, .. }), "{cause:?}");
    assert_eq!(
        runner.take().await.execution_id,
        passes.id,
        "no command waits for a command that waits for a person"
    );
    assert_eq!(world.get(asks.id).await.state, ExecutionState::PendingApproval);
}

#[tokio::test]
async fn a_rule_that_came_meanwhile_counts_for_what_waits() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = in_rooms(&world, &mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let waits = world.start(&session, "touch b").await;
    world.put_profile(
        "rooms",
        "name = \"rooms\"\nextends = \"demo\"\n[policy]\ndeny = [\"Bash(touch b:*)\"]\n",
    );
    runner.ends(&first, 0).await;
    let cause = world.cause(waits.id).await;
    assert!(matches!(cause, Cause::Denied { by: DeniedBy::Policy, .. }), "{cause:?}");
    let now = world.get(waits.id).await;
    assert_ne!(now.decision.policy_version, waits.decision.policy_version);
    // The control: the rule does not apply to other commands.
    let passes = world.start(&session, "touch c").await;
    assert_eq!(runner.take().await.execution_id, passes.id);
}

const WORKERS: usize = 16;
const EACH: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_at_a_time_each_runs_once() {
    let world = Arc::new(World::new().await);
    let runner = Auto::connect(&world, "r").await;
    let session = world.services.sessions.create(who("ann"), CreateSession::default()).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..WORKERS {
        let (world, session) = (world.clone(), session.id);
        workers.spawn(async move {
            let mut ids = Vec::new();
            for turn in 0..EACH {
                let key = Some(format!("{worker}-{turn}"));
                // Alternate: serial in the shared session, concurrent in it, and in a new session.
                let request = match turn % 3 {
                    0 => run(session, "touch a"),
                    1 => run(session, "ls"),
                    _ => alone("touch b"),
                };
                let request = StartExecution { request_id: key, ..request };
                let (first, twin) = tokio::join!(
                    world.services.executions.start(who("ann"), request.clone()),
                    world.services.executions.start(who("ann"), request),
                );
                let (first, twin) = (first.unwrap(), twin.unwrap());
                assert_eq!(first.id, twin.id, "one key, one execution");
                let done = world.services.executions.wait(who("ann"), first.id, PATIENCE).await.unwrap();
                assert_eq!(done.state, ExecutionState::Finished, "{done:?}");
                assert_eq!(done.result.unwrap().cause, Cause::Exited { code: 0 });
                ids.push(first.id);
            }
            ids
        });
    }
    let ids: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    {
        let ran = runner.ran.lock().unwrap();
        assert_eq!(ran.len(), ids.len());
        assert!(ids.iter().all(|id| ran[id] == 1), "each once");
        assert!(*runner.most.lock().unwrap() <= 4, "within its slots");
    }
    assert_eq!(world.store.live_executions(None, None, 1).await.unwrap(), []);
    let page = PageQuery { size: 1000, token: None };
    // The single-use sessions are removed as well. The shared session stays.
    until("no temporary session is left", async || {
        world.store.sessions(&SessionQuery::default(), &page).await.unwrap().items.len() == 1
    })
    .await;
    world.services.shut_down().await;
}
