//! Tests of a command on a terminal that a server controls. Keys arrive by exchanges, from one writer at a time. Sizes
//! arrive on the control stream. The command ends independently of the terminal's state.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use airlock_domain::{
    CancelledBy, Cause, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, ExecutionId,
    Grant, JobPhase, OutputStream, Pty, PushFromRunner, PushToRunner, SessionId, TerminalSize, ToRunner,
};

use crate::{
    fake::{Exchange, Output},
    fixture::{Fixture, grant},
    input::failure,
};

fn on_terminal(session: SessionId, command: &str) -> Grant {
    let mut grant = grant(session, command);
    grant.command.pty = Some(Pty { size: TerminalSize { rows: 31, cols: 97 }, term: "xterm".to_owned() });
    grant
}

/// Collects the output of a terminal.
struct Screen {
    output: Output,
    shown: String,
}

impl Screen {
    async fn of(it: &mut Fixture, id: ExecutionId) -> Self {
        let output = it.output(id).await;
        let (stream, max_bytes) = (OutputStream::Stdout, u64::MAX);
        output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
        Self { output, shown: String::new() }
    }

    async fn see(&mut self, text: &str) {
        while !self.shown.contains(text) {
            match self.output.next().await {
                PushFromRunner::Chunk { data, .. } => self.shown.push_str(&String::from_utf8_lossy(&data)),
                other => panic!("{other:?} after `{}`", self.shown),
            }
        }
    }
}

impl Fixture {
    /// Returns the active writer and its offset.
    async fn keyboard(&mut self, execution_id: ExecutionId, take_over: bool) -> (Exchange, u64) {
        let mut writer = self.order(ExchangeOrder::Stdin { execution_id, take_over }).await;
        match writer.next().await {
            Some(ExchangeFromRunner::Ready { offset }) => (writer, offset),
            other => panic!("{other:?}"),
        }
    }

    async fn ended(&mut self, id: ExecutionId) -> Cause {
        self.job(id, JobPhase::Ended).await.result.unwrap().cause
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_go_in_what_is_shown_comes_out_and_the_size_follows() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let command = "trap 'echo now $(stty size)' WINCH; tty; stty size; read -r x; echo \"<$x>\"; exit 7";
    let id = it.start(on_terminal(session, command)).await;
    let mut screen = Screen::of(&mut it, id).await;
    screen.see("/dev/pts/0\r\n31 97\r\n").await;
    let size = TerminalSize { rows: 5, cols: 132 };
    it.link.send(ToRunner::ResizeJob { execution_id: id, size }).await;
    // The shell handles its signals after it has read a line.
    let (writer, offset) = it.keyboard(id, false).await;
    assert_eq!(offset, 0);
    writer.write(0, "typed\n").await;
    screen.see("now 5 132").await;
    screen.see("<typed>").await;
    assert_eq!(it.ended(id).await, Cause::Exited { code: 7 });
    // Sizes for jobs that have ended, have no terminal or are unknown are ignored.
    it.link.send(ToRunner::ResizeJob { execution_id: id, size }).await;
    it.link.send(ToRunner::ResizeJob { execution_id: ExecutionId::new(), size }).await;
    let plain = it.start(grant(session, "stty size; sleep 0.2")).await;
    it.link.send(ToRunner::ResizeJob { execution_id: plain, size }).await;
    it.ended(plain).await;
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_its_input_is_the_key_that_means_it() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    for (typed, count) in [("", 0), ("two\nlines\n", 10), ("half a line", 11)] {
        let id = it.start(on_terminal(session, "wc -c; echo gone on")).await;
        let (writer, _) = it.keyboard(id, false).await;
        writer.write(0, typed).await;
        writer.send(ExchangeToRunner::End { close: true }).await;
        assert_eq!(it.ended(id).await, Cause::Exited { code: 0 }, "{typed:?}");
        let shown = it.text(id, OutputStream::Stdout).await;
        assert!(shown.ends_with(&format!("{count}\r\ngone on\r\n")), "{typed:?}: {shown}");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_writer_takes_over_the_input_and_the_others_are_informed() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(on_terminal(session, "read -r a; read -r b; echo \"<$a|$b>\"")).await;
    let taken = (ExchangeFailure::FailedPrecondition, "STDIN_TAKEN".to_owned());
    let (mut first, _) = it.keyboard(id, false).await;
    first.write(0, "one\n").await;
    let mut screen = Screen::of(&mut it, id).await;
    screen.see("one").await;
    let (mut second, offset) = it.keyboard(id, true).await;
    assert_eq!((offset, failure(&mut first).await), (4, taken.clone()));
    let (mut third, offset) = it.keyboard(id, true).await;
    assert_eq!((offset, failure(&mut second).await), (4, taken));
    third.write(4, "two\n").await;
    screen.see("<one|two>").await;
    assert_eq!(it.ended(id).await, Cause::Exited { code: 0 });
    assert!(matches!(third.next().await, Some(ExchangeFromRunner::Written { accepted: 8, .. })));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_reads_nothing_and_one_that_stays_hold_up_no_end() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let id = it.start(on_terminal(session, "stty raw -echo; echo ready; sleep 1000")).await;
    Screen::of(&mut it, id).await.see("ready").await;
    let (writer, _) = it.keyboard(id, false).await;
    let chunk = "x".repeat(32 * 1024);
    for number in 0..4 {
        writer.write(number * 32 * 1024, chunk.clone()).await;
    }
    let cause = Cause::Cancelled(CancelledBy::Client);
    it.link.send(ToRunner::EndJob { execution_id: id, cause: cause.clone() }).await;
    assert_eq!(it.ended(id).await, cause);
    let (_, result) = it.run(on_terminal(session, "trap '' HUP; setsid -f sleep 1000; exit 3")).await;
    assert_eq!((result.cause, result.leftovers_killed), (Cause::Exited { code: 3 }, true));
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_of_a_terminal_is_kept_byte_for_byte() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let hostile = r"printf '\033]0;title\007\033[6n\033[2J\033P+q544e\033\\\000\377'; seq 1 50000";
    let (id, result) = it.run(on_terminal(session, hostile)).await;
    assert_eq!(result.cause, Cause::Exited { code: 0 });
    let mut output = it.output(id).await;
    let (stream, max_bytes) = (OutputStream::Stdout, u64::MAX);
    output.read(PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: true }).await;
    let mut bytes = Vec::new();
    while let PushFromRunner::Chunk { data, .. } = output.next().await {
        bytes.extend_from_slice(&data);
    }
    let mut wanted = b"\x1b]0;title\x07\x1b[6n\x1b[2J\x1bP+q544e\x1b\\\0\xff".to_vec();
    wanted.extend((1..=50_000).flat_map(|number: u32| format!("{number}\r\n").into_bytes()));
    assert!(bytes == wanted, "{} bytes of {}", bytes.len(), wanted.len());
    assert_eq!(result.stdout_bytes, bytes.len() as u64);
    it.shut_down().await;
}
