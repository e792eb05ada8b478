//! Tests of commands in real sandboxes, over a real link.

use std::time::{Duration, Instant};

use airlock_domain::{
    CancelledBy, Cause, DirectoryReport, JobPhase, OutputStream, PushFromRunner, PushToRunner, Started,
    TimeoutKind, ToRunner,
};

use crate::fixture::{Fixture, grant, until};

/// The maximum that a floor permits. No command in these tests needs as long to write its last output.
const GRACE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_and_signals_are_told_as_they_were() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    for (command, cause) in [
        ("true", Cause::Exited { code: 0 }),
        ("exit 7", Cause::Exited { code: 7 }),
        ("exit 255", Cause::Exited { code: 255 }),
        ("no-such-program", Cause::Exited { code: 127 }),
        ("kill -KILL $$", Cause::Signaled { signal: 9, core: false }),
        ("exec true", Cause::Exited { code: 0 }),
        ("'unbalanced", Cause::Exited { code: 2 }),
    ] {
        let (_, result) = it.run(grant(session, command)).await;
        assert_eq!(result.cause, cause, "{command}");
        assert_eq!(result.started, Started::Yes);
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_phases_come_in_order_and_usage_is_told() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.offer(grant(session, "i=0; while ((i < 100000)); do ((i++)); done; printf done")).await;
    let accepted = it.job(id, JobPhase::Accepted).await;
    assert_eq!((accepted.attempt, accepted.epoch), (1, it.link.hello.epoch));
    it.job(id, JobPhase::Running).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert!(result.cpu_time > Duration::from_millis(1), "{result:?}");
    assert!(result.peak_memory > 100_000);
    assert!(result.run_time >= Duration::from_millis(1));
    assert_eq!((result.stdout_bytes, result.stderr_bytes, result.stdout_cut_bytes), (4, 0, 0));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_comes_live_and_in_true_order() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let command = "echo one; echo two >&2; echo three; until [ -e go ]; do sleep 0.02; done; echo four";
    let id = it.offer(grant(session, command)).await;
    it.job(id, JobPhase::Running).await;
    let mut output = it.output(id).await;
    let stream = OutputStream::Stdout;
    output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes: 1 << 20, follow: true }).await;
    let mut text = Vec::new();
    while text.len() < 14 {
        match output.next().await {
            PushFromRunner::Chunk { data, .. } => text.extend_from_slice(&data),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text, b"one\ntwo\nthree\n", "the report arrived while the command ran");
    it.let_go("go");
    it.job(id, JobPhase::Ended).await;
    assert_eq!(it.text(id, OutputStream::Stdout).await, "one\ntwo\nthree\nfour\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stderr_can_be_apart() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut apart = grant(session, "echo out; echo err >&2");
    apart.command.separate_stderr = true;
    let (id, result) = it.run(apart).await;
    assert_eq!((result.stdout_bytes, result.stderr_bytes), (4, 4));
    assert_eq!(it.text(id, OutputStream::Stdout).await, "out\n");
    assert_eq!(it.text(id, OutputStream::Stderr).await, "err\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_ends_all_of_it_and_says_so() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // No process of it exits during the test.
    let mut slow = grant(session, "echo begun; sleep 1000 & sleep 1000");
    slow.command.timeout = Duration::from_millis(300);
    loop {
        let (id, result) = it.run(slow.clone()).await;
        assert_eq!(result.cause, Cause::TimedOut(TimeoutKind::Wall));
        let said = it.text(id, OutputStream::Stdout).await;
        if said == "begun\n" {
            break;
        }
        // On a busy host the command may not have progressed far enough, so it gets more time.
        assert_eq!(said, "");
        slow.command.timeout *= 2;
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_lets_the_command_clean_up_and_does_not_wait_for_ever() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let cancelled = Cause::Cancelled(CancelledBy::Client);
    for (command, grace, said) in [
        ("trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.05; done", GRACE, "on\nbye\n"),
        ("trap '' TERM; echo on; while :; do sleep 0.05; done", Duration::from_millis(500), "on\n"),
    ] {
        let mut asked = grant(session, command);
        asked.profile.limits.grace = grace;
        let id = it.offer(asked).await;
        it.job(id, JobPhase::Running).await;
        it.shown(id, "on\n").await;
        let begun = Instant::now();
        it.link.send(ToRunner::EndJob { execution_id: id, cause: cancelled.clone() }).await;
        // The first cause wins.
        let admin = Cause::Cancelled(CancelledBy::Admin);
        it.link.send(ToRunner::EndJob { execution_id: id, cause: admin }).await;
        let result = it.job(id, JobPhase::Ended).await.result.unwrap();
        assert_eq!(result.cause, cancelled);
        // The grace period is used up only by a command that ignores the signal.
        assert_eq!(begun.elapsed() >= grace, grace != GRACE, "{command}");
        let text = it.text(id, OutputStream::Stdout).await;
        // bash also prints that the child that it waited for was terminated.
        assert_eq!(text.replace("Terminated\n", ""), said);
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_right_after_the_offer_still_ends_in_one_truth() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    for _ in 0..10 {
        let id = it.offer(grant(session, "sleep 1000")).await;
        let cause = Cause::Cancelled(CancelledBy::Client);
        it.link.send(ToRunner::EndJob { execution_id: id, cause: cause.clone() }).await;
        assert_eq!(it.job(id, JobPhase::Ended).await.result.unwrap().cause, cause);
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_ended_is_the_end_whatever_holds_its_pipe() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // No process that holds it exits during the test.
    let command = "setsid sh -c 'trap \"\" TERM; sleep 1000' & sleep 1000 & disown; echo out";
    let (id, result) = it.run(grant(session, command)).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    assert!(result.leftovers_killed);
    assert_eq!(it.text(id, OutputStream::Stdout).await, "out\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_directory_persists_where_it_is_kept() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let keep = |command: &str, from: &str| {
        let mut keep = grant(session, command);
        keep.keep_directory = true;
        keep.command.directory = from.as_bytes().to_vec();
        keep
    };
    let (_, moved) = it.run(keep("mkdir -p 'a b/c' && cd 'a b/c'", "/workspace")).await;
    assert_eq!(moved.directory_report, DirectoryReport::Reported);
    assert_eq!(moved.directory, b"/workspace/a b/c");
    assert_eq!(it.said(keep("pwd", "/workspace/a b/c")).await, "/workspace/a b/c\n");
    let mut aside = grant(session, "cd /tmp");
    aside.command.directory = b"/workspace/a b/c".to_vec();
    let (_, not_kept) = it.run(aside).await;
    assert_eq!(not_kept.directory_report, DirectoryReport::NotKept);
    assert_eq!(not_kept.directory, b"/workspace/a b/c");
    let (_, replaced) = it.run(keep("exec true", "/workspace/a b/c")).await;
    assert_eq!(replaced.directory_report, DirectoryReport::Unchanged);
    let (_, outside) = it.run(keep("cd /usr", "/workspace/a b/c")).await;
    assert_eq!(outside.directory_report, DirectoryReport::SnappedBack);
    assert_eq!(outside.directory, b"/workspace");
    it.run(keep("rm -r 'a b'", "/workspace")).await;
    assert_eq!(it.refusal(keep("pwd", "/workspace/a b/c")).await, "no_such_directory");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_grant_cannot_write_and_another_can() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let command = "for at in /workspace ~ /tmp; do (echo x > $at/file) 2>/dev/null && echo $at; done; \
                   echo x > $TMPDIR/x && echo $TMPDIR";
    let mut read_only = grant(session, command);
    read_only.read_only = true;
    assert_eq!(it.said(read_only).await, "/var/tmp\n");
    let control = it.said(grant(session, command)).await;
    assert_eq!(control, "/workspace\n/home/agent\n/tmp\n/tmp\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_knows_its_trace_and_its_environment() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut with_env = grant(session, "echo $TRACEPARENT $GREETING $AIRLOCK_SESSION_ID; id -u");
    with_env.command.env.insert("GREETING".to_owned(), b"hello".to_vec());
    let said = it.said(with_env).await;
    // Without a collector there are no spans, and the request's own trace context is passed on.
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(said, format!("{trace} hello {session}\n1000\n"));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_a_session_share_files_and_loopback() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let listen = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 7001)); \
                  open(\"/tmp/up\", \"w\"); s.accept()[0].sendall(b\"served\")'";
    let server = it.offer(grant(session, listen)).await;
    it.job(server, JobPhase::Running).await;
    let ask = "until [ -e /tmp/up ]; do sleep 0.02; done; exec 3<>/dev/tcp/127.0.0.1/7001; cat <&3";
    assert_eq!(it.said(grant(session, ask)).await, "served");
    it.job(server, JobPhase::Ended).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_over_the_cap_keeps_both_ends_and_counts_the_middle() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut large = grant(session, "seq 1 200000");
    large.profile.limits.output_bytes = 64 << 10;
    let (id, result) = it.run(large).await;
    let whole: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(result.stdout_bytes, whole.len() as u64);
    assert_eq!(result.stdout_cut_bytes, whole.len() as u64 - (64 << 10));
    let mut output = it.output(id).await;
    let stream = OutputStream::Stdout;
    let read = PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes: u64::MAX, follow: false };
    output.read(read).await;
    let (mut at, mut gaps) = (0, 0);
    loop {
        match output.next().await {
            PushFromRunner::Chunk { data, offset, .. } => {
                assert_eq!(offset, at);
                at += data.len() as u64;
                let expected = &whole.as_bytes()[usize::try_from(offset).unwrap()..][..data.len()];
                assert_eq!(data, expected);
            }
            PushFromRunner::Gap { from, to, .. } => {
                assert_eq!(from, at);
                gaps += to - from;
                at = to;
            }
            PushFromRunner::Done { end, .. } => break assert!(end),
            other @ PushFromRunner::Hello { .. } => panic!("{other:?}"),
        }
    }
    assert_eq!(gaps, result.stdout_cut_bytes);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_spool_ends_its_writer_and_spares_the_others() {
    let mut it = Fixture::with(Default::default(), |config| {
        config.floor.max_output_bytes = 1 << 20;
        config.limits.spool_total_bytes = 1 << 20;
    })
    .await;
    let session = it.open("").await;
    let with_cap = |command: &str| {
        let mut grant = grant(session, command);
        grant.profile.limits.output_bytes = 1 << 20;
        grant
    };
    let quiet = it.offer(with_cap("echo before; until [ -e go ]; do sleep 0.02; done; echo after")).await;
    it.job(quiet, JobPhase::Running).await;
    it.shown(quiet, "before\n").await;
    let (loud, result) = it.run(with_cap("echo begun; exec cat /dev/zero")).await;
    assert_eq!(result.cause, Cause::DiskLimit);
    assert!(result.stdout_bytes > 500_000);
    assert_eq!(it.text(loud, OutputStream::Stdout).await.len() as u64, result.stdout_bytes);
    it.let_go("go");
    let spared = it.job(quiet, JobPhase::Ended).await.result.unwrap();
    assert_eq!(spared.cause, Cause::Exited { code: 0 });
    assert_eq!(it.text(quiet, OutputStream::Stdout).await, "before\nafter\n");
    // Forgetting the jobs frees their space.
    it.link.send(ToRunner::ForgetJob { execution_id: loud }).await;
    it.link.send(ToRunner::ForgetJob { execution_id: quiet }).await;
    let spool = it.state("spool");
    until("their output was removed", || std::fs::read_dir(&spool).unwrap().count() == 0).await;
    assert_eq!(it.said(with_cap("echo again")).await, "again\n");
    it.shut_down().await;
}
