//! Tests of a server's controls over a running job other than ending it: signals, the background, and draining.

use std::time::Duration;

use airlock_domain::{
    CancelledBy, Cause, DirectoryReport, ExecutionId, FromRunner, JobPhase, OutputStream, SessionId,
    SessionPhase, Signal, TimeoutKind, ToRunner,
};

use crate::fixture::{Fixture, PATIENCE, grant};

/// Longer than the duration of any test.
const LONG: Duration = Duration::from_secs(20 * 60);

impl Fixture {
    async fn signal(&self, execution_id: ExecutionId, signal: Signal) {
        self.link.send(ToRunner::SignalJob { execution_id, signal }).await;
    }

    async fn detach(&self, execution_id: ExecutionId, timeout: Duration) {
        self.link.send(ToRunner::DetachJob { execution_id, timeout }).await;
    }

    async fn draining(&mut self) -> bool {
        self.report(|message| match message {
            FromRunner::Draining { over } => Some(!over),
            _ => None,
        })
        .await
    }

    async fn cause(&mut self, id: ExecutionId) -> Cause {
        self.job(id, JobPhase::Ended).await.result.map(|result| result.cause).unwrap_or(Cause::RunnerLost)
    }

    /// Waits until a file exists in the workspace of a session.
    async fn file(&mut self, session: SessionId, name: &str) {
        self.said(grant(session, &format!("until [ -e {name} ]; do sleep 0.02; done"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_reaches_its_job_and_no_other() {
    let mut it = Fixture::new().await;
    let (session, elsewhere) = (it.open("").await, it.open("").await);
    let command =
        |name: &str| format!("trap 'echo {name}; exit 3' USR1; touch {name}; while :; do sleep 0.02; done");
    let own = it.start(grant(session, &command("own"))).await;
    let sibling = it.start(grant(session, &command("sibling"))).await;
    let stranger = it.start(grant(elsewhere, &command("stranger"))).await;
    for (session, name) in [(session, "own"), (session, "sibling"), (elsewhere, "stranger")] {
        it.file(session, name).await;
    }
    it.signal(own, Signal::Usr1).await;
    assert_eq!(it.cause(own).await, Cause::Exited { code: 3 });
    // bash also prints how the child that it waited for ended.
    let said = it.text(own, OutputStream::Stdout).await;
    assert!(said.contains("own\n"), "{said}");
    // The others have not received the signal yet: the control.
    for id in [sibling, stranger] {
        it.signal(id, Signal::Usr1).await;
        assert_eq!(it.cause(id).await, Cause::Exited { code: 3 });
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_command_is_ended_within_the_grace_period() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let command =
        |name: &str| format!("trap 'echo bye; exit 4' TERM; touch {name}; while :; do sleep 0.02; done");
    let ticks = |name: &str| format!("touch {name}; while :; do echo x >> {name}; sleep 0.01; done");
    // It is stopped, and then continues.
    let ticking = it.start(grant(session, &ticks("ticks"))).await;
    it.file(session, "ticks").await;
    it.signal(ticking, Signal::Stop).await;
    let settled = "until a=$(wc -c < ticks); sleep 0.3; [ $a = $(wc -c < ticks) ]; do :; done; wc -c < ticks";
    let stood: u64 = it.said(grant(session, settled)).await.trim().parse().unwrap();
    it.signal(ticking, Signal::Cont).await;
    let grown = format!("until [ $(wc -c < ticks) -gt {stood} ]; do sleep 0.02; done");
    it.said(grant(session, &grown)).await;
    it.signal(ticking, Signal::Kill).await;
    assert_eq!(it.cause(ticking).await, Cause::Signaled { signal: 9, core: false });
    // A stopped command is continued when it is ended, and may write its last output.
    let mut patient = grant(session, &command("stopped"));
    patient.profile.limits.grace = Duration::from_secs(30);
    let stopped = it.start(patient).await;
    it.file(session, "stopped").await;
    it.signal(stopped, Signal::Stop).await;
    let cause = Cause::Cancelled(CancelledBy::Client);
    it.link.send(ToRunner::EndJob { execution_id: stopped, cause: cause.clone() }).await;
    assert_eq!(it.cause(stopped).await, cause);
    let said = it.text(stopped, OutputStream::Stdout).await;
    assert!(said.contains("bye\n"), "{said}");
    // The wall time also counts while a command is stopped.
    let mut brief = grant(session, "kill -STOP $$; sleep 1000");
    brief.command.timeout = Duration::from_millis(300);
    let (_, result) = it.run(brief).await;
    assert_eq!(result.cause, Cause::TimedOut(TimeoutKind::Wall));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_and_detaches_to_what_does_not_run_do_nothing() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let stranger = ExecutionId::new();
    let (ended, _) = it.run(grant(session, "true")).await;
    for id in [stranger, ended] {
        it.signal(id, Signal::Kill).await;
        it.detach(id, Duration::ZERO).await;
    }
    // More signals than the queue holds, of a kind without effect: the job and the link continue.
    let busy = it.start(grant(session, "trap '' USR1; until [ -e go ]; do sleep 0.02; done; echo end")).await;
    for _ in 0..5000 {
        it.signal(busy, Signal::Cont).await;
    }
    it.said(grant(session, "touch go")).await;
    assert_eq!(it.cause(busy).await, Cause::Exited { code: 0 });
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_background_has_its_own_time_from_the_start() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // A longer time than before. It is detached immediately. When it may end, it has run longer than the original
    // timeout.
    let mut short = grant(session, "until [ -e go ]; do sleep 0.02; done; echo end");
    short.command.timeout = Duration::from_secs(3);
    let longer = it.offer(short.clone()).await;
    it.detach(longer, LONG).await;
    it.job(longer, JobPhase::Running).await;
    tokio::time::sleep(short.command.timeout).await;
    it.let_go("go");
    assert_eq!(it.cause(longer).await, Cause::Exited { code: 0 });
    short.command.text = b"sleep 1000".to_vec();
    short.command.timeout = Duration::from_millis(300);
    let (_, control) = it.run(short).await;
    assert_eq!(control.cause, Cause::TimedOut(TimeoutKind::Wall));
    // A shorter time: it counts from the earlier start. Only the first call takes effect during the test.
    let less = it.start(grant(session, "sleep 1000")).await;
    it.detach(less, Duration::from_millis(400)).await;
    it.detach(less, LONG).await;
    assert_eq!(it.cause(less).await, Cause::TimedOut(TimeoutKind::Wall));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detach_goes_no_further_than_the_floor() {
    let mut it = Fixture::with(Default::default(), |config| {
        config.floor.max_timeout = Duration::from_millis(800);
    })
    .await;
    let session = it.open("").await;
    let mut grant = grant(session, "sleep 1000");
    grant.command.timeout = Duration::from_millis(700);
    let id = it.start(grant).await;
    it.detach(id, Duration::MAX).await;
    assert_eq!(it.cause(id).await, Cause::TimedOut(TimeoutKind::Wall));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detach_right_after_the_offer_counts_and_the_directory_is_not_kept() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let moves = |command: &str| {
        let mut grant = grant(session, command);
        grant.keep_directory = true;
        grant
    };
    for _ in 0..5 {
        let id = it.offer(moves("mkdir -p sub; cd sub")).await;
        it.detach(id, LONG).await;
        let result = it.job(id, JobPhase::Ended).await.result.unwrap();
        assert_eq!(result.cause, Cause::Exited { code: 0 });
        assert_eq!(result.directory_report, DirectoryReport::NotKept);
        assert_eq!(result.directory, b"/workspace");
    }
    let (_, control) = it.run(moves("cd sub")).await;
    assert_eq!(control.directory, b"/workspace/sub");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_over_its_cap_ends_a_job_in_the_background_only() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let loud = |apart: bool| {
        let to = if apart { ">&2" } else { "" };
        let command = format!("seq 1 30000 {to}; touch loud; until [ -e go ]; do sleep 0.02; done; echo end");
        let mut grant = grant(session, &command);
        grant.profile.limits.output_bytes = 64 << 10;
        grant.command.separate_stderr = apart;
        grant
    };
    for apart in [false, true] {
        // A command that already exceeds the cap when it is detached ends at once.
        let id = it.start(loud(apart)).await;
        it.file(session, "loud").await;
        it.detach(id, LONG).await;
        assert_eq!(it.cause(id).await, Cause::OutputLimit);
        it.said(grant(session, "rm loud")).await;
        // A command that exceeds the cap later ends then.
        let id = it.offer(loud(apart)).await;
        it.detach(id, LONG).await;
        assert_eq!(it.cause(id).await, Cause::OutputLimit);
        it.said(grant(session, "rm -f loud")).await;
    }
    let id = it.start(loud(false)).await;
    it.said(grant(session, "touch go")).await;
    assert_eq!(it.cause(id).await, Cause::Exited { code: 0 }, "the control");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_is_answered_after_all_that_was_known_when_it_came() {
    let mut it = Fixture::new().await;
    assert!(it.link.hello.answers_probes);
    for number in 1..20 {
        it.link.send(ToRunner::Drain { undo: number % 2 == 0 }).await;
        it.link.send(ToRunner::Probe { number }).await;
        let mut said = false;
        loop {
            match it.link.from.recv().await.unwrap() {
                FromRunner::Draining { .. } => said = true,
                FromRunner::Probed { number: answered } if answered == number => break,
                _ => {}
            }
        }
        assert!(said, "probe {number} is answered after all earlier messages");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draining_runner_takes_no_new_work_until_it_is_told_to() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let running = it.start(grant(session, "until [ -e go ]; do sleep 0.02; done; echo end")).await;
    for _ in 0..2 {
        it.link.send(ToRunner::Drain { undo: false }).await;
        assert!(it.draining().await);
    }
    assert_eq!(it.refusal(grant(session, "true")).await, "draining");
    let new = SessionId::new();
    it.link.send(ToRunner::OpenSession { session_id: new, base: String::new(), profile: None }).await;
    assert!(matches!(it.session(new).await, SessionPhase::Failed { reason, .. } if reason == "draining"));
    // Open sessions are reported as before.
    it.link.send(ToRunner::OpenSession { session_id: session, base: String::new(), profile: None }).await;
    assert!(matches!(it.session(session).await, SessionPhase::Open { .. }));
    // A new link receives the report again.
    let lost = std::mem::replace(&mut it.link.to, tokio::sync::mpsc::channel(1).0);
    drop(lost);
    it.next_link().await;
    assert!(it.draining().await);
    for _ in 0..2 {
        it.link.send(ToRunner::Drain { undo: true }).await;
        assert!(!it.draining().await);
    }
    it.said(grant(session, "touch go")).await;
    assert_eq!(it.cause(running).await, Cause::Exited { code: 0 }, "running commands continued");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_to_end_is_not_talked_out_of_it() {
    let mut it = Fixture::with(Default::default(), |config| {
        config.drain.grace = PATIENCE;
        config.drain.handover = PATIENCE;
    })
    .await;
    let session = it.open("").await;
    let id = it.start(grant(session, "until [ -e /tmp/go ]; do sleep 0.02; done")).await;
    let go = it.start(grant(session, "until [ -e go ]; do sleep 0.02; done; touch /tmp/go")).await;
    let runner = it.runner.take().unwrap();
    let down = tokio::spawn(runner.shut_down());
    assert!(it.draining().await);
    it.link.send(ToRunner::Drain { undo: true }).await;
    assert!(it.draining().await, "it reports this again");
    assert_eq!(it.refusal(grant(session, "true")).await, "draining");
    it.let_go("go");
    for execution_id in [go, id] {
        assert_eq!(it.cause(execution_id).await, Cause::Exited { code: 0 });
        // It ends as soon as its server has fetched everything.
        it.link.send(ToRunner::ForgetJob { execution_id }).await;
    }
    assert_eq!(down.await.unwrap(), 0);
}
