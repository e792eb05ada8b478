//! Tests of links that break, recover, become silent, or have another protocol version.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use airlock_domain::{
    CancelledBy, Cause, ExecutionId, FromRunner, JobPhase, OutputStream, PushFromRunner, SessionId,
    SessionPhase, Started, ToRunner,
};
use airlock_runner::{Runner, StartError, config::ServerConfig};
use tokio::task::JoinHandle;

use crate::{
    fake::{FakeServer, Manners},
    fixture::{Fixture, PATIENCE, config, grant, offer, reason, until},
    process::strays,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_heals_is_told_everything_again() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (done, _) = it.run(grant(session, "echo done")).await;
    let (forgotten, _) = it.run(grant(session, "true")).await;
    it.link.send(ToRunner::ForgetJob { execution_id: forgotten }).await;
    let running = it.offer(grant(session, "until [ -e go ]; do sleep 0.02; done; echo later")).await;
    it.job(running, JobPhase::Running).await;
    let epoch = it.link.hello.epoch;

    let address = it.server.stop();
    it.server = FakeServer::listen(address, Manners::default()).await;
    it.next_link().await;
    assert_eq!(it.link.hello.epoch, epoch);
    let mut told = Vec::new();
    loop {
        match it.link.from.recv().await.unwrap() {
            FromRunner::Reconciled => break,
            FromRunner::Job(job) => told.push((job.execution_id, job.phase)),
            FromRunner::Session(open) => assert_eq!(open.session_id, session),
            other => panic!("{other:?}"),
        }
    }
    told.sort_by_key(|(id, _)| *id);
    assert_eq!(told, [(done, JobPhase::Ended), (running, JobPhase::Running)]);
    it.let_go("go");
    it.job(running, JobPhase::Ended).await;
    assert_eq!(it.text(running, OutputStream::Stdout).await, "later\n");
    assert_eq!(it.text(done, OutputStream::Stdout).await, "done\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn past_link_grace_the_epoch_ends_and_its_jobs_with_it() {
    let manners = Manners { link_grace: Duration::from_millis(700), ..Manners::default() };
    let mut it = Fixture::with(manners, |_| {}).await;
    let session = it.open("").await;
    let running = it.offer(grant(session, "echo kept; sleep 1000")).await;
    it.job(running, JobPhase::Running).await;
    it.shown(running, "kept\n").await;
    let old = it.link.hello.epoch;
    let address = it.server.stop();
    until("its jobs are ended", || strays() == 0).await;
    it.server = FakeServer::listen(address, manners).await;
    it.next_link().await;
    assert_ne!(it.link.hello.epoch, old);
    let lost = it.job(running, JobPhase::Lost).await;
    assert_eq!(lost.epoch, old);
    let result = lost.result.unwrap();
    assert_eq!((result.cause, result.started, result.stdout_bytes), (Cause::RunnerLost, Started::Yes, 5));
    assert_eq!(it.text(running, OutputStream::Stdout).await, "kept\n");
    let stale = offer(old, grant(session, "true"));
    let id = stale.execution_id;
    it.link.send(ToRunner::StartJob(Box::new(stale))).await;
    assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "stale_epoch");
    // The session is unchanged.
    it.run(grant(session, "true")).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_cut_ends_nothing() {
    let manners = Manners { link_grace: PATIENCE * 5, ..Manners::default() };
    let mut it = Fixture::with(manners, |_| {}).await;
    let session = it.open("").await;
    let running = it.offer(grant(session, "until [ -e go ]; do sleep 0.02; done; echo on")).await;
    it.job(running, JobPhase::Running).await;
    let address = it.server.stop();
    let runner = it.runner.as_ref().unwrap();
    until("the link is lost", || !runner.is_linked()).await;
    it.server = FakeServer::listen(address, manners).await;
    it.next_link().await;
    it.let_go("go");
    let ended = it.job(running, JobPhase::Ended).await.result.unwrap();
    assert_eq!(ended.cause, Cause::Exited { code: 0 });
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_dialled_again() {
    let heartbeat_interval = Duration::from_millis(200);
    let manners = Manners { heartbeats: false, heartbeat_interval, ..Manners::default() };
    let mut it = Fixture::with(manners, |_| {}).await;
    let first = it.link.hello.clone();
    it.next_link().await;
    assert_eq!(it.link.hello.epoch, first.epoch);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_another_version_is_not_obeyed() {
    let dir = airlock_mounts::ScratchDir::new();
    let manners = Manners { protocol_version: 99, ..Manners::default() };
    let mut server = FakeServer::start(manners).await;
    let runner = Runner::start(config(dir.path(), &server)).await.unwrap();
    let first = server.link().await;
    assert!(!runner.is_linked());
    server.manners.lock().unwrap().protocol_version = airlock_proto::LINK_PROTOCOL_VERSION;
    drop(first);
    // The runner reconnects, slowly.
    let mut second = server.link().await;
    while second.from.recv().await != Some(FromRunner::Reconciled) {}
    assert!(runner.is_linked());
    runner.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_reports_is_cut_off_and_told_all_of_it_later() {
    let mut it = Fixture::with(Manners::default(), |config| config.limits.link_queue = 16).await;
    let session = it.open("").await;
    // From the next link on the server reads nothing, and all queues fill up.
    it.server.manners.lock().unwrap().read_reports = false;
    it.link.to = tokio::sync::mpsc::channel(1).0;
    it.next_link().await;
    it.server.manners.lock().unwrap().read_reports = true;
    let mut cut = false;
    for _ in 0..200_000 {
        let close = ToRunner::CloseSession { session_id: SessionId::new() };
        cut = it.link.to.send(Ok(close.into())).await.is_err();
        if cut {
            break;
        }
    }
    assert!(cut);
    it.next_link().await;
    assert!(matches!(it.session(session).await, SessionPhase::Open { .. }));
    it.reconciled().await;
    it.run(grant(session, "true")).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_server_is_told_of_every_job() {
    let second = FakeServer::start(Manners::default()).await;
    let mut it = Fixture::with(Manners::default(), |config| {
        let mut other = config.servers.first().cloned().into_iter().collect::<Vec<_>>();
        other.iter_mut().for_each(|other| other.endpoint = format!("http://{}", second.address));
        config.servers.extend(other);
    })
    .await;
    let mut second = second;
    let mut other = second.link().await;
    assert_eq!(other.hello.epoch, it.link.hello.epoch);
    // A server that is not reconciled yet receives jobs that have ended as ended.
    while other.from.recv().await.unwrap() != FromRunner::Reconciled {}
    let session = it.open("").await;
    let (id, _) = it.run(grant(session, "true")).await;
    let mut phases = Vec::new();
    while phases.last() != Some(&JobPhase::Ended) {
        if let FromRunner::Job(job) = other.from.recv().await.unwrap() {
            assert_eq!(job.execution_id, id);
            phases.push(job.phase);
        }
    }
    assert_eq!(phases, [JobPhase::Accepted, JobPhase::Running, JobPhase::Ended]);
    // One server is enough to continue.
    it.server.stop();
    let offer = offer(other.hello.epoch, grant(session, "echo on"));
    let id = offer.execution_id;
    other.send(ToRunner::StartJob(Box::new(offer))).await;
    loop {
        match other.from.recv().await.unwrap() {
            FromRunner::Job(job) if job.execution_id == id && job.phase == JobPhase::Ended => break,
            _ => {}
        }
    }
    it.runner.unwrap().shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_made_while_another_offers_jobs_blocks_neither() {
    let mut second = FakeServer::start(Manners::default()).await;
    let mut it = Fixture::with(Manners::default(), |config| {
        let endpoint = format!("http://{}", second.address);
        config.servers.push(ServerConfig { endpoint, insecure_loopback: true, ..ServerConfig::default() });
        config.reconnect.first = Duration::from_millis(1);
    })
    .await;
    let session = it.open("").await;
    let mut elsewhere = grant(session, "true");
    elsewhere.command.directory = b"/workspace/gone".to_vec();
    let (to, epoch) = (it.link.to.clone(), it.link.hello.epoch);
    let offers = tokio::spawn(async move {
        loop {
            let start = ToRunner::StartJob(Box::new(offer(epoch, elsewhere.clone())));
            to.send(Ok(start.into())).await.unwrap();
            tokio::time::sleep(Duration::from_micros(50)).await;
        }
    });
    for _ in 0..20 {
        drop(second.link().await);
    }
    offers.abort();
    it.run(grant(session, "true")).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfetched_output_is_kept_for_a_time() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (before, _) = it.run(grant(session, "echo kept")).await;
    assert_eq!(it.text(before, OutputStream::Stdout).await, "kept\n");
    it.shut_down().await;
    // The retention of existing jobs starts with the next process, that of a new job with its end.
    it.config.spool.keep = Duration::from_millis(600);
    it.runner = Some(Runner::start(it.config.clone()).await.unwrap());
    it.next_link().await;
    let (after, _) = it.run(grant(session, "echo kept")).await;
    let spool = it.state("spool");
    until("no output is kept", || std::fs::read_dir(&spool).unwrap().count() == 0).await;
    for id in [before, after] {
        let gone = it.output(id).await;
        assert!(matches!(gone.hello, PushFromRunner::Hello { missing: true, .. }));
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_dir_has_one_runner() {
    let it = Fixture::new().await;
    let error = Runner::start(it.config.clone()).await.unwrap_err();
    assert!(matches!(error, StartError::InUse(_)), "{error}");
    it.runner.unwrap().shut_down().await;
    Runner::start(it.config.clone()).await.unwrap().shut_down().await;
}

/// Shuts the runner down while a job runs. Returns the job and the pending `shut_down`.
async fn drained(it: &mut Fixture, session: SessionId, command: &str) -> (ExecutionId, JoinHandle<usize>) {
    let id = it.offer(grant(session, command)).await;
    it.job(id, JobPhase::Running).await;
    let down = tokio::spawn(it.runner.take().unwrap().shut_down());
    it.report(|message| matches!(message, FromRunner::Draining { .. }).then_some(())).await;
    assert_eq!(it.refusal(grant(session, "true")).await, "draining");
    (id, down)
}

#[tokio::test(flavor = "multi_thread")]
async fn draining_takes_no_new_work_and_says_what_was_cut() {
    let mut it = Fixture::with(Manners::default(), |config| {
        config.drain.grace = PATIENCE;
        config.drain.handover = PATIENCE;
    })
    .await;
    let session = it.open("").await;
    // A command that ends within the grace period keeps all of its output.
    let (short, down) = drained(&mut it, session, "until [ -e go ]; do sleep 0.02; done; echo whole").await;
    it.let_go("go");
    assert_eq!(it.job(short, JobPhase::Ended).await.result.unwrap().cause, Cause::Exited { code: 0 });
    assert_eq!(it.text(short, OutputStream::Stdout).await, "whole\n");
    it.link.send(ToRunner::ForgetJob { execution_id: short }).await;
    assert_eq!(down.await.unwrap(), 0);
    // A command that does not is cancelled.
    it.config.drain.grace = Duration::from_millis(100);
    it.runner = Some(Runner::start(it.config.clone()).await.unwrap());
    it.next_link().await;
    let (long, down) = drained(&mut it, session, "sleep 1000").await;
    let cut = it.job(long, JobPhase::Ended).await.result.unwrap();
    assert_eq!(cut.cause, Cause::Cancelled(CancelledBy::Drain));
    it.link.send(ToRunner::ForgetJob { execution_id: long }).await;
    assert_eq!(down.await.unwrap(), 1);
    // At the next start the session exists, and the jobs do not.
    let again = Runner::start(it.config.clone()).await.unwrap();
    it.next_link().await;
    assert!(matches!(it.session(session).await, SessionPhase::Open { .. }));
    it.reconciled().await;
    assert_eq!(std::fs::read_dir(it.state("spool")).unwrap().count(), 0);
    again.shut_down().await;
}

/// Cuts the journal after the record that accepts a job, as a crash directly after it would.
fn cut_after_acceptance(journal: &std::path::Path) {
    let bytes = std::fs::read(journal).unwrap();
    let mut at = 0;
    while at < bytes.len() {
        let len = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let entry = at + 8..at + 8 + usize::try_from(len).unwrap();
        at = entry.end;
        if bytes[entry].starts_with(b"{\"accepted\"") {
            std::fs::write(journal, &bytes[..at]).unwrap();
            return;
        }
    }
    panic!("no job was accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_job_without_a_start_record_may_have_run() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let (id, _) = it.run(grant(session, "echo ran")).await;
    it.shut_down().await;
    cut_after_acceptance(&it.state("journal"));
    it.runner = Some(Runner::start(it.config.clone()).await.unwrap());
    it.next_link().await;
    let lost = it.job(id, JobPhase::Lost).await.result.unwrap();
    assert_eq!((lost.cause, lost.started, lost.stdout_bytes), (Cause::RunnerLost, Started::Unknown, 4));
    assert_eq!(it.text(id, OutputStream::Stdout).await, "ran\n");
    it.shut_down().await;
}
