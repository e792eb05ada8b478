//! Tests of commands that wait for an approver.

use airlock_domain::{
    CancelledBy, Cause, DeniedBy, DirectoryReport, ExecutionResult, ExecutionState, JobPhase, Mode,
    Requirement,
};
use airlock_store::{
    ApprovalQuery, PageQuery,
    record::{ApprovalRecord, ApprovalState, ExecutionRecord, SessionRecord, Verdict},
};

use super::support::{Runner, World, exited, patient, run, stranger, who};
use crate::{
    api::{ApiError, CreateSession},
    approval::ApproverAnswer,
    reconcile::reconcile_once,
};

async fn asked(world: &World, session: &SessionRecord) -> (ExecutionRecord, ApprovalRecord) {
    let record = world.services.executions.start(who("ann"), patient(session.id, "make all")).await.unwrap();
    assert_eq!(record.state, ExecutionState::PendingApproval);
    let approval = open(world).await.pop().unwrap();
    assert_eq!(record.approval_id, Some(approval.id));
    (record, approval)
}

async fn open(world: &World) -> Vec<ApprovalRecord> {
    let page = PageQuery { size: 10, token: None };
    world.services.approvals.list(who("bob"), ApprovalQuery::default(), &page).await.unwrap().items
}

async fn answer(
    world: &World,
    name: &str,
    approval: &ApprovalRecord,
    answer: ApproverAnswer,
) -> Result<ApprovalRecord, ApiError> {
    world.services.approvals.decide(who(name), approval.id, &approval.binding, answer).await
}

fn reason(error: &ApiError) -> &'static str {
    match error {
        ApiError::FailedPrecondition { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_approval_shows_the_environment_and_the_input_that_it_is_bound_to() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let mut request = patient(session.id, "make all");
    request.command.stdin = true;
    request.command.env = [("MAKEFILES", "/workspace/x.so"), ("DEPLOY_TOKEN", "hunter2")]
        .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
        .into();
    world.services.executions.start(who("ann"), request).await.unwrap();
    let approval = open(&world).await.pop().unwrap();
    // The encoding is tested in its own module.
    let shows = |text: &str| approval.terms.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(shows("MAKEFILES") && shows("/workspace/x.so") && shows("DEPLOY_TOKEN"));
    assert!(!shows("hunter2"), "a secret is not stored a second time");
}

#[tokio::test]
async fn what_is_allowed_once_runs_once() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    assert_eq!((approval.command.as_slice(), approval.principal.as_str()), (b"make all".as_slice(), "ann"));
    runner.silence().await;

    let decided = answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap();
    assert_eq!((decided.state, decided.decided_by.as_str()), (ApprovalState::Allowed, "bob"));
    let job = runner.take().await;
    assert_eq!((job.execution_id, job.binding), (record.id, approval.binding));
    runner.ends(&job, 0).await;
    world.finished(record.id).await;
    assert_eq!(world.store.audit(0, 10).await.unwrap().pop().unwrap().decided_by, "bob");

    let error = answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap_err();
    assert_eq!(reason(&error), "APPROVAL_NOT_OPEN");
    let (second, _) = asked(&world, &session).await;
    assert_ne!(second.id, record.id, "the same command asks again");
}

#[tokio::test]
async fn a_no_reaches_the_agent_with_its_reason() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    let no = ApproverAnswer::Deny { reason: "not on a friday".to_owned() };
    answer(&world, "bob", &approval, no).await.unwrap();
    let expected = Cause::Denied { by: DeniedBy::Person, reason: "not on a friday".to_owned() };
    assert_eq!(world.cause(record.id).await, expected);
    runner.silence().await;
}

#[tokio::test]
async fn only_the_right_person_may_answer_and_only_what_was_shown() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    let error = answer(&world, "ann", &approval, ApproverAnswer::AllowOnce).await.unwrap_err();
    assert!(matches!(error, ApiError::Forbidden { .. }), "{error:?}");
    let eve = world.services.approvals.decide(
        stranger(),
        approval.id,
        &approval.binding,
        ApproverAnswer::AllowOnce,
    );
    assert!(matches!(eve.await.unwrap_err(), ApiError::NotFound { .. }));
    let other = world.services.approvals.decide(who("bob"), approval.id, &[0; 32], ApproverAnswer::AllowOnce);
    assert_eq!(reason(&other.await.unwrap_err()), "BINDING_MISMATCH");
    assert_eq!(world.get(record.id).await.state, ExecutionState::PendingApproval);

    // The profile can permit self-approval.
    let request = CreateSession { profile: Some("own".to_owned()), ..CreateSession::default() };
    let (own, ()) = tokio::join!(world.services.sessions.create(who("ann"), request), runner.open_session());
    let (_, approval) = asked(&world, &own.unwrap()).await;
    answer(&world, "ann", &approval, ApproverAnswer::AllowOnce).await.unwrap();
    runner.take().await;
}

#[tokio::test]
async fn nobody_answers_in_time() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    let valid = approval.expires.since(approval.created);
    world.pass(valid / 2).await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    assert_eq!(
        world.get(record.id).await.state,
        ExecutionState::PendingApproval,
        "the approval has not expired"
    );
    world.pass(valid).await;
    assert_eq!(world.cause(record.id).await, Cause::ApprovalExpired);
    assert_eq!(world.store.approval(approval.id).await.unwrap().unwrap().state, ApprovalState::Expired);
    let error = answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap_err();
    assert_eq!(reason(&error), "APPROVAL_NOT_OPEN");
}

