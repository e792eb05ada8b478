//! Tests of a command's input over exchanges. Each byte arrives once and in order, also after an interruption. Either
//! end can close the input, and the input never delays the command's end.

#![expect(clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use airlock_domain::{
    CancelledBy, Cause, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, ExecutionId,
    Grant, JobPhase, OutputStream, SessionId, ToRunner, limits::TRANSFER_CHUNK_BYTES,
};

use crate::{
    fake::Exchange,
    fixture::{Fixture, PATIENCE, grant},
};

pub(crate) fn with_input(session: SessionId, command: &str) -> Grant {
    let mut grant = grant(session, command);
    grant.command.stdin = true;
    grant
}

impl Fixture {
    /// Starts a command and waits until it runs.
    pub(crate) async fn start(&mut self, grant: Grant) -> ExecutionId {
        let id = self.offer(grant).await;
        self.job(id, JobPhase::Running).await;
        id
    }

    /// Returns the active writer, and the offset at which it continues.
    async fn writer(&mut self, execution_id: ExecutionId) -> (Exchange, u64) {
        let mut writer = self.order(ExchangeOrder::Stdin { execution_id, take_over: false }).await;
        match writer.next().await {
            Some(ExchangeFromRunner::Ready { offset }) => (writer, offset),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the failure of a writer that is refused.
    async fn refused(&mut self, execution_id: ExecutionId) -> (ExchangeFailure, String) {
        let mut writer = self.order(ExchangeOrder::Stdin { execution_id, take_over: false }).await;
        failure(&mut writer).await
    }

    async fn cancel(&mut self, execution_id: ExecutionId) {
        let cause = Cause::Cancelled(CancelledBy::Client);
        self.link.send(ToRunner::EndJob { execution_id, cause: cause.clone() }).await;
        assert_eq!(self.job(execution_id, JobPhase::Ended).await.result.map(|it| it.cause), Some(cause));
    }
}

pub(crate) async fn failure(exchange: &mut Exchange) -> (ExchangeFailure, String) {
    match exchange.next().await {
        Some(ExchangeFromRunner::Failed(failed)) => {
            assert_eq!(exchange.next().await, None, "it is the last message");
            (failed.failure, failed.reason)
        }
        other => panic!("{other:?}"),
    }
}

/// Returns how much of a writer's input was accepted, and why it cannot continue.
async fn cut_short(writer: &mut Exchange) -> (u64, (ExchangeFailure, String)) {
    match writer.next().await {
        Some(ExchangeFromRunner::Written { accepted, .. }) => (accepted, failure(writer).await),
        other => panic!("{other:?}"),
    }
}

async fn finish(writer: &mut Exchange, close: bool) -> (u64, bool) {
    writer.send(ExchangeToRunner::End { close }).await;
    match writer.next().await {
        Some(ExchangeFromRunner::Written { accepted, ended }) => {
            assert_eq!(writer.next().await, None);
            (accepted, ended)
        }
        other => panic!("{other:?}"),
    }
}

fn precondition(reason: &str) -> (ExchangeFailure, String) {
    (ExchangeFailure::FailedPrecondition, reason.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_make_one_input() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    for read_only in [false, true] {
        let mut command = with_input(session, "read a; read b; echo \"<$a|$b>\"; cat; echo end");
        command.read_only = read_only;
        let id = it.start(command).await;
        let (mut writer, offset) = it.writer(id).await;
        assert_eq!(offset, 0);
        writer.write(0, "one\ntw").await;
        assert_eq!(finish(&mut writer, false).await, (6, false));
        // The writer resumes at an earlier offset: bytes that were accepted before are skipped.
        let (mut writer, offset) = it.writer(id).await;
        assert_eq!(offset, 6);
        writer.write(2, "e\ntwo\n").await;
        writer.write(8, "rest\n").await;
        assert_eq!(finish(&mut writer, false).await, (13, false));
        // The end without a further byte.
        let (mut writer, _) = it.writer(id).await;
        assert_eq!(finish(&mut writer, true).await, (13, true));
        let result = it.job(id, JobPhase::Ended).await.result.map(|it| it.cause);
        assert_eq!(result, Some(Cause::Exited { code: 0 }));
        assert_eq!(it.text(id, OutputStream::Stdout).await, "<one|two>\nrest\nend\n");
        assert_eq!(it.refused(id).await, precondition("NOT_RUNNING"));
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_megabytes_come_whole_through_many_cuts() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let input: Vec<u8> = (0..10_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let id = it.start(with_input(session, "sha256sum; echo done")).await;
    let mut cuts = 0;
    loop {
        let (mut writer, offset) = it.writer(id).await;
        let mut at = usize::try_from(offset).unwrap();
        let chunks = input[at..].chunks(TRANSFER_CHUNK_BYTES - 1);
        let some = if cuts < 12 { 3 } else { usize::MAX };
        for chunk in chunks.take(some) {
            writer.write(at as u64, chunk.to_vec()).await;
            at += chunk.len();
        }
        if cuts < 12 {
            // Disconnect without an end. Only the accepted bytes count.
            cuts += 1;
            continue;
        }
        assert_eq!(finish(&mut writer, true).await, (input.len() as u64, true));
        break;
    }
    it.job(id, JobPhase::Ended).await;
    let hash = "sha256sum <<< ''; echo done";
    let control = it.said(grant(session, hash)).await;
    let said = it.text(id, OutputStream::Stdout).await;
    assert_eq!(said.len(), control.len(), "the form of the answer");
    std::fs::write(it.config.state_dir.join("input"), &input).unwrap();
    let wanted =
        std::process::Command::new("sha256sum").arg(it.config.state_dir.join("input")).output().unwrap();
    assert_eq!(said.as_bytes()[..64], wanted.stdout[..64]);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_is_told_why_it_cannot_write() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let stranger = it.refused(ExecutionId::new()).await;
    assert_eq!(stranger, (ExchangeFailure::NotFound, "NO_SUCH_EXECUTION".to_owned()));
    let without = it.start(grant(session, "sleep 1000")).await;
    assert_eq!(it.refused(without).await, precondition("STDIN_CLOSED"));
    let id = it.start(with_input(session, "cat")).await;
    let (mut writer, _) = it.writer(id).await;
    writer.write(5, "from further on").await;
    let gap = (ExchangeFailure::OutOfRange { end: 0 }, "INPUT_GAP".to_owned());
    assert_eq!(failure(&mut writer).await, gap);
    it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
    it.cancel(id).await;
    it.link.send(ToRunner::ForgetJob { execution_id: id }).await;
    assert_eq!(it.refused(id).await, precondition("NOT_RUNNING"), "also if only its ID is remembered");
    it.cancel(without).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_closes_its_input_says_so_to_writers() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "read x; echo $x; exec <&-; touch closed; sleep 1000")).await;
    let (mut writer, _) = it.writer(id).await;
    writer.write(0, "go\n").await;
    assert_eq!(it.said(grant(session, "until [ -e closed ]; do sleep 0.02; done; echo so")).await, "so\n");
    writer.write(3, "nobody reads this").await;
    assert_eq!(cut_short(&mut writer).await, (3, precondition("STDIN_CLOSED")));
    assert_eq!(it.refused(id).await, precondition("STDIN_CLOSED"));
    it.cancel(id).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_was_ended_takes_no_more_and_a_repeated_end_is_the_same_end() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "cat; touch ended; sleep 1000")).await;
    let (mut writer, _) = it.writer(id).await;
    writer.write(0, "all of it").await;
    assert_eq!(finish(&mut writer, true).await, (9, true));
    // As if the answer was lost: the repeated bytes were accepted before.
    let (mut writer, offset) = it.writer(id).await;
    assert_eq!(offset, 9);
    writer.write(0, "all of it").await;
    assert_eq!(finish(&mut writer, true).await, (9, true));
    let (mut writer, _) = it.writer(id).await;
    writer.write(9, "more").await;
    assert_eq!(cut_short(&mut writer).await, (9, precondition("STDIN_CLOSED")));
    assert_eq!(it.said(grant(session, "until [ -e ended ]; do sleep 0.02; done; echo so")).await, "so\n");
    it.cancel(id).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_take_turns_and_a_cut_one_gives_its_turn_up() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "cat")).await;
    let (first, _) = it.writer(id).await;
    first.write(0, "first").await;
    let mut second = it.order(ExchangeOrder::Stdin { execution_id: id, take_over: false }).await;
    let early = tokio::time::timeout(Duration::from_millis(300), second.from.recv()).await;
    assert!(early.is_err(), "the first has not ended: {early:?}");
    drop(first);
    assert_eq!(second.next().await, Some(ExchangeFromRunner::Ready { offset: 5 }));
    second.write(5, " second").await;
    assert_eq!(finish(&mut second, true).await, (12, true));
    it.job(id, JobPhase::Ended).await;
    assert_eq!(it.text(id, OutputStream::Stdout).await, "first second");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_never_reads_holds_up_only_its_writer_until_it_ends() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(with_input(session, "sleep 10000")).await;
    let (writer, _) = it.writer(id).await;
    let chunk = vec![7; TRANSFER_CHUNK_BYTES];
    let to = writer.to.clone();
    // 64 MB, of which the pipe, the queues and the windows hold a few.
    let sender = tokio::spawn(async move {
        for index in 0..256_u64 {
            let data = chunk.clone().into();
            let offset = index * chunk.len() as u64;
            if to.send(Ok(ExchangeToRunner::Chunk { offset, data }.into())).await.is_err() {
                return;
            }
        }
    });
    // Other commands and their inputs continue meanwhile.
    let other = it.start(with_input(session, "cat")).await;
    let (mut quick, _) = it.writer(other).await;
    quick.write(0, "x").await;
    assert_eq!(finish(&mut quick, true).await, (1, true));
    it.job(other, JobPhase::Ended).await;
    assert!(!sender.is_finished(), "control: the command waits");
    it.cancel(id).await;
    let mut writer = writer;
    // Depending on timing: either no process reads the input, or the command has ended.
    let (accepted, told) = cut_short(&mut writer).await;
    assert!(accepted >= 65_536, "{accepted}: the bytes in the pipe");
    assert!(told == precondition("NOT_RUNNING") || told == precondition("STDIN_CLOSED"), "{told:?}");
    drop(writer);
    tokio::time::timeout(PATIENCE, sender).await.unwrap().unwrap();
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_outside_the_job_does_not_keep_its_input_open() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // Passes its input to another command of the session, and ends.
    let keep = "python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind(\"/tmp/keep\"); \
                s.listen(); c, _ = s.accept(); _, f, _, _ = socket.recv_fds(c, 1, 1); open(\"/tmp/got\", \"w\"); \
                time.sleep(1000)'";
    let keeper = it.start(grant(session, keep)).await;
    let give = "read -rn1 go; until [ -e /tmp/keep ]; do sleep 0.02; done; python3 -c 'import socket; \
                s = socket.socket(socket.AF_UNIX); s.connect(\"/tmp/keep\"); socket.send_fds(s, [b\"x\"], [0])'; \
                until [ -e /tmp/got ]; do sleep 0.02; done";
    let id = it.start(with_input(session, give)).await;
    let (mut writer, _) = it.writer(id).await;
    writer.write(0, "x").await;
    let result = it.job(id, JobPhase::Ended).await.result.map(|it| it.cause);
    assert_eq!(result, Some(Cause::Exited { code: 0 }));
    assert_eq!(cut_short(&mut writer).await, (1, precondition("NOT_RUNNING")));
    it.cancel(keeper).await;
    it.shut_down().await;
}
