//! Tests of hooks over TLS, from a client's request to the decision that it sees and the audit.

use std::fs;

use airlock_domain::HookOutcome;
use airlock_hooks::testing::{TestAnswer, TestHook};
use airlock_proto::{
    hooks_v1::HookOpinion,
    v1::{
        self, execution_service_client::ExecutionServiceClient, policy_service_client::PolicyServiceClient,
    },
};
use airlock_store::{HookStore as _, record::HookRecord, sqlite::SqliteStore};
use tempfile::TempDir;
use tokio::time::timeout;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::{
    PATIENCE,
    edge::{
        runner::{Link, link_up},
        runs::{get, request, spec},
        until,
        world::World,
    },
};

/// A command about which no rule of `strict` decides.
const UNKNOWN: &str = "make all";

/// Returns sections of a configuration whose default profile asks `hook` as `guard`, and the directory of profiles.
/// `more` are keys of the hook's table.
fn config(hook: &TestHook, more: &str, required: bool) -> (String, TempDir) {
    let profiles = tempfile::tempdir().unwrap();
    let profile = format!(
        "name = \"hooked\"\nextends = \"strict\"\nhooks = [{{ name = \"guard\", required = {required} }}]\n\
         [policy]\nask = [\"Bash(npm:*)\"]\ndeny = [\"Bash(git push:*)\"]\n"
    );
    fs::write(profiles.path().join("hooked.toml"), profile).unwrap();
    let directory = profiles.path().display();
    let table = hook.table("guard");
    (format!("[profiles]\ndirectory = \"{directory}\"\ndefault = \"hooked\"\n{table}{more}"), profiles)
}

/// Starts a server with this hook and a runner.
async fn ready(hook: &TestHook, more: &str) -> (World, Link, TempDir) {
    let (config, profiles) = config(hook, more, false);
    let world = World::with(&config).await;
    let link = link_up(&world).await;
    // Before the server has processed the runner's reports, a start fails.
    until("a command can start", async || start(&world, "ls").await.is_ok()).await;
    (world, link, profiles)
}

async fn start(world: &World, command: &str) -> Result<v1::Execution, Status> {
    let spec = spec(command, |spec| spec.on_ask = v1::OnAsk::Wait.into());
    let message = v1::ExecutionServiceStartRequest { spec: Some(spec) };
    let mut client = ExecutionServiceClient::new(world.plain());
    let started = timeout(PATIENCE, client.start(request("executor", message))).await.unwrap()?;
    let id = started.into_inner().execution.unwrap().execution_id;
    get(world, "executor", &id).await
}

/// Returns the execution of a start, also of a denied one. `None`: no runner is connected yet.
async fn started(world: &World, command: &str) -> Option<v1::Execution> {
    match start(world, command).await {
        Ok(execution) => Some(execution),
        Err(status) if status.code() == Code::Unavailable => None,
        Err(status) => {
            assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
            let info = status.get_details_error_info().unwrap();
            Some(get(world, "executor", info.metadata.get("execution_id").unwrap()).await.unwrap())
        }
    }
}

