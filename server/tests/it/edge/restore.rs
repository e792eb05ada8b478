//! Tests of restores from quarantine: authorization and audit.

use std::path::Path;

use airlock_domain::{ExchangeFromRunner, ExchangeOrder, FileInfo, FileType, QuarantinedFile};
use airlock_proto::v1::{self, file_service_client::FileServiceClient};
use airlock_store::{AuditStore as _, Store as _, record::RestoreStep, sqlite::SqliteStore};
use sha2::{Digest as _, Sha256};
use tonic::Code;

use crate::edge::{
    exchange::{Stage, by},
    raw::Outcome,
    world::World,
};

fn item(id: &str, execution_id: &str) -> QuarantinedFile {
    QuarantinedFile {
        id: id.to_owned(),
        info: FileInfo {
            path: b"/workspace/.bashrc".to_vec(),
            file_type: FileType::Regular,
            size: 1,
            mode: 0o644,
            modified_micros: 0,
            link_target: Vec::new(),
        },
        reason: "created".to_owned(),
        moved_micros: 0,
        execution_id: execution_id.to_owned(),
    }
}

/// Returns the owner of the session as an additional approver.
fn approvers() -> String {
    let hash = hex::encode(Sha256::digest("owner"));
    format!(
        "[[identity]]\nname = \"owner\"\ntenant = \"one\"\nroles = [\"executor\", \"approver\"]\n\
         match = {{ token_sha256 = \"{hash}\" }}\n"
    )
}

/// Returns the audit of a store that is no longer in use.
async fn audited(database: &Path) -> Vec<(String, RestoreStep, Vec<u8>)> {
    let store = SqliteStore::open(database, Default::default()).await.unwrap();
    let entries = store.restores(10).await.unwrap();
    store.close().await;
    entries.into_iter().map(|entry| (entry.principal, entry.step, entry.path)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gives_back_what_their_own_command_made_and_the_audit_says_who_did() {
    let world = World::with(&approvers()).await;
    let mut stage = Stage::set(&world).await;
    let session_id = stage.session.clone();
    let restore = |token: &'static str| {
        let mut files = FileServiceClient::new(world.plain());
        let quarantine_id = "q1".to_owned();
        let request =
            v1::FileServiceRestoreQuarantineRequest { session_id: session_id.clone(), quarantine_id };
        tokio::spawn(async move { files.restore_quarantine(by(token, request)).await })
    };
    // A command of this identity created the file.
    let spec =
        v1::ExecutionSpec { command: "pwd".into(), session_id: session_id.clone(), ..Default::default() };
    let (_run, job) = stage.link.run_by("owner", &world, spec, None).await;
    stage.link.ended(&job, 0).await;
    let made = item("q1", &job.execution_id.to_string());

    let call = restore("owner");
    let (line, order) = stage.line().await;
    assert!(matches!(order, ExchangeOrder::Quarantine(_)), "{order:?}");
    line.say(ExchangeFromRunner::Quarantine { files: vec![made.clone()], more: false }).await;
    let outcome: Outcome = call.await.unwrap().unwrap_err().into();
    assert!(outcome.is(Code::PermissionDenied, "FORBIDDEN"), "{outcome:?}");

    let call = restore("approver");
    let (line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Quarantine { files: vec![made], more: false }).await;
    let (line, order) = stage.line().await;
    assert!(matches!(order, ExchangeOrder::Restore { .. }), "{order:?}");
    let path = b"/workspace/.bashrc".to_vec();
    line.say(ExchangeFromRunner::Restored { path: path.clone(), replaced_id: String::new() }).await;
    call.await.unwrap().unwrap();

    let call = restore("approver");
    let (line, _) = stage.line().await;
    line.say(ExchangeFromRunner::Quarantine { files: Vec::new(), more: false }).await;
    let outcome: Outcome = call.await.unwrap().unwrap_err().into();
    assert!(outcome.is(Code::NotFound, "NOT_IN_QUARANTINE"), "{outcome:?}");

    let database = world.folder().join("state/airlock.db");
    let _folder = world.end().await;
    let expected =
        [RestoreStep::Begun, RestoreStep::Restored].map(|step| ("approver".to_owned(), step, path.clone()));
    assert_eq!(audited(&database).await, expected);
}
