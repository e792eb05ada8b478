//! Tests of remembered answers and of answers that are bound to files.

use airlock_domain::{BoundFile, Cause, ExecutionResult, ExecutionState, FileState, JobPhase, SessionId};
use airlock_store::{
    PageQuery,
    record::{
        ApprovalRecord, ApprovalState, ExecutionRecord, RememberedRule, RuleScope, SessionRecord, Verdict,
    },
};

use super::support::{Runner, World, alone, patient, run, stranger, who};
use crate::{
    api::{ApiError, CheckCommand, CreateSession, StartExecution},
    approval::ApproverAnswer,
};

const PAGE: PageQuery = PageQuery { size: 50, token: None };

async fn session(world: &World, runner: &mut Runner, profile: &str) -> SessionRecord {
    let request = CreateSession { profile: Some(profile.to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), request), runner.open_session());
    session.unwrap()
}

async fn asked(world: &World, session: &SessionRecord, command: &str) -> (ExecutionRecord, ApprovalRecord) {
    let record = world.services.executions.start(who("ann"), patient(session.id, command)).await.unwrap();
    assert_eq!(record.state, ExecutionState::PendingApproval, "{command}");
    let approval = world.store.approval(record.approval_id.unwrap()).await.unwrap().unwrap();
    (record, approval)
}

async fn remember(
    world: &World,
    name: &str,
    approval: &ApprovalRecord,
    (scope, rules): (RuleScope, &[&str]),
) -> Result<ApprovalRecord, ApiError> {
    let rules = rules.iter().map(|&rule| rule.to_owned()).collect();
    let answer = ApproverAnswer::AllowAndRemember { scope, rules };
    world.services.approvals.decide(who(name), approval.id, &approval.binding, answer).await
}

async fn ends(world: &World, runner: &mut Runner, record: &ExecutionRecord) {
    let job = runner.take().await;
    assert_eq!(job.execution_id, record.id);
    runner.ends(&job, 0).await;
    world.finished(record.id).await;
}

async fn rules(world: &World, session: Option<SessionId>) -> Vec<RememberedRule> {
    world.services.approvals.list_rules(who("bob"), session, &PAGE).await.unwrap().items
}

async fn verdict(world: &World, session: &SessionRecord, command: &str) -> Verdict {
    let request = CheckCommand {
        command: command.as_bytes().to_vec(),
        session_id: Some(session.id),
        ..CheckCommand::default()
    };
    match world.services.decisions.check(who("ann"), request).await.unwrap().0.verdict {
        airlock_policy::Verdict::Allow => Verdict::Allow,
        airlock_policy::Verdict::Ask => Verdict::Ask,
        airlock_policy::Verdict::Deny => Verdict::Deny,
    }
}