/// Stops the server and returns the audit of hooks.
async fn audit(world: World) -> Vec<HookRecord> {
    let folder = world.end().await;
    let file = folder.path().join("state/airlock.db");
    let store = SqliteStore::open(&file, airlock_store::testing::sqlite()).await.unwrap();
    store.hook_audit(1000).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_answer_has_its_outcome_in_the_decision_and_in_the_audit() {
    let hook = TestHook::start();
    let (world, _link, _profiles) = ready(&hook, "timeout = \"30s\"\nbreaker_failures = 1000\n").await;
    let opinion = |value: i32| TestAnswer::Opinion(value, "because".to_owned());
    let mut expected = Vec::new();
    for (answer, outcome, verdict) in [
        (HookOpinion::Allow.into(), HookOutcome::Allow, v1::Verdict::Allow),
        (HookOpinion::Ask.into(), HookOutcome::Ask, v1::Verdict::Ask),
        (HookOpinion::Deny.into(), HookOutcome::Deny, v1::Verdict::Deny),
        (HookOpinion::None.into(), HookOutcome::None, v1::Verdict::Ask),
        (opinion(0), HookOutcome::Invalid, v1::Verdict::Ask),
        (opinion(99), HookOutcome::Invalid, v1::Verdict::Ask),
        (TestAnswer::OtherQuestion, HookOutcome::Invalid, v1::Verdict::Ask),
        (TestAnswer::Opinion(2, "two\nlines".to_owned()), HookOutcome::Invalid, v1::Verdict::Ask),
        (TestAnswer::Fail, HookOutcome::Unavailable, v1::Verdict::Ask),
    ] {
        hook.answers(answer);
        let execution = started(&world, UNKNOWN).await.unwrap();
        let decision = execution.decision.unwrap();
        assert_eq!(decision.verdict(), verdict, "{outcome:?}");
        let [answer] = &decision.hooks[..] else { panic!("{:?}", decision.hooks) };
        assert_eq!((answer.hook.as_str(), answer.outcome()), ("guard", v1::HookOutcome::from(outcome)));
        assert_eq!(answer.in_effect, decision.reasons[0].code.starts_with("hook_"), "{outcome:?}");
        expected.push((execution.execution_id, outcome));
    }
    let question = hook.questions().pop().unwrap();
    let about = question.execution.unwrap();
    assert_eq!((about.command.as_str(), about.principal.as_str()), (UNKNOWN, "executor"));
    assert_eq!(question.decision.unwrap().verdict(), v1::Verdict::Ask);
    let audited = audit(world).await;
    for (id, outcome) in expected {
        let of: Vec<_> = audited.iter().filter(|entry| entry.execution_id.to_string() == id).collect();
        assert_eq!(of.len(), 1, "{outcome:?}");
        assert_eq!((of[0].answer.outcome, of[0].principal.as_str()), (outcome, "executor"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allow_does_not_count_against_rules_and_checks() {
    let hook = TestHook::start();
    let (world, _link, _profiles) = ready(&hook, "timeout = \"30s\"\n").await;
    hook.answers(HookOpinion::Allow);
    for (command, verdict) in [
        ("npm install", v1::Verdict::Ask),
        ("touch /outside/x", v1::Verdict::Ask),
        ("git push", v1::Verdict::Deny),
        (UNKNOWN, v1::Verdict::Allow),
    ] {
        let decision = started(&world, command).await.unwrap().decision.unwrap();
        assert_eq!(decision.verdict(), verdict, "{command}");
        assert_eq!(decision.hooks.is_empty(), verdict == v1::Verdict::Deny, "{command}");
    }
    let asked = hook.questions().len();
    let check = v1::PolicyServiceCheckRequest { command: UNKNOWN.to_owned(), ..Default::default() };
    let mut client = PolicyServiceClient::new(world.plain());
    let checked = client.check(request("executor", check)).await.unwrap().into_inner().decision.unwrap();
    assert_eq!(checked.warning_notes[0].code, "hooks_not_asked");
    assert_eq!(hook.questions().len(), asked, "a check asks no hook");
    world.server.shut_down().await;
}

/// Returns the outcome of the first question of a new server about [`UNKNOWN`], and its verdict with the reason's code.
async fn first(hook: &TestHook, more: &str, required: bool) -> (v1::HookOutcome, v1::Verdict, String) {
    let (config, _profiles) = config(hook, more, required);
    let world = World::with(&config).await;
    let _link = link_up(&world).await;
    let mut found = None;
    until("a command can start", async || {
        found = started(&world, UNKNOWN).await;
        found.is_some()
    })
    .await;
    let decision = found.unwrap().decision.unwrap();
    let code = decision.reasons.first().unwrap().code.clone();
    let outcome = decision.hooks.first().unwrap().outcome();
    let audited = audit(world).await;
    assert_eq!(v1::HookOutcome::from(audited.first().unwrap().answer.outcome), outcome);
    (outcome, decision.verdict(), code)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_or_unreachable_hook_has_no_opinion_and_denies_if_it_is_required() {
    let slow = TestHook::start();
    slow.answers(TestAnswer::Hold);
    let down = TestHook::start();
    down.stop();
    for (hook, more, expected) in [
        (&slow, "timeout = \"100ms\"\nbreaker_failures = 1000\n", v1::HookOutcome::Timeout),
        (&down, "timeout = \"30s\"\nbreaker_failures = 1000\n", v1::HookOutcome::Unavailable),
    ] {
        let (outcome, verdict, _) = Box::pin(first(hook, more, false)).await;
        assert_eq!((outcome, verdict), (expected, v1::Verdict::Ask));
        let (outcome, verdict, code) = Box::pin(first(hook, more, true)).await;
        assert_eq!((outcome, verdict, code.as_str()), (expected, v1::Verdict::Deny, "hook_failed"));
    }
}
