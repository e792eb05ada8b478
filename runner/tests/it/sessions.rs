//! Tests of sessions over the link.

use std::fs;

use airlock_domain::{CancelledBy, Cause, JobPhase, SessionId, SessionPhase, SessionSnapshot, ToRunner};

use crate::fixture::{Fixture, grant};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_with_its_base_and_ends_with_nothing() {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("hello"), "from the base\n").unwrap();
    let mut it = Fixture::with(Default::default(), |config| {
        config.bases.insert("project".to_owned(), base.path().to_owned());
    })
    .await;
    let session = it.open("project").await;
    assert_eq!(
        it.said(grant(session, "cat hello && rm hello && stat -c %u .")).await,
        "from the base\n1000\n"
    );
    assert!(base.path().join("hello").exists());
    // Opening it again changes nothing.
    it.link
        .send(ToRunner::OpenSession { session_id: session, base: "project".to_owned(), profile: None })
        .await;
    let phase = it.session(session).await;
    assert_eq!(
        phase,
        SessionPhase::Open { directory: b"/workspace".to_vec(), snapshot: SessionSnapshot::default() }
    );
    assert_eq!(it.said(grant(session, "ls")).await, "");
    it.close(session).await;
    it.close(session).await;
    assert_eq!(fs::read_dir(it.state("sessions")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(it.state("trash")).unwrap().count(), 0);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_that_is_not_offered_is_said_to_be_missing() {
    let mut it = Fixture::new().await;
    let session_id = SessionId::new();
    it.link.send(ToRunner::OpenSession { session_id, base: "../../etc".to_owned(), profile: None }).await;
    match it.session(session_id).await {
        SessionPhase::Failed { reason, .. } => assert_eq!(reason, "no_such_base"),
        other => panic!("{other:?}"),
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_what_runs() {
    let mut it = Fixture::new().await;
    let (closed, kept) = (it.open("").await, it.open("").await);
    let in_closed = it.offer(grant(closed, "sleep 1000")).await;
    let in_kept = it.offer(grant(kept, "until [ -e go ]; do sleep 0.02; done; echo on")).await;
    it.job(in_closed, JobPhase::Running).await;
    it.job(in_kept, JobPhase::Running).await;
    it.close(closed).await;
    let ended = it.job(in_closed, JobPhase::Ended).await.result.unwrap();
    assert_eq!(ended.cause, Cause::Cancelled(CancelledBy::Session));
    assert_eq!(it.refusal(grant(closed, "true")).await, "no_such_session");
    it.let_go("go");
    let other = it.job(in_kept, JobPhase::Ended).await.result.unwrap();
    assert_eq!(other.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_see_nothing_of_each_other() {
    let mut it = Fixture::new().await;
    let (one, two) = (it.open("").await, it.open("").await);
    it.said(grant(one, "echo secret | tee /workspace/f /tmp/f ~/f")).await;
    assert_eq!(it.said(grant(two, "ls /workspace /tmp ~")).await, "/home/agent:\n\n/tmp:\n\n/workspace:\n");
    it.shut_down().await;
}