/// Returns the violations of the rules, by field.
fn violations(error: &ApiError) -> String {
    match error {
        ApiError::Invalid(violations) => {
            violations.iter().map(|one| format!("{}: {}\n", one.field, one.description)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_remembered_for_a_session_runs_there_without_a_question() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let [here, there] =
        [session(&world, &mut runner, "strict").await, session(&world, &mut runner, "strict").await];
    let (first, approval) = asked(&world, &here, "make all").await;
    let allowed = remember(&world, "bob", &approval, (RuleScope::Session, &[])).await.unwrap();
    assert_eq!((allowed.state, allowed.decided_by.as_str()), (ApprovalState::Allowed, "bob"));
    let job = runner.take().await;
    assert_eq!(job.binding, approval.binding, "exactly the requested rules");
    runner.ends(&job, 0).await;
    world.finished(first.id).await;

    let kept = rules(&world, Some(here.id)).await;
    assert_eq!((kept[0].rule.as_str(), kept[0].scope()), ("Bash(make all)", RuleScope::Session));
    assert_eq!((kept[0].decided_by.as_str(), kept[0].approval_id), ("bob", approval.id));
    let again = world.services.executions.start(who("ann"), run(here.id, "make all")).await.unwrap();
    assert_ne!(again.decision.policy_version, first.decision.policy_version);
    ends(&world, &mut runner, &again).await;
    for (session, command) in [(&here, "make install"), (&there, "make all")] {
        assert_eq!(verdict(&world, session, command).await, Verdict::Ask, "{command}");
        world.services.executions.start(who("ann"), run(session.id, command)).await.unwrap_err();
    }

    let removed = world.services.approvals.remove_rule(who("bob"), kept[0].id).await.unwrap();
    assert_eq!(removed, kept[0]);
    assert_eq!(verdict(&world, &here, "make all").await, Verdict::Ask);
}

#[tokio::test]
async fn what_is_remembered_for_the_tenant_counts_in_its_sessions_of_that_profile() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner, "careful").await;
    let there = session(&world, &mut runner, "careful").await;
    let elsewhere = session(&world, &mut runner, "strict").await;
    let (record, approval) = asked(&world, &here, "npm run build && make all").await;
    let own = remember(&world, "ann", &approval, (RuleScope::Tenant, &[])).await.unwrap_err();
    assert!(matches!(own, ApiError::Forbidden { .. }), "not for the caller's own request: {own:?}");
    let both = (RuleScope::Tenant, &["Bash(npm run:*)", "Bash(make:*)"][..]);
    remember(&world, "bob", &approval, both).await.unwrap();
    ends(&world, &mut runner, &record).await;
    assert_eq!(verdict(&world, &there, "npm run test; make x").await, Verdict::Allow);
    assert_eq!(verdict(&world, &elsewhere, "make x").await, Verdict::Ask);
    let kept = rules(&world, None).await;
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|rule| rule.scope() == RuleScope::Tenant && rule.profile == "careful"));
    let eve = world.services.approvals.remove_rule(stranger(), kept[0].id).await.unwrap_err();
    assert!(matches!(eve, ApiError::NotFound { .. }));
    assert!(world.services.approvals.list_rules(stranger(), None, &PAGE).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_remembered_rule_lifts_nothing_that_the_profile_denies_or_asks_about() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner, "careful").await;
    let (_, approval) = asked(&world, &here, "kubectl apply -f x").await;
    let error = remember(&world, "bob", &approval, (RuleScope::Session, &[])).await.unwrap_err();
    assert!(violations(&error).contains("a rule asks about it (ask_rule)"), "{error:?}");
    let (_, approval) = asked(&world, &here, "git stash").await;
    remember(&world, "bob", &approval, (RuleScope::Session, &["Bash(git stash:*)"])).await.unwrap();
    assert_eq!(verdict(&world, &here, "git stash; git push").await, Verdict::Deny);
}

#[tokio::test]
async fn rules_must_cover_the_command_with_need_and_nothing_like_everything() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner, "strict").await;
    let (record, approval) = asked(&world, &here, "make all && npm run x").await;
    for (rules, expected) in [
        (&["Bash(make all)"][..], "do not cover the command: `npm run x`"),
        (&["Bash(make)", "Bash(npm run x)"], "do not cover the command: `make all`"),
        (
            &["Bash(make:*)", "Bash(npm run:*)", "Bash(ls)"],
            "rules[2]: the command is allowed without this rule",
        ),
        (&["Bash"], "rules[0]: the rule does not contain the full name of its program"),
        (&["Bash(*)", "nonsense("], "rules[1]: "),
        (&["Bash(sh:*)", "Bash(python3 -c *)"], "rules[1]: the rule would let its program run any command"),
        (&["Edit(**)"], "a rule about a path can be remembered only if the decision suggests it"),
    ] {
        let error = remember(&world, "bob", &approval, (RuleScope::Session, rules)).await.unwrap_err();
        assert!(violations(&error).contains(expected), "{rules:?}: {error:?}");
    }
    let (_, hidden) = asked(&world, &here, "$program x").await;
    let error = remember(&world, "bob", &hidden, (RuleScope::Session, &[])).await.unwrap_err();
    assert!(violations(&error).contains("no rule is suggested"), "{error:?}");
    assert!(rules(&world, None).await.is_empty());
    assert_eq!(
        world.get(record.id).await.state,
        ExecutionState::PendingApproval,
        "the approval was not answered"
    );
}

#[tokio::test]
async fn how_far_is_remembered_is_the_profiles_to_say_and_how_much_a_limits() {
    let world = World::with(|limits| limits.rules_per_session = 1).await;
    let mut runner = Runner::ready(&world).await;
    for (profile, scope) in
        [("forgetful", RuleScope::Session), ("forgetful", RuleScope::Tenant), ("strict", RuleScope::Tenant)]
    {
        let here = session(&world, &mut runner, profile).await;
        let (_, approval) = asked(&world, &here, "make all").await;
        let error = remember(&world, "bob", &approval, (scope, &[])).await.unwrap_err();
        let is_refused =
            matches!(&error, ApiError::FailedPrecondition { reason: "REMEMBER_NOT_PERMITTED", .. });
        assert!(is_refused, "{profile}: {error:?}");
    }
    let here = session(&world, &mut runner, "strict").await;
    let (_, approval) = asked(&world, &here, "make all; npm run x").await;
    let error = remember(&world, "bob", &approval, (RuleScope::Session, &[])).await.unwrap_err();
    assert!(matches!(error, ApiError::Exhausted { limit: "rules_per_session", value: 1, .. }), "{error:?}");
    assert!(rules(&world, None).await.is_empty(), "all of them or none");
}

