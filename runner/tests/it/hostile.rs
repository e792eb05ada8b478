//! Tests of a server that requests too much, or sends invalid messages: it is refused, and the runner continues.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use airlock_domain::{
    Bind, Cause, Epoch, ExecutionId, JobPhase, PushFromRunner, PushToRunner, Requirement, Shell, StartJob,
    ToRunner,
};
use airlock_proto::runner_v1::{ConnectResponse, StartJob as WireStartJob, connect_response::Message};

use crate::fixture::{Fixture, PATIENCE, grant, offer, reason};

#[tokio::test(flavor = "multi_thread")]
async fn more_than_the_floor_is_refused_and_nothing_runs() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let base = grant(session, "echo ran > /workspace/ran");
    let mut bind = base.clone();
    bind.profile.root_binds.push(Bind { source: "/root".into(), target: "/opt/root".into() });
    let mut long = base.clone();
    long.command.timeout = Duration::from_secs(1 << 30);
    let mut greedy = base.clone();
    greedy.profile.limits.output_bytes = u64::MAX;
    for asked in [bind, long, greedy] {
        assert_eq!(it.refusal(asked).await, "floor");
    }
    let mut path = base.clone();
    path.requires = vec![Requirement::TrustedPath];
    path.decided.programs = vec![b"ls".to_vec()];
    path.profile.path = "/workspace:/usr/bin".to_owned();
    assert_eq!(it.refusal(path).await, "untrusted_path");
    let mut preload = base.clone();
    preload.command.env.insert("LD_PRELOAD".to_owned(), b"/workspace/x.so".to_vec());
    assert_eq!(it.refusal(preload).await, "environment");
    let mut elsewhere = base.clone();
    elsewhere.command.directory = b"/etc".to_vec();
    assert_eq!(it.refusal(elsewhere).await, "no_such_directory");
    let stranger = grant(airlock_domain::SessionId::new(), "true");
    assert_eq!(it.refusal(stranger).await, "no_such_session");
    assert_eq!(it.said(grant(session, "ls /workspace")).await, "");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_not_what_was_decided_is_refused() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut swapped = offer(it.link.hello.epoch, grant(session, "echo decided"));
    swapped.grant.command.text = b"echo other".to_vec();
    let mut tainted = offer(it.link.hello.epoch, grant(session, "true"));
    tainted.grant.command.env.insert("X".to_owned(), Vec::new());
    for offer in [swapped, tainted] {
        let id = offer.execution_id;
        it.link.send(ToRunner::StartJob(Box::new(offer))).await;
        assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "binding_mismatch");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_epochs_and_late_offers_are_refused_for_good() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let stale = offer(Epoch::new(), grant(session, "true"));
    let mut late = offer(it.link.hello.epoch, grant(session, "true"));
    late.not_after_clock_ms = it.link.hello.clock_ms;
    tokio::time::sleep(Duration::from_millis(5)).await;
    for (offer, why) in [(stale, "stale_epoch"), (late, "past_not_after")] {
        let id = offer.execution_id;
        it.link.send(ToRunner::StartJob(Box::new(offer.clone()))).await;
        assert_eq!(reason(&it.job(id, JobPhase::Refused).await), why);
        // The same execution and attempt get the same answer, regardless of the offer's contents. A new attempt is a
        // new offer.
        let mut again = offer.clone();
        again.epoch = it.link.hello.epoch;
        again.not_after_clock_ms = u64::MAX;
        it.link.send(ToRunner::StartJob(Box::new(again.clone()))).await;
        assert_eq!(reason(&it.job(id, JobPhase::Refused).await), why);
        again.attempt = 2;
        it.link.send(ToRunner::StartJob(Box::new(again))).await;
        assert_eq!(it.job(id, JobPhase::Ended).await.attempt, 2);
        it.link.send(ToRunner::StartJob(Box::new(offer))).await;
        assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "already_accepted");
    }
    it.shut_down().await;
}

