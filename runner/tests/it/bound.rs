//! Tests of offers with bound files, which are read before the answer, on a separate task.

use airlock_domain::{
    BoundFile, CancelledBy, Cause, Decided, ExecutionId, FileState, FromRunner, Grant, JobPhase, SessionId,
    StartJob, ToRunner,
};
use sha2::{Digest as _, Sha256};

use crate::fixture::{Fixture, grant, offer, reason};

/// The size of each file, close to the limit for bound files.
const LARGE: u64 = 16_000_000;

fn bound(session: SessionId, command: &str, files: &[(&str, FileState)]) -> Grant {
    let file = |(name, state): &(&str, FileState)| BoundFile {
        path: format!("/workspace/{name}").into_bytes(),
        state: *state,
    };
    let files = files.iter().map(file).collect();
    Grant { decided: Decided { files, ..Decided::default() }, ..grant(session, command) }
}

async fn large_files(it: &mut Fixture) -> SessionId {
    let session = it.open("").await;
    it.run(grant(session, &format!("head -c {LARGE} /dev/zero > one; cp one two"))).await;
    session
}

/// Returns a grant that is refused after all its files were read.
fn changed(session: SessionId) -> Grant {
    let other = FileState::Digest([1; 32]);
    bound(session, "echo never", &[("one", other), ("two", other)])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_waits_for_files_delays_no_other() {
    let mut it = Fixture::with(crate::fake::Manners::default(), |config| config.slots = 16).await;
    let session = large_files(&mut it).await;
    let mut looked_at = Vec::new();
    for _ in 0..12 {
        looked_at.push(it.offer(changed(session)).await);
    }
    let last = *looked_at.last().unwrap();
    let free = it.offer(grant(session, "true")).await;
    let answered = |message: &FromRunner| match message {
        FromRunner::Job(job) if job.execution_id == free || job.execution_id == last => {
            Some(job.execution_id)
        }
        _ => None,
    };
    assert_eq!(it.report(answered).await, free, "the control stream answers other messages first");
    for id in looked_at {
        let refused = it.job(id, JobPhase::Refused).await;
        assert_eq!(reason(&refused), "files_changed");
        let Cause::Refused { files, .. } = refused.result.unwrap().cause else { panic!("refused") };
        let is = FileState::Digest(Sha256::digest(vec![0; usize::try_from(LARGE).unwrap()]).into());
        assert!(files.len() == 2 && files.iter().all(|file| file.state == is), "{files:?}");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_offer_that_waits_for_files_never_starts() {
    let mut it = Fixture::with(crate::fake::Manners::default(), |config| config.slots = 16).await;
    let session = large_files(&mut it).await;
    for _ in 0..8 {
        it.offer(changed(session)).await;
    }
    let zeros = FileState::Digest(Sha256::digest(vec![0; usize::try_from(LARGE).unwrap()]).into());
    let ended = it.offer(bound(session, "touch ran", &[("one", zeros)])).await;
    let cause = Cause::Cancelled(CancelledBy::Client);
    it.link.send(ToRunner::EndJob { execution_id: ended, cause: cause.clone() }).await;
    // The end arrived before the answer or directly after it.
    let end = it.report(|message| match message {
        FromRunner::Job(job) if job.execution_id == ended && job.result.is_some() => job.result.clone(),
        _ => None,
    });
    let end = end.await.cause;
    assert!(end == cause || matches!(&end, Cause::Refused { reason, .. } if reason == "ended"), "{end:?}");
    // The control: without an end, it runs.
    it.run(bound(session, "touch ran-too", &[("one", zeros)])).await;
    assert_eq!(it.said(grant(session, "ls")).await, "one\nran-too\ntwo\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_is_looked_at_is_answered_once_and_there_are_no_more_than_slots() {
    let mut it = Fixture::with(crate::fake::Manners::default(), |config| config.slots = 4).await;
    let session = large_files(&mut it).await;
    let again: StartJob = offer(it.link.hello.epoch, changed(session));
    let mut ids: Vec<ExecutionId> = vec![again.execution_id];
    for _ in 0..3 {
        it.link.send(ToRunner::StartJob(Box::new(again.clone()))).await;
    }
    for _ in 0..8 {
        ids.push(it.offer(changed(session)).await);
    }
    let mut reasons = Vec::new();
    for id in &ids {
        reasons.push(reason(&it.job(*id, JobPhase::Refused).await));
    }
    let count = |wanted: &str| reasons.iter().filter(|reason| *reason == wanted).count();
    assert_eq!(count("files_changed") + count("no_slots"), ids.len(), "{reasons:?}");
    assert!(count("files_changed") >= 4 && count("no_slots") >= 1, "{reasons:?}");
    let closed = it.open("").await;
    it.close(closed).await;
    assert_eq!(it.refusal(changed(closed)).await, "no_such_session");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outside_the_sandbox_is_bound_to_its_files() {
    let mut it =
        Fixture::with(crate::fake::Manners::default(), |config| config.floor.unsandboxed = true).await;
    let session = it.open("").await;
    it.run(grant(session, "echo echo one > x.sh")).await;
    let one = FileState::Digest(Sha256::digest("echo one\n").into());
    let outside = |state| Grant { unsandboxed: true, ..bound(session, "bash x.sh", &[("x.sh", state)]) };
    assert_eq!(it.said(outside(one)).await, "one\n");
    it.run(grant(session, "echo echo two > x.sh")).await;
    assert_eq!(it.refusal(outside(one)).await, "files_changed");
    assert_eq!(it.said(outside(FileState::Any)).await, "two\n", "the control");
    it.shut_down().await;
}