/// The bound file of an approval for `bash x.sh`.
fn script(state: FileState) -> Vec<BoundFile> {
    vec![BoundFile { path: b"/workspace/x.sh".to_vec(), state }]
}

#[tokio::test]
async fn a_script_that_has_changed_is_asked_about_again() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner, "strict").await;
    *world.looker.0.lock().unwrap() = Some(FileState::Digest([1; 32]));
    let (record, approval) = asked(&world, &here, "bash x.sh").await;
    assert_eq!(approval.files, script(FileState::Digest([1; 32])));
    let allow = || ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, allow()).await.unwrap();
    let job = runner.next_job().await;
    assert_eq!((&job.grant.decided.files, job.binding), (&approval.files, approval.binding));

    let files = script(FileState::Digest([2; 32]));
    let cause =
        Cause::Refused { reason: "files_changed".to_owned(), message: "it changed".to_owned(), files };
    runner.report(&job, JobPhase::Refused, Some(ExecutionResult::not_started(cause))).await;
    let waits = world.until(record.id, ExecutionState::PendingApproval).await;
    assert_eq!(waits.decision.reason_code, "files_changed");
    let again = world.store.approval(waits.approval_id.unwrap()).await.unwrap().unwrap();
    assert_ne!(again.id, approval.id);
    assert_eq!(again.files, script(FileState::Digest([2; 32])), "the digests of the runner");
    let stale = world.services.approvals.decide(who("bob"), again.id, &approval.binding, allow()).await;
    assert!(matches!(stale.unwrap_err(), ApiError::FailedPrecondition { reason: "BINDING_MISMATCH", .. }));
    world.services.approvals.decide(who("bob"), again.id, &again.binding, allow()).await.unwrap();
    ends(&world, &mut runner, &record).await;
}

#[tokio::test]
async fn files_that_nobody_could_look_at_are_said_to_be_unknown_and_are_not_run_so() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner, "strict").await;
    let (record, approval) = asked(&world, &here, "./x.sh").await;
    assert_eq!(approval.files, script(FileState::Unknown));
    let allow = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, allow).await.unwrap();
    let job = runner.next_job().await;
    assert_eq!(job.grant.decided.files, script(FileState::Unknown), "a state that no runner reports");
    runner.refuses(&job, "files_changed").await;
    let waits = world.until(record.id, ExecutionState::PendingApproval).await;
    assert_ne!(waits.approval_id, Some(approval.id));
}

#[tokio::test]
async fn in_a_throw_away_session_nothing_can_be_slipped_under_an_answer() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let asks =
        StartExecution { wait_for_approval: true, profile: Some("strict".to_owned()), ..alone("bash x.sh") };
    let record = world.services.executions.start(who("ann"), asks).await.unwrap();
    let approval = world.store.approval(record.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(approval.files, script(FileState::Absent), "the workspace is empty at first");
    // No other command can enter the session before it is opened, and then only after this command.
    let other = world.services.executions.start(who("ann"), run(record.session_id, "ls")).await.unwrap_err();
    assert!(matches!(other, ApiError::FailedPrecondition { reason: "SESSION_NOT_OPEN", .. }), "{other:?}");
    let allow = || ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, &approval.binding, allow()).await.unwrap();
    runner.open_session().await;
    let job = runner.next_job().await;
    assert_eq!((&job.grant.decided.files, job.binding), (&approval.files, approval.binding));
    // The runner finds the file, so its content needs an approval.
    let files = script(FileState::Digest([3; 32]));
    let cause =
        Cause::Refused { reason: "files_changed".to_owned(), message: "it changed".to_owned(), files };
    runner.report(&job, JobPhase::Refused, Some(ExecutionResult::not_started(cause))).await;
    let again = world.until(record.id, ExecutionState::PendingApproval).await;
    let again = world.store.approval(again.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(again.files, script(FileState::Digest([3; 32])));
}

#[tokio::test]
async fn what_a_base_brings_to_a_throw_away_session_is_looked_at_before_it_runs() {
    let world = World::new().await;
    let _runner = Runner::ready(&world).await;
    let asks = StartExecution {
        wait_for_approval: true,
        profile: Some("strict".to_owned()),
        base: Some("repo".to_owned()),
        ..alone("bash x.sh")
    };
    let record = world.services.executions.start(who("ann"), asks).await.unwrap();
    let approval = world.store.approval(record.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(
        approval.files,
        script(FileState::Unknown),
        "a state that no runner reports, so the question is asked again"
    );
}