/// Replaces a part of the encoded grant.
fn replace(wire: &mut WireStartJob, from: &str, to: &str) {
    let grant = wire.grant.as_mut().unwrap();
    let encoded = std::str::from_utf8(&grant.encoded).unwrap();
    assert_eq!(encoded.matches(from).count(), 1, "{encoded}");
    grant.encoded = encoded.replace(from, to).into();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_that_cannot_be_understood_is_refused_for_good() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let good = offer(it.link.hello.epoch, grant(session, "echo ran > ran"));
    let id = good.execution_id;
    let wire = WireStartJob::from(good.clone());
    let change = |change: fn(&mut WireStartJob)| {
        let mut wire = wire.clone();
        change(&mut wire);
        wire
    };
    let newer = [
        change(|wire| replace(wire, r#""requires":[]"#, r#""requires":["MOON_PHASE"]"#)),
        change(|wire| replace(wire, r#""shell":"bash""#, r#""shell":"fish""#)),
        // A field of a later version, which this runner could not enforce.
        change(|wire| replace(wire, r#""shell":"bash""#, r#""shell":"bash","later":true"#)),
        change(|wire| wire.grant = None),
    ];
    for start in newer {
        it.link.to.send(Ok(ConnectResponse { message: Some(Message::StartJob(start)) })).await.unwrap();
        let refused = it.job(id, JobPhase::Refused).await;
        assert_eq!((refused.attempt, reason(&refused).as_str()), (1, "malformed_grant"));
    }
    // The answer is final for this execution and attempt, even if the offer is valid now. A new attempt is a new offer.
    it.link.send(ToRunner::StartJob(Box::new(good.clone()))).await;
    assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "malformed_grant");
    it.link.send(ToRunner::StartJob(Box::new(StartJob { attempt: 2, ..good }))).await;
    assert_eq!(it.job(id, JobPhase::Ended).await.attempt, 2);
    // An accepted job stays accepted, regardless of later messages about it.
    let later = WireStartJob { attempt: 3, grant: None, ..wire };
    it.link.to.send(Ok(ConnectResponse { message: Some(Message::StartJob(later)) })).await.unwrap();
    assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "already_accepted");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_offer_runs_once() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let offer = offer(it.link.hello.epoch, grant(session, "echo line >> /workspace/lines"));
    let id = offer.execution_id;
    for _ in 0..5 {
        it.link.send(ToRunner::StartJob(Box::new(offer.clone()))).await;
    }
    let first = it.job(id, JobPhase::Ended).await;
    it.link.send(ToRunner::StartJob(Box::new(offer.clone()))).await;
    assert_eq!(it.job(id, JobPhase::Ended).await, first);
    it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
    it.link.send(ToRunner::StartJob(Box::new(offer))).await;
    assert_eq!(reason(&it.job(id, JobPhase::Refused).await), "already_accepted");
    assert_eq!(it.said(grant(session, "cat /workspace/lines")).await, "line\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_are_kept_to() {
    let mut it = Fixture::with(Default::default(), |config| config.slots = 2).await;
    let session = it.open("").await;
    let mut running = Vec::new();
    for _ in 0..2 {
        let id = it.offer(grant(session, "sleep 1000")).await;
        it.job(id, JobPhase::Running).await;
        running.push(id);
    }
    assert_eq!(it.refusal(grant(session, "true")).await, "no_slots");
    for execution_id in running {
        it.link.send(ToRunner::EndJob { execution_id, cause: Cause::OutputLimit }).await;
        it.job(execution_id, JobPhase::Ended).await;
    }
    it.run(grant(session, "true")).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_not_there_is_said_to_be_missing() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut pwsh = grant(session, "true");
    pwsh.command.shell = Shell::Pwsh;
    let (_, result) = it.run(pwsh).await;
    let message = "pwsh is not installed where the command runs; installed: bash, zsh".to_owned();
    assert_eq!(result.cause, Cause::ShellUnavailable { message });
    let mut zsh = grant(session, "print -r -- ${(U):-zsh}");
    zsh.command.shell = Shell::Zsh;
    let (_, result) = it.run(zsh).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    assert_eq!(result.stdout_bytes, 4);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_costs_a_hostile_server_its_stream_and_nobody_else_anything() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // Messages that violate the contract.
    let empty = ConnectResponse { message: None };
    let no_grant = WireStartJob { execution_id: "x".to_owned(), ..WireStartJob::default() };
    let bad_start = ConnectResponse { message: Some(Message::StartJob(no_grant)) };
    for message in [empty, bad_start] {
        it.link.to.send(Ok(message)).await.unwrap();
    }
    // Unknown jobs and outputs.
    let stranger = ExecutionId::new();
    it.link.send(ToRunner::EndJob { execution_id: stranger, cause: Cause::OomKilled }).await;
    it.link.send(ToRunner::ForgetJob { execution_id: stranger }).await;
    let unknown = it.output(stranger).await;
    assert!(matches!(unknown.hello, PushFromRunner::Hello { missing: true, .. }));
    // Too many reads.
    let (id, _) = it.run(grant(session, "echo out")).await;
    let mut greedy = it.output(id).await;
    let stream = airlock_domain::OutputStream::Stdout;
    for read_id in 0..40 {
        let read = PushToRunner::Read { read_id, stream, offset: u64::MAX, max_bytes: 1, follow: true };
        if greedy.to.send(Ok(read.into())).await.is_err() {
            break;
        }
    }
    while tokio::time::timeout(PATIENCE, greedy.from.recv()).await.unwrap().is_some() {}
    // A running job cannot be forgotten.
    let busy = it.offer(grant(session, "until [ -e go ]; do sleep 0.02; done; echo end")).await;
    it.job(busy, JobPhase::Running).await;
    it.link.send(ToRunner::ForgetJob { execution_id: busy }).await;
    it.said(grant(session, "touch go")).await;
    it.job(busy, JobPhase::Ended).await;
    assert_eq!(it.text(busy, stream).await, "end\n");
    it.shut_down().await;
}
