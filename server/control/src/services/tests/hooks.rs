//! Tests of hooks: which answer has which effect, and that each question is asked once.

mod once;

use airlock_domain::{Cause, DeniedBy, ExecutionState, HookAnswer, HookOutcome, Mode};
use airlock_store::record::{ExecutionRecord, SessionRecord, Verdict};

use super::support::{Runner, World, denied, patient, run, who};
use crate::{
    api::{ApiError, CheckCommand, CreateSession, StartExecution},
    approval::ApproverAnswer,
};

/// A command about which no rule of the profiles decides.
const UNKNOWN: &str = "make all";

/// Asks `first` before each command that `strict` does not deny.
const HOOKED: &str = "name = \"own\"\nextends = \"strict\"\nhooks = [{ name = \"first\" }]\n\
    [policy]\nmodes = [\"bypass\", \"accept_edits\", \"default\", \"plan\"]\n\
    ask = [\"Bash(npm:*)\"]\ndeny = [\"Bash(git push:*)\"]\n[approvals]\nself_approval = true\n";

/// Asks both hooks, and requires the first.
const REQUIRED: &str = "name = \"own\"\nextends = \"strict\"\n\
    hooks = [{ name = \"first\", required = true }, { name = \"second\" }]\n";

async fn session_in(world: &World, runner: &mut Runner, mode: Mode) -> SessionRecord {
    let wanted =
        CreateSession { profile: Some("own".to_owned()), mode: Some(mode), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    session.unwrap()
}

/// Returns the fixture with the profile `own` of this text, and an open session.
async fn ready(profile: &str) -> (World, Runner, SessionRecord) {
    let world = World::new().await;
    world.put_profile("own", profile);
    let mut runner = Runner::ready(&world).await;
    let session = session_in(&world, &mut runner, Mode::Default).await;
    (world, runner, session)
}

async fn start(world: &World, request: StartExecution) -> Result<ExecutionRecord, ApiError> {
    world.services.executions.start(who("ann"), request).await
}

/// Returns the record of a start, also of a denied one.
async fn started(world: &World, request: StartExecution) -> ExecutionRecord {
    start(world, request).await.unwrap_or_else(|error| denied(error).0)
}

fn outcomes(record: &ExecutionRecord) -> Vec<(HookOutcome, bool)> {
    record.decision.hooks.iter().map(|answer| (answer.outcome, answer.in_effect)).collect()
}

#[tokio::test]
async fn each_outcome_has_its_effect_on_a_command_about_which_no_rule_decides() {
    let (world, _runner, session) = ready(HOOKED).await;
    for (outcome, state, code, in_effect) in [
        (HookOutcome::Allow, ExecutionState::Queued, "hook_allow", true),
        (HookOutcome::Ask, ExecutionState::PendingApproval, "hook_ask", true),
        (HookOutcome::Deny, ExecutionState::Finished, "hook_deny", true),
        (HookOutcome::None, ExecutionState::PendingApproval, "", false),
        (HookOutcome::Timeout, ExecutionState::PendingApproval, "", false),
        (HookOutcome::Unavailable, ExecutionState::PendingApproval, "", false),
        (HookOutcome::Invalid, ExecutionState::PendingApproval, "", false),
        (HookOutcome::Busy, ExecutionState::PendingApproval, "", false),
    ] {
        world.hooks.says("first", outcome);
        let record = started(&world, patient(session.id, UNKNOWN)).await;
        assert_eq!(record.state, state, "{outcome:?}");
        assert_eq!(outcomes(&record), [(outcome, in_effect)]);
        if in_effect {
            assert_eq!(record.decision.reason_code, code, "{outcome:?}");
            assert!(record.decision.reason_message.contains("first says so"), "{:?}", record.decision);
        } else {
            assert!(!record.decision.reason_code.starts_with("hook"), "{outcome:?}");
        }
        let audit = world.store.hook_audit(100).await.unwrap().pop().unwrap();
        assert_eq!((audit.execution_id, &audit.answer), (record.id, &record.decision.hooks[0]));
        let (_, question) = world.hooks.asked().pop().unwrap();
        assert!(question.allow_has_effect);
        assert_eq!(question.execution.command, UNKNOWN.as_bytes());
        assert_eq!((question.execution.principal.as_str(), question.execution.tenant.as_str()), ("ann", "t"));
    }
}

#[tokio::test]
async fn a_hook_cannot_allow_what_a_rule_or_a_check_asks_about_or_denies() {
    let (world, mut runner, session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Allow);
    for command in ["npm install", "touch /outside/x", "echo x >> .bashrc", "make 'unclosed"] {
        let record = started(&world, patient(session.id, command)).await;
        assert_eq!(record.state, ExecutionState::PendingApproval, "{command}");
        assert_eq!(outcomes(&record), [(HookOutcome::Allow, false)], "{command}");
        assert!(!world.hooks.asked().pop().unwrap().1.allow_has_effect, "{command}");
    }
    let asked = world.hooks.count();
    let plan = session_in(&world, &mut runner, Mode::Plan).await;
    for (session, command) in [(&session, "git push"), (&plan, UNKNOWN), (&plan, "touch a")] {
        let (record, _) = denied(start(&world, patient(session.id, command)).await.unwrap_err());
        assert_eq!((record.decision.verdict, outcomes(&record)), (Verdict::Deny, Vec::new()), "{command}");
    }
    assert_eq!(world.hooks.count(), asked, "no hook is asked about a denial");
}

#[tokio::test]
async fn a_hook_tightens_every_allow() {
    let (world, mut runner, session) = ready(HOOKED).await;
    let bypass = session_in(&world, &mut runner, Mode::Bypass).await;
    let edits = session_in(&world, &mut runner, Mode::AcceptEdits).await;
    let plan = session_in(&world, &mut runner, Mode::Plan).await;
    let allowed = [(&session, "ls"), (&bypass, UNKNOWN), (&edits, "touch a"), (&plan, "ls")];
    for (session, command) in allowed {
        world.hooks.says("first", HookOutcome::Ask);
        let asks = started(&world, patient(session.id, command)).await;
        assert_eq!(asks.state, ExecutionState::PendingApproval, "{command}");
        assert_eq!(asks.decision.reason_code, "hook_ask", "{command}");
        let (fails, approval_required) = denied(start(&world, run(session.id, command)).await.unwrap_err());
        assert!(approval_required, "{command}");
        assert_eq!(fails.decision.reason_code, "hook_ask");
        world.hooks.says("first", HookOutcome::Deny);
        let (no, _) = denied(start(&world, patient(session.id, command)).await.unwrap_err());
        assert_eq!(no.decision.reason_code, "hook_deny", "{command}");
        assert!(matches!(no.result.unwrap().cause, Cause::Denied { by: DeniedBy::Policy, .. }));
        world.hooks.says("first", HookOutcome::None);
        let control = started(&world, run(session.id, command)).await;
        assert_eq!(control.state, ExecutionState::Queued, "{command}");
    }
}

#[tokio::test]
async fn a_required_hook_without_a_valid_answer_denies() {
    let (world, _runner, session) = ready(REQUIRED).await;
    for outcome in [HookOutcome::Timeout, HookOutcome::Unavailable, HookOutcome::Invalid, HookOutcome::Busy] {
        world.hooks.says("first", outcome);
        let (record, _) = denied(start(&world, patient(session.id, "ls")).await.unwrap_err());
        assert_eq!(record.decision.reason_code, "hook_failed", "{outcome:?}");
        assert_eq!(outcomes(&record), [(outcome, true)], "the second hook is not asked");
    }
    world.hooks.says("first", HookOutcome::None);
    world.hooks.says("second", HookOutcome::Timeout);
    let record = started(&world, patient(session.id, "ls")).await;
    assert_eq!(record.state, ExecutionState::Queued, "the second hook is not required");
    assert_eq!(outcomes(&record), [(HookOutcome::None, false), (HookOutcome::Timeout, false)]);
}

#[tokio::test]
async fn hooks_are_asked_in_order_and_none_loosens_what_another_tightened() {
    let (world, _runner, session) = ready(REQUIRED).await;
    for (first, second, state, effects) in [
        (HookOutcome::Ask, HookOutcome::Allow, ExecutionState::PendingApproval, [true, false]),
        (HookOutcome::Allow, HookOutcome::Ask, ExecutionState::PendingApproval, [true, true]),
        (HookOutcome::Allow, HookOutcome::Deny, ExecutionState::Finished, [true, true]),
        (HookOutcome::Allow, HookOutcome::Allow, ExecutionState::Queued, [true, false]),
        (HookOutcome::None, HookOutcome::Allow, ExecutionState::Queued, [false, true]),
    ] {
        world.hooks.says("first", first);
        world.hooks.says("second", second);
        let record = started(&world, patient(session.id, UNKNOWN)).await;
        assert_eq!(record.state, state, "{first:?} {second:?}");
        assert_eq!(outcomes(&record), [(first, effects[0]), (second, effects[1])]);
        let asked = world.hooks.asked();
        let names: Vec<&str> = asked[asked.len() - 2..].iter().map(|(hook, _)| hook.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
    }
}

#[tokio::test]
async fn what_a_hook_allowed_is_placed_with_its_binding_and_what_it_asked_about_after_an_approval() {
    let (world, mut runner, session) = ready(HOOKED).await;
    world.hooks.says("first", HookOutcome::Allow);
    let record = started(&world, run(session.id, UNKNOWN)).await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, record.id);
    assert_eq!(job.binding, record.decision.hooks[0].binding.0);
    runner.ends(&job, 0).await;
    world.finished(record.id).await;

    world.hooks.says("first", HookOutcome::Ask);
    let record = started(&world, patient(session.id, "ls")).await;
    runner.silence().await;
    let approval = world.store.approval(record.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(approval.decision.hooks, record.decision.hooks, "approvers see the answer");
    let answer = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, answer).await.unwrap();
    let job = runner.take().await;
    assert_eq!(job.execution_id, record.id);
    assert_eq!(world.hooks.count(), 2, "the placement asks nobody again");
}

#[tokio::test]
async fn a_check_asks_no_hook_and_says_so() {
    let (world, _runner, session) = ready(HOOKED).await;
    let check = |command: &str| CheckCommand {
        command: command.as_bytes().to_vec(),
        session_id: Some(session.id),
        ..CheckCommand::default()
    };
    let codes = |decision: airlock_policy::Decision| -> Vec<&'static str> {
        decision.warnings.iter().map(|warning| warning.code).collect()
    };
    let decisions = &world.services.decisions;
    let (decision, _) = decisions.check(who("ann"), check("ls")).await.unwrap();
    assert_eq!(codes(decision), ["hooks_not_asked"]);
    let (decision, _) = decisions.check(who("ann"), check("git push")).await.unwrap();
    assert!(!codes(decision).contains(&"hooks_not_asked"), "no hook is asked about a denial");
    assert_eq!(world.hooks.count(), 0);
}

