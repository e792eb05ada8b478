//! Reads executions to their end, and returns the events.

use std::time::Duration;

use airlock_client::{
    Client, ClientError, Events, From,
    v1::{self, Execution, ExecutionSpec, event::Event as Kind},
};
use tokio::time::{Instant, sleep};

use crate::site::PATIENCE;

const POLL: Duration = Duration::from_millis(20);
/// The longest time of one wait call, also while the execution runs.
const TURN: Duration = Duration::from_secs(30);

/// Everything that a reader received.
#[derive(Debug, Default)]
pub struct Story {
    /// The bytes of standard output, in order.
    pub stdout: Vec<u8>,
    /// The bytes of standard error, in order.
    pub stderr: Vec<u8>,
    /// The versions of the state changes, in order.
    pub versions: Vec<u64>,
    /// The approvals that the state changes name, in order.
    pub approvals: Vec<String>,
    /// The number of bytes in gaps.
    pub missing: u64,
    /// The gaps: the first missing offset, and the one after the last.
    pub gaps: Vec<(u64, u64)>,
    /// The progress events.
    pub progress: Vec<v1::Progress>,
    /// The execution at its end.
    pub end: Option<Execution>,
}

impl Story {
    /// Records one event.
    ///
    /// # Panics
    /// If its offset does not follow the previous bytes.
    pub fn take(&mut self, event: v1::Event) {
        match event.event.expect("an event is never empty") {
            Kind::Opened(_) => {}
            Kind::StateChanged(change) => {
                self.versions.push(change.version);
                self.approvals.extend(Some(change.approval_id).filter(|id| !id.is_empty()));
            }
            Kind::Output(output) => {
                let bytes = match output.stream() {
                    v1::OutputStream::Stderr => &mut self.stderr,
                    _ => &mut self.stdout,
                };
                assert_eq!(output.offset, bytes.len() as u64 + self.missing, "neither lost nor repeated");
                bytes.extend_from_slice(&output.data);
            }
            Kind::Gap(gap) => {
                self.missing += gap.to - gap.from;
                self.gaps.push((gap.from, gap.to));
            }
            Kind::Progress(progress) => self.progress.push(progress),
            Kind::Finished(finished) => self.end = finished.execution,
            Kind::Backgrounded(backgrounded) => self.end = backgrounded.execution,
        }
    }

    /// Returns the exit code, if the command exited.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        exit_code(self.end.as_ref()?)
    }
}

/// Returns the exit code of an execution, if the command exited.
#[must_use]
pub fn exit_code(execution: &Execution) -> Option<i32> {
    match execution.result.as_ref()?.cause.as_ref()?.detail.as_ref()? {
        v1::cause::Detail::Exited(exited) => Some(exited.code),
        _ => None,
    }
}

/// Returns the cause of an execution's end.
#[must_use]
pub fn cause(execution: &Execution) -> v1::CauseCode {
    let cause = execution.result.as_ref().and_then(|result| result.cause.as_ref());
    cause.map_or(v1::CauseCode::Unspecified, v1::Cause::code)
}

/// Returns a request for a command without further fields.
#[must_use]
pub fn spec(command: &str) -> ExecutionSpec {
    ExecutionSpec { command: command.to_owned(), ..ExecutionSpec::default() }
}

/// Returns a request for a command in a session.
#[must_use]
pub fn spec_in(session: &str, command: &str) -> ExecutionSpec {
    ExecutionSpec { session_id: session.to_owned(), ..spec(command) }
}

/// Reads to the end.
///
/// # Errors
/// If the view cannot be reopened.
pub async fn read(mut events: Events) -> Result<Story, ClientError> {
    let mut story = Story::default();
    while let Some(event) = events.next().await? {
        story.take(event);
    }
    Ok(story)
}

/// Runs a command and reads it to its end.
///
/// # Errors
/// If it is not allowed, or the view cannot be reopened.
pub async fn run(client: &Client, spec: ExecutionSpec) -> Result<Story, ClientError> {
    read(client.run(spec)).await
}

/// Reads an execution from its beginning to its end.
///
/// # Errors
/// If it does not exist, or the view cannot be reopened.
pub async fn replay(client: &Client, id: &str) -> Result<Story, ClientError> {
    read(client.attach(id, From::Beginning)).await
}

/// Waits until an execution has ended, and returns it.
///
/// # Panics
/// If it does not end, or the server does not respond.
pub async fn ended(client: &Client, id: &str) -> Execution {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = client.wait(id, TURN).await.unwrap();
        if now.state() == v1::ExecutionState::Finished {
            return now;
        }
        assert!(Instant::now() < deadline, "it does not end: {now:?}");
    }
}

/// Waits until `holds` returns true for an execution, and returns it.
///
/// # Panics
/// If that never happens, or the server does not respond.
pub async fn until(client: &Client, id: &str, holds: impl Fn(&Execution) -> bool) -> Execution {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = client.execution(id).await.unwrap();
        if holds(&now) {
            return now;
        }
        assert!(Instant::now() < deadline, "the condition is never met: {now:?}");
        sleep(POLL).await;
    }
}

/// Waits until the command of an execution runs.
///
/// # Panics
/// If it never does, or the server does not respond.
pub async fn running(client: &Client, id: &str) -> Execution {
    until(client, id, |now| now.state() == v1::ExecutionState::Running).await
}

/// Waits until the output of an execution is stored.
///
/// # Panics
/// If it never is, or the server does not respond.
pub async fn stored(client: &Client, id: &str) -> Execution {
    until(client, id, |now| now.output_state() == v1::OutputState::Stored).await
}

/// Closes a session and waits until it is closed. The server's own wait for its runner lasts only some seconds.
///
/// # Panics
/// If it is refused or never closed, or the server does not respond.
pub async fn close(client: &Client, session: &str) {
    let deadline = Instant::now() + PATIENCE;
    let mut now = client.close_session(session).await.unwrap();
    while now.state() != v1::SessionState::Closed {
        assert!(Instant::now() < deadline, "it is never closed: {now:?}");
        sleep(POLL).await;
        now = client.session(session).await.unwrap();
    }
}

/// Reads events until standard output contains this text.
///
/// # Panics
/// If the execution ends before, or the view cannot be reopened.
pub async fn read_until(events: &mut Events, story: &mut Story, text: &str) {
    while !story.stdout.windows(text.len()).any(|found| found == text.as_bytes()) {
        let event = events.next().await.unwrap();
        story.take(event.unwrap_or_else(|| panic!("it ends without `{text}`: {story:?}")));
    }
}

/// Waits until a command has written this text to standard output.
///
/// # Panics
/// If it ends before, or the view cannot be reopened.
pub async fn written(client: &Client, id: &str, text: &str) {
    read_until(&mut client.attach(id, From::Beginning), &mut Story::default(), text).await;
}
