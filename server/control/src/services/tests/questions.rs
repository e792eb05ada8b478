//! Tests of connections of running commands that wait for an approver.

use std::time::Duration;

use airlock_domain::{
    ApprovalId, ConnectionAnswer, ConnectionAsked, ConnectionQuestions, FromRunner, StartJob, ToRunner,
};
use airlock_store::{
    ApprovalQuery, PageQuery,
    record::{ApprovalRecord, ApprovalState, RuleScope, SessionRecord},
};

use super::support::{Runner, World, patient, run, stranger, who};
use crate::{
    api::{ApiError, CreateSession},
    approval::ApproverAnswer,
    reconcile::reconcile_once,
};

const PROFILE: &str = "name = \"own\"\nextends = \"demo\"\n[policy]\nask = [\"Network(*.example)\"]\n\
                       [approvals]\nconnection_wait = \"30s\"\n";

async fn session(world: &World, runner: &mut Runner) -> SessionRecord {
    world.put_profile("own", PROFILE);
    let wanted = CreateSession { profile: Some("own".to_owned()), ..CreateSession::default() };
    let (session, ()) =
        tokio::join!(world.services.sessions.create(who("ann"), wanted), runner.open_session());
    session.unwrap()
}

/// Starts a command that waits for answers, up to RUNNING.
async fn running(world: &World, runner: &mut Runner, session: &SessionRecord) -> StartJob {
    world.services.executions.start(who("ann"), patient(session.id, "touch a")).await.unwrap();
    let job = runner.take().await;
    runner.new_network().await;
    job
}

fn question(job: &StartJob, host: &str, wait: Duration) -> ConnectionAsked {
    ConnectionAsked {
        approval_id: ApprovalId::new(),
        execution_id: job.execution_id,
        host: host.to_owned(),
        port: 443,
        rule: "Network(*.example)".to_owned(),
        wait,
    }
}

const LONG: Duration = Duration::from_secs(60);

async fn open(world: &World) -> Vec<ApprovalRecord> {
    let page = PageQuery { size: 10, token: None };
    world.services.approvals.list(who("bob"), ApprovalQuery::default(), &page).await.unwrap().items
}

