//! Tests of queued executions after a change of their inputs: the verdict, the position, and the resulting directory.

use airlock_domain::{
    Capability, Cause, DeniedBy, Epoch, ExecutionState, RunnerHello, SessionId, SessionSnapshot, ToRunner,
};
use airlock_store::record::{ExecutionRecord, SessionRecord};

use super::support::{Runner, World, alone, hello, patient, run, who};
use crate::{
    api::{CreateSession, StartExecution},
    approval::ApproverAnswer,
};

const ASKS: &str = "name = \"own\"\nextends = \"demo\"\n[policy]\nask = [\"Bash(touch:*)\"]\n";
const OUTSIDE: &str = "name = \"own\"\nextends = \"demo\"\n[policy]\nallow_unsandboxed = true\n\
    unsandboxed_without_asking = true\nexcluded_commands = [\"ls\"]\n";
const ALLOWS: &str = "name = \"own\"\nextends = \"demo\"\n[policy]\nallow = [\"Bash(touch:*)\"]\n";

async fn own(world: &World, runner: &mut Runner) -> SessionRecord {
    let wanted = CreateSession { profile: Some("own".to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    session.unwrap()
}

async fn waits(world: &World, session: SessionId, command: &str) -> ExecutionRecord {
    let record = world.services.executions.start(who("ann"), patient(session, command)).await.unwrap();
    assert_eq!(record.state, ExecutionState::Queued, "{command}");
    record
}

async fn allow(world: &World, record: &ExecutionRecord) {
    let now = world.get(record.id).await;
    let approval = world.store.approval(now.approval_id.unwrap()).await.unwrap().unwrap();
    let answer = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, answer).await.unwrap();
}

fn aliases(text: &str) -> SessionSnapshot {
    SessionSnapshot { text: format!("# PATH=/usr/bin\n{text}\n").into_bytes(), problem: String::new() }
}

#[tokio::test]
async fn a_rule_that_asks_now_returns_it_to_a_person_or_ends_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = own(&world, &mut runner).await;
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let asks = waits(&world, session.id, "touch b").await;
    let ends = world.start(&session, "touch c").await;
    let passes = world.start(&session, "mkdir d").await;
    world.put_profile("own", ASKS);
    runner.ends(&first, 0).await;
    let cause = world.cause(ends.id).await;
    assert!(matches!(cause, Cause::Denied { by: DeniedBy::NobodyToAsk, .. }), "{cause:?}");
    let next = runner.take().await;
    assert_eq!(next.execution_id, passes.id, "no command waits for a command that waits for a person");
    let pending = world.until(asks.id, ExecutionState::PendingApproval).await;
    assert_eq!(pending.decision.reason_code, "ask_rule");
    // After the approval it is queued again, behind the running command.
    allow(&world, &asks).await;
    runner.silence().await;
    runner.ends(&next, 0).await;
    assert_eq!(runner.take().await.execution_id, asks.id);
}

#[tokio::test]
async fn a_rule_that_allows_now_leaves_a_question_open_and_holds_up_nobody() {
    let world = World::new().await;
    world.put_profile("own", ASKS);
    let mut runner = Runner::ready(&world).await;
    let session = own(&world, &mut runner).await;
    let asked = world.services.executions.start(who("ann"), patient(session.id, "touch a")).await.unwrap();
    assert_eq!(asked.state, ExecutionState::PendingApproval);
    world.put_profile("own", ALLOWS);
    let free = world.start(&session, "touch b").await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, free.id);
    runner.ends(&job, 0).await;
    assert_eq!(world.get(asked.id).await.state, ExecutionState::PendingApproval, "the question is answered");
    allow(&world, &asked).await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, asked.id);
}

#[tokio::test]
async fn an_approved_command_joins_the_queue_when_it_is_approved() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let asked = world.services.executions.start(who("ann"), patient(session.id, "make all")).await.unwrap();
    world.start(&session, "touch a").await;
    let first = runner.take().await;
    let before = world.start(&session, "touch b").await;
    allow(&world, &asked).await;
    let after = world.start(&session, "touch c").await;
    let mut job = first;
    for next in [before.id, asked.id, after.id] {
        runner.ends(&job, 0).await;
        job = runner.take().await;
        assert_eq!(job.execution_id, next);
    }
}

#[tokio::test]
async fn a_snapshot_that_makes_it_another_command_counts() {
    for (alias, denies) in [("alias touch='git push'", true), ("alias other='git push'", false)] {
        let world = World::new().await;
        let mut runner = Runner::ready(&world).await;
        // The command is decided before its session and snapshot exist.
        let record = world.services.executions.start(who("ann"), alone("touch a")).await.unwrap();
        let ToRunner::OpenSession { session_id, .. } = runner.next().await else {
            panic!("no session was requested")
        };
        runner.opened_with(session_id, aliases(alias)).await;
        if denies {
            let cause = world.cause(record.id).await;
            assert!(matches!(cause, Cause::Denied { by: DeniedBy::Policy, .. }), "{cause:?}");
        } else {
            assert_eq!(runner.take().await.execution_id, record.id, "the control");
        }
    }
}

#[tokio::test]
async fn what_is_no_longer_safe_beside_others_takes_its_turn() {
    let world = World::new().await;
    let key = Capability { name: "unsandboxed".to_owned(), enforced: true, detail: String::new() };
    let two = RunnerHello { slots: 2, capabilities: vec![key], ..hello("r", Epoch::new()) };
    let mut runner = Runner::connect(&world, two).await.unwrap();
    runner.reconciled().await;
    let [here, there] = [own(&world, &mut runner).await, own(&world, &mut runner).await];
    world.start(&here, "touch a").await;
    let ahead = runner.take().await;
    world.start(&there, "touch b").await;
    let elsewhere = runner.take().await;
    let waits = world.start(&here, "ls").await;
    assert!(waits.decision.concurrency_safe && waits.state == ExecutionState::Queued, "it waits for a slot");
    // From now on it runs outside the sandbox, where no command is read-only.
    world.put_profile("own", OUTSIDE);
    runner.ends(&elsewhere, 0).await;
    world.until_true(waits.id, |now| !now.decision.concurrency_safe).await;
    runner.silence().await;
    runner.ends(&ahead, 0).await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, waits.id);
    assert!(job.grant.unsandboxed && job.grant.keep_directory);
}

#[tokio::test]
async fn only_what_takes_its_turn_moves_the_session() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let beside = StartExecution { allow_concurrent: true, ..run(session.id, "touch a") };
    let started = [
        world.services.executions.start(who("ann"), beside).await.unwrap(),
        world.start(&session, "ls").await,
        // The first two do not block it.
        world.start(&session, "touch b").await,
    ];
    let mut jobs = Vec::new();
    for _ in &started {
        jobs.push(runner.take().await);
    }
    let job_of = |id| jobs.iter().find(|job| job.execution_id == id).unwrap();
    for record in &started[..2] {
        // The session's directory does not change, regardless of the runner's report.
        runner.ends_elsewhere(job_of(record.id)).await;
        world.finished(record.id).await;
        let now = world.store.session(session.id).await.unwrap().unwrap();
        assert_eq!(now.directory, b"/workspace");
    }
    runner.ends_elsewhere(job_of(started[2].id)).await;
    world.until_session(session.id, |session| session.directory == b"/workspace/elsewhere").await;
}