#[tokio::test]
async fn executions_without_the_hook_do_not_wait_for_a_slow_one() {
    let (world, mut runner, session) = ready(HOOKED).await;
    let other = world.session(&mut runner).await;
    world.hooks.holds("first");
    let waiting: Vec<_> = (0..64)
        .map(|_| {
            let executions = world.services.executions.clone();
            let request = patient(session.id, "ls");
            tokio::spawn(async move { executions.start(who("ann"), request).await })
        })
        .collect();
    world.hooks.until_asked(64).await;
    let quick = world.start(&other, "ls").await;
    let job = runner.take().await;
    assert_eq!(job.execution_id, quick.id);
    runner.ends(&job, 0).await;
    world.finished(quick.id).await;
    assert!(waiting.iter().all(|start| !start.is_finished()));
    world.hooks.says("first", HookOutcome::Ask);
    for start in waiting {
        assert_eq!(start.await.unwrap().unwrap().state, ExecutionState::PendingApproval);
    }
    assert_eq!(world.hooks.count(), 64);
}

/// Returns the answers about an execution in the audit.
async fn audited(world: &World, record: &ExecutionRecord) -> Vec<HookAnswer> {
    let all = world.store.hook_audit(1000).await.unwrap();
    all.into_iter().filter(|entry| entry.execution_id == record.id).map(|entry| entry.answer).collect()
}