async fn answered(runner: &mut Runner, asked: &ConnectionAsked) -> ConnectionAnswer {
    match runner.next().await {
        ToRunner::AnswerConnection { execution_id, approval_id, answer } => {
            assert_eq!((execution_id, approval_id), (asked.execution_id, asked.approval_id));
            answer
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_grant_has_the_questions_that_its_request_waits_for() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session(&world, &mut runner).await;
    let job = running(&world, &mut runner, &session).await;
    assert_eq!(job.grant.egress[0].ask, ["*.example"]);
    let waits = ConnectionQuestions { wait: Duration::from_secs(30), ..ConnectionQuestions::default() };
    assert_eq!(job.grant.questions, waits);
    runner.ends(&job, 0).await;
    world.services.executions.start(who("ann"), run(session.id, "touch b")).await.unwrap();
    let job = runner.take().await;
    assert_eq!(job.grant.questions, ConnectionQuestions::default(), "nobody waits");
    runner.new_network().await;
    runner.ends(&job, 0).await;

    let named = patient(session.id, "curl https://b.example/x https://a.example");
    world.services.executions.start(who("ann"), named).await.unwrap();
    let approval = open(&world).await.pop().unwrap();
    assert_eq!(approval.connection, None, "the command itself is asked about");
    let decide = world.services.approvals.decide(
        who("bob"),
        approval.id,
        &approval.binding,
        ApproverAnswer::AllowOnce,
    );
    decide.await.unwrap();
    let job = runner.take().await;
    assert_eq!(job.grant.questions.answered, ["a.example:443", "b.example:443"]);
}

#[tokio::test]
async fn an_answer_is_stored_and_sent_to_the_runner() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session(&world, &mut runner).await;
    let job = running(&world, &mut runner, &session).await;
    let [a, b] = ["a.example", "b.example"].map(|host| question(&job, host, LONG));
    runner.say(FromRunner::Asked(a.clone())).await;
    runner.say(FromRunner::Asked(b.clone())).await;
    runner.say(FromRunner::Asked(a.clone())).await;
    runner.silence().await;
    let approvals = open(&world).await;
    let hosts: Vec<_> = approvals.iter().map(|one| one.connection.as_ref().unwrap().host.as_str()).collect();
    assert_eq!(hosts, ["a.example", "b.example"], "a repeated question is the same");
    assert_eq!(approvals[0].id, a.approval_id);

    let decide = async |name: &str, one: &ApprovalRecord, binding: &[u8; 32], answer| {
        world.services.approvals.decide(who(name), one.id, binding, answer).await
    };
    let own = decide("ann", &approvals[0], &approvals[0].binding, ApproverAnswer::AllowOnce).await;
    assert!(matches!(own, Err(ApiError::Forbidden { .. })), "{own:?}");
    let theirs = world.services.approvals.decide(
        stranger(),
        approvals[0].id,
        &approvals[0].binding,
        ApproverAnswer::AllowOnce,
    );
    assert!(matches!(theirs.await, Err(ApiError::NotFound { .. })));
    let other = decide("bob", &approvals[0], &approvals[1].binding, ApproverAnswer::AllowOnce).await;
    assert!(matches!(other, Err(ApiError::FailedPrecondition { reason: "BINDING_MISMATCH", .. })));
    let remember = ApproverAnswer::AllowAndRemember { scope: RuleScope::Session, rules: Vec::new() };
    let remembered = decide("bob", &approvals[0], &approvals[0].binding, remember).await;
    assert!(matches!(remembered, Err(ApiError::FailedPrecondition { reason: "REMEMBER_NOT_PERMITTED", .. })));
    runner.silence().await;

    decide("bob", &approvals[0], &approvals[0].binding, ApproverAnswer::AllowOnce).await.unwrap();
    assert_eq!(answered(&mut runner, &a).await, ConnectionAnswer::Allowed);
    let no = ApproverAnswer::Deny { reason: "not today".to_owned() };
    decide("bob", &approvals[1], &approvals[1].binding, no).await.unwrap();
    let refused = ConnectionAnswer::Denied { reason: "a person denied it: not today".to_owned() };
    assert_eq!(answered(&mut runner, &b).await, refused);
    let entries = world.store.connection_answers(10).await.unwrap();
    let noted: Vec<_> = entries.iter().map(|one| (one.principal.as_str(), one.answer)).collect();
    assert_eq!(noted, [("bob", ApprovalState::Allowed), ("bob", ApprovalState::Denied)]);
    // The runner did not get the answer, and asks again on a new link.
    runner.say(FromRunner::Asked(a.clone())).await;
    assert_eq!(answered(&mut runner, &a).await, ConnectionAnswer::Allowed);
}

#[tokio::test]
async fn a_question_ends_without_an_answer_in_time_with_its_connection_and_with_its_command() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let session = session(&world, &mut runner).await;
    let job = running(&world, &mut runner, &session).await;
    let short = question(&job, "a.example", Duration::from_millis(10));
    runner.say(FromRunner::Asked(short.clone())).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    reconcile_once(&world.services.reconciler).await.unwrap();
    let reason = "nobody answered in time".to_owned();
    assert_eq!(answered(&mut runner, &short).await, ConnectionAnswer::Unanswered { reason });

    let [gone, left] = ["b.example", "c.example"].map(|host| question(&job, host, LONG));
    runner.say(FromRunner::Asked(gone.clone())).await;
    runner.say(FromRunner::Asked(left.clone())).await;
    let (execution_id, approval_id) = (gone.execution_id, gone.approval_id);
    runner.say(FromRunner::Unasked { execution_id, approval_id }).await;
    assert_eq!(open(&world).await.iter().map(|one| one.id).collect::<Vec<_>>(), [left.approval_id]);
    runner.ends(&job, 0).await;
    world.finished(job.execution_id).await;
    assert_eq!(open(&world).await, []);
    let late = question(&job, "d.example", LONG);
    runner.say(FromRunner::Asked(late.clone())).await;
    loop {
        match runner.next().await {
            ToRunner::AnswerConnection { approval_id, answer, .. } => {
                assert_eq!(approval_id, late.approval_id);
                assert!(matches!(answer, ConnectionAnswer::Unanswered { .. }), "{answer:?}");
                break;
            }
            // The end of the command has other effects.
            ToRunner::ForgetJob { .. } | ToRunner::OpenOutput { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}
