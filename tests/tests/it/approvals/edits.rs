//! File edits from the question to the write: the approver sees the real change, and exactly this change is written.

use super::*;

/// Returns the preview of an approval.
fn preview(approval: &v1::Approval) -> &v1::EditPreview {
    approval.terms.as_ref().and_then(|terms| terms.edit.as_ref()).unwrap()
}

fn diff(approval: &v1::Approval) -> String {
    preview(approval).files.iter().map(|file| String::from_utf8_lossy(file.diff())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_is_shown_again_and_written_as_shown() {
    let fixture = Fixture::new().await;
    let session = fixture.session("edits").await;
    fixture.does(&session, "printf 'a\\nb' > f; chmod 640 f").await;
    let (execution, approval) = fixture.asks(&session, "sed -i.bak s/a/X/ f").await;
    let edit = approval.decision.as_ref().and_then(|decision| decision.edit.as_ref()).unwrap();
    assert_eq!((edit.files[0].path.as_str(), edit.backup_suffix.as_str()), ("/workspace/f", ".bak"));
    assert!(diff(&approval).ends_with("@@ -1,2 +1,2 @@\n-a\n+X\n b\n\\ No newline at end of file\n"));
    let paths: Vec<&str> = approval.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["/workspace/f", "/workspace/f.bak"], "both are bound");

    fixture.does(&session, "printf 'a\\nother\\n' > f").await;
    fixture.answers(&approval, once()).await.unwrap();
    let again = fixture.asked_again(&execution, &approval).await;
    assert_ne!(again.binding, approval.binding);
    assert_eq!(again.decision.as_ref().unwrap().reasons[0].code, "files_changed");
    assert!(diff(&again).ends_with("@@ -1,2 +1,2 @@\n-a\n+X\n other\n"), "{}", diff(&again));
    fixture.does(&session, "test \"$(cat f)\" = $'a\\nother' && test ! -e f.bak").await;

    fixture.answers(&again, once()).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0));
    let after = hex::encode(&preview(&again).files[0].after_sha256);
    fixture.does(&session, &format!("echo '{after}  f' | sha256sum --check")).await;
    fixture.does(&session, "test \"$(stat -c %a f) $(cat f.bak)\" = $'640 a\\nother'").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_without_a_preview_states_why_and_runs_as_a_command() {
    let fixture = Fixture::new().await;
    let session = fixture.session("edits").await;
    let (execution, approval) = fixture.asks(&session, "sed -i s/a/X/ missing").await;
    let found = preview(&approval);
    assert!(
        found.files.is_empty() && found.note.contains("`/workspace/missing` does not exist"),
        "{found:?}"
    );
    fixture.does(&session, "echo a > missing").await;
    fixture.answers(&approval, once()).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(0), "the answer covers the command");
    fixture.does(&session, "test \"$(cat missing)\" = X").await;

    let (_, approval) = fixture.asks(&session, "sed -i 's/a/(/;s/\\(/b/' missing").await;
    assert!(preview(&approval).note.contains("sed failed: sed: -e expression"), "{:?}", preview(&approval));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exit_code_of_an_edit_is_that_of_sed() {
    let fixture = Fixture::new().await;
    let session = fixture.session("edits").await;
    fixture.does(&session, "printf 'a\\na\\n' > f").await;
    let (execution, approval) = fixture.asks(&session, "sed -i '1{s/a/X/;q7}' f").await;
    fixture.answers(&approval, once()).await.unwrap();
    assert_eq!(exit_code(&fixture.ended(&execution).await), Some(7));
    let after = hex::encode(&preview(&approval).files[0].after_sha256);
    fixture.does(&session, &format!("echo '{after}  f' | sha256sum --check")).await;
}