#[tokio::test]
async fn an_approval_counts_for_what_was_asked_and_nothing_else() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    world.start(&session, "cd src").await;
    let job = runner.take().await;
    let (record, approval) = asked(&world, &session).await;
    answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap();
    // While it is queued, another command changes the directory that it was approved for.
    let moved = ExecutionResult {
        directory: b"/workspace/src".to_vec(),
        directory_report: DirectoryReport::Reported,
        ..exited(0)
    };
    runner.report(&job, JobPhase::Ended, Some(moved)).await;
    let again = world.until(record.id, ExecutionState::PendingApproval).await;
    let second = open(&world).await.pop().unwrap();
    assert_eq!(again.approval_id, Some(second.id));
    assert_ne!((second.id, second.binding), (approval.id, approval.binding));
    assert_eq!(second.directory, b"/workspace/src");
    answer(&world, "bob", &second, ApproverAnswer::AllowOnce).await.unwrap();
    assert_eq!(runner.take().await.grant.command.directory, b"/workspace/src");
}

#[tokio::test]
async fn the_end_of_the_execution_withdraws_the_question() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    world.cancel(record.id).await;
    assert_eq!(world.cause(record.id).await, Cause::Cancelled(CancelledBy::Client));
    assert_eq!(world.store.approval(approval.id).await.unwrap().unwrap().state, ApprovalState::Withdrawn);
    let error = answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap_err();
    assert_eq!(reason(&error), "APPROVAL_NOT_OPEN");
}

#[tokio::test]
async fn open_questions_and_given_answers_outlive_the_server() {
    let mut world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let (record, approval) = asked(&world, &session).await;
    world.restart().await;
    assert_eq!(open(&world).await.pop().unwrap().id, approval.id);

    // The server dies between the answer and its effect.
    let allowed = airlock_store::ApprovalAnswer {
        state: ApprovalState::Allowed,
        decided_by: "bob".to_owned(),
        reason: String::new(),
        remember: None,
    };
    world.store.answer_approval(approval.id, &allowed).await.unwrap();
    world.restart().await;
    let mut runner = Runner::again(&world, runner.epoch).await;
    runner.reconciled().await;
    assert_eq!(runner.take().await.execution_id, record.id);
}

/// Starts a command in a session with a mode that allows edits inside the workspace, and lets the
/// runner refuse it.
async fn refused_edit(world: &World, runner: &mut Runner, patience: bool) -> ExecutionRecord {
    let request = CreateSession { mode: Some(Mode::AcceptEdits), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), request), runner.open_session());
    let make = if patience { patient } else { run };
    let request = make(session.unwrap().id, "touch a");
    let record = world.services.executions.start(who("ann"), request).await.unwrap();
    let job = runner.next_job().await;
    assert_eq!(job.grant.requires, [Requirement::TrustedPath]);
    runner.refuses(&job, "untrusted_path").await;
    record
}

#[tokio::test]
async fn a_name_that_is_not_what_it_says_becomes_a_question_and_a_yes_lifts_the_requirement() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = refused_edit(&world, &mut runner, true).await;
    let waits = world.until(record.id, ExecutionState::PendingApproval).await;
    assert_eq!(
        (waits.decision.verdict, waits.decision.reason_code.as_str()),
        (Verdict::Ask, "untrusted_path")
    );
    let approval = open(&world).await.pop().unwrap();
    assert_eq!((approval.execution_id, approval.decision.verdict), (record.id, Verdict::Ask));
    runner.silence().await;

    answer(&world, "bob", &approval, ApproverAnswer::AllowOnce).await.unwrap();
    let job = runner.take().await;
    assert_eq!((job.execution_id, job.binding, job.attempt), (record.id, approval.binding, 2));
    assert_eq!(job.grant.requires, []);
    runner.ends(&job, 0).await;
    let done = world.finished(record.id).await;
    assert_eq!(done.decision.reason_code, "untrusted_path", "the question to the person is unchanged");
    assert_eq!(world.store.audit(0, 10).await.unwrap().pop().unwrap().decided_by, "bob");
}

#[tokio::test]
async fn a_name_that_is_not_what_it_says_ends_the_command_where_nobody_waits() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = refused_edit(&world, &mut runner, false).await;
    let cause = world.cause(record.id).await;
    assert!(matches!(&cause, Cause::Refused { reason, .. } if reason == "untrusted_path"), "{cause:?}");
    assert!(open(&world).await.is_empty());
}

#[tokio::test]
async fn a_no_to_what_a_runner_refused_ends_it() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let record = refused_edit(&world, &mut runner, true).await;
    world.until(record.id, ExecutionState::PendingApproval).await;
    let approval = open(&world).await.pop().unwrap();
    let no = ApproverAnswer::Deny { reason: "look first".to_owned() };
    answer(&world, "bob", &approval, no).await.unwrap();
    let cause = world.cause(record.id).await;
    assert_eq!(cause, Cause::Denied { by: DeniedBy::Person, reason: "look first".to_owned() });
    runner.silence().await;
}
