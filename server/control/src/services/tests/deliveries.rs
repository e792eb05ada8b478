//! Tests of the delivery of results to hooks, from the end of an execution to its report.

use std::time::Duration;

use airlock_domain::{Cause, DeniedBy, ExecutionState, HookOutcome};
use airlock_store::record::{ExecutionRecord, SessionRecord};

use super::support::{Runner, World, denied, run, who};
use crate::api::CreateSession;

const HOOKED: &str =
    "name = \"own\"\nextends = \"strict\"\nhooks = [{ name = \"first\" }, { name = \"second\" }]\n";

/// Returns the fixture with the profile `own`, and an open session.
async fn ready() -> (World, Runner, SessionRecord) {
    let world = World::new().await;
    world.put_profile("own", HOOKED);
    let mut runner = Runner::ready(&world).await;
    let wanted = CreateSession { profile: Some("own".to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    (world, runner, session.unwrap())
}

/// Waits until both hooks have accepted everything.
async fn settled(world: &World) {
    let owed = async {
        for hook in ["first", "second"] {
            while world.store.oldest_delivery(hook).await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    tokio::time::timeout(airlock_store::testing::PATIENCE, owed).await.unwrap();
}

/// Runs a command to its end.
async fn ran(world: &World, runner: &mut Runner, session: &SessionRecord) -> ExecutionRecord {
    let record = world.start(session, "echo here").await;
    let job = runner.take().await;
    runner.ends(&job, 3).await;
    world.finished(record.id).await
}

#[tokio::test]
async fn each_hook_that_was_asked_gets_the_result() {
    let (world, mut runner, session) = ready().await;
    let record = ran(&world, &mut runner, &session).await;
    let sent = world.hooks.until_sent(2).await;
    settled(&world).await;
    let mut hooks: Vec<&str> = sent.iter().map(|(hook, _)| hook.as_str()).collect();
    hooks.sort_unstable();
    assert_eq!(hooks, ["first", "second"]);
    for (_, report) in &sent {
        assert_eq!((report.state, report.attempt), (ExecutionState::Finished, 1));
        assert_eq!(report.result.cause, Cause::Exited { code: 3 });
        assert_eq!((Some(report.finished), &report.decision), (record.ended, &record.decision.encoded));
        let asked = &world.hooks.asked()[0].1.execution;
        assert_eq!(report.execution, *asked, "the same execution as in the question");
    }
    assert_eq!(world.hooks.until_sent(2).await.len(), 2, "once each");
}

#[tokio::test]
async fn a_denied_execution_is_reported_to_the_hooks_that_were_asked() {
    let (world, _runner, session) = ready().await;
    world.hooks.says("first", HookOutcome::Deny);
    let refused = world.services.executions.start(who("ann"), run(session.id, "echo here")).await;
    let (record, _) = denied(refused.unwrap_err());
    let sent = world.hooks.until_sent(1).await;
    settled(&world).await;
    let [(hook, report)] = &sent[..] else { panic!("{sent:?}") };
    assert_eq!((hook.as_str(), report.execution.execution_id), ("first", record.id));
    assert!(matches!(report.result.cause, Cause::Denied { by: DeniedBy::Policy, .. }), "{report:?}");
}

#[tokio::test]
async fn a_refused_result_is_sent_again_by_the_next_server() {
    let (mut world, mut runner, session) = ready().await;
    world.hooks.refuses(true);
    let record = ran(&world, &mut runner, &session).await;
    world.hooks.until_sent(2).await;
    world.restart().await;
    world.hooks.refuses(false);
    world.pass(Duration::from_secs(3600)).await;
    let sent = world.hooks.until_sent(4).await;
    settled(&world).await;
    for hook in ["first", "second"] {
        let of_hook = sent.iter().filter(|(name, _)| name == hook);
        let attempts: Vec<u32> = of_hook.clone().map(|(_, report)| report.attempt).collect();
        assert!(attempts.len() > 1 && attempts.is_sorted(), "{attempts:?}");
        assert!(of_hook.map(|(_, report)| report.execution.execution_id).all(|id| id == record.id));
    }
}
