//! Tests of file edits: the preview in the question, the binding, and the question after a change.

use airlock_domain::{BoundFile, ExecutionState, FileState, Mode};
use airlock_proto::convert::approved_results;
use airlock_store::record::{ApprovalRecord, ExecutionRecord, SessionRecord};

use super::support::{Runner, World, patient, run, who};
use crate::{
    api::{ApiError, CreateSession},
    approval::ApproverAnswer,
};

async fn session(world: &World, runner: &mut Runner) -> SessionRecord {
    let request = CreateSession { profile: Some("strict".to_owned()), ..CreateSession::default() };
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

async fn allow(world: &World, approval: &ApprovalRecord, binding: &[u8]) -> Result<ApprovalRecord, ApiError> {
    let answer = ApproverAnswer::AllowOnce;
    world.services.approvals.decide(who("bob"), approval.id, binding, answer).await
}

fn files(state: FileState) -> Vec<BoundFile> {
    [("/workspace/f", state), ("/workspace/f.bak", FileState::Absent)]
        .map(|(path, state)| BoundFile { path: path.into(), state })
        .into()
}

#[tokio::test]
async fn an_edit_is_bound_to_its_inputs_and_results_and_asked_about_again_after_a_change() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner).await;
    *world.looker.0.lock().unwrap() = Some(FileState::Digest([1; 32]));
    let (record, approval) = asked(&world, &here, "sed -i.bak s/a/b/ f").await;
    assert_eq!(approval.files, files(FileState::Digest([1; 32])));
    assert_eq!(approved_results(&approval.terms), [[101; 32]]);
    allow(&world, &approval, &approval.binding).await.unwrap();
    let job = runner.next_job().await;
    let edit = job.grant.decided.edit.clone().unwrap();
    assert_eq!(edit.words, [&b"sed"[..], b"-i.bak", b"s/a/b/", b"f"]);
    assert_eq!((edit.files[0].result, job.binding), (Some([101; 32]), approval.binding));
    assert_eq!(job.grant.decided.files, approval.files);

    *world.looker.0.lock().unwrap() = Some(FileState::Digest([2; 32]));
    runner.refuses(&job, "files_changed").await;
    let waits = world.until(record.id, ExecutionState::PendingApproval).await;
    assert_eq!(waits.decision.reason_code, "files_changed");
    let again = world.store.approval(waits.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(again.files, files(FileState::Digest([2; 32])), "a new preview");
    assert_eq!(approved_results(&again.terms), [[102; 32]]);
    let stale = allow(&world, &again, &approval.binding).await;
    assert!(matches!(stale.unwrap_err(), ApiError::FailedPrecondition { reason: "BINDING_MISMATCH", .. }));
    allow(&world, &again, &again.binding).await.unwrap();
    let job = runner.next_job().await;
    assert_eq!(job.grant.decided.edit.unwrap().files[0].result, Some([102; 32]));
}

#[tokio::test]
async fn an_edit_without_a_preview_is_an_ordinary_command_with_a_note() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner).await;
    let (_, approval) = asked(&world, &here, "sed -i s/a/b/ f").await;
    assert!(approval.files.is_empty() && approved_results(&approval.terms).is_empty());
    let terms = String::from_utf8_lossy(&approval.terms);
    assert!(terms.contains("runner `r`"), "the note is part of the terms: {terms}");
    allow(&world, &approval, &approval.binding).await.unwrap();
    let job = runner.next_job().await;
    assert_eq!((job.grant.decided.edit, job.grant.decided.files), (None, Vec::new()));
    assert_eq!(job.binding, approval.binding);
}

#[tokio::test]
async fn only_a_question_has_an_edit() {
    let world = World::new().await;
    let mut runner = Runner::ready(&world).await;
    let here = session(&world, &mut runner).await;
    *world.looker.0.lock().unwrap() = Some(FileState::Digest([1; 32]));
    let (_, approval) = asked(&world, &here, "sed -i s/a/b/ f | cat").await;
    assert!(approved_results(&approval.terms).is_empty(), "it is no file edit");
    let request = CreateSession {
        profile: Some("strict".to_owned()),
        mode: Some(Mode::AcceptEdits),
        ..CreateSession::default()
    };
    let (lax, ()) = tokio::join!(world.services.sessions.create(who("ann"), request), runner.open_session());
    let record = world.services.executions.start(who("ann"), run(lax.unwrap().id, "sed -i s/a/b/ f")).await;
    let job = runner.next_job().await;
    assert_eq!((job.execution_id, job.grant.decided.edit), (record.unwrap().id, None), "it needs no answer");
}
