//! Reads executions to their end, and says what came.

use airlock_cli::client::{
    Client, ClientError, Events, From,
    v1::{self, Execution, ExecutionSpec, event::Event as Kind},
};

/// Everything that a reader was told.
#[derive(Debug, Default)]
pub struct Story {
    /// The bytes of stdout, in order.
    pub stdout: Vec<u8>,
    /// The bytes of stderr, in order.
    pub stderr: Vec<u8>,
    /// The versions of the changes of state, in order.
    pub versions: Vec<u64>,
    /// Bytes that were said to be missing.
    pub missing: u64,
    /// Where they are missing: from which offset, up to and without which.
    pub gaps: Vec<(u64, u64)>,
    /// What was said of its progress.
    pub progress: Vec<v1::Progress>,
    /// The execution at its end.
    pub end: Option<Execution>,
}

impl Story {
    /// Takes in one event.
    ///
    /// # Panics
    /// If its offset is not where the bytes before it ended.
    pub fn take(&mut self, event: v1::Event) {
        match event.event.expect("an event is never empty") {
            Kind::Opened(_) => {}
            Kind::StateChanged(change) => self.versions.push(change.version),
            Kind::Output(output) => {
                let bytes = match output.stream() {
                    v1::OutputStream::Stderr => &mut self.stderr,
                    _ => &mut self.stdout,
                };
                assert_eq!(output.offset, bytes.len() as u64 + self.missing, "neither lost nor doubled");
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

    /// The exit code, if it ended by exiting.
    #[must_use]
    pub fn exit_code(&self) -> Option<i32> {
        exit_code(self.end.as_ref()?)
    }
}

/// The exit code of an execution that ended by exiting.
#[must_use]
pub fn exit_code(execution: &Execution) -> Option<i32> {
    match execution.result.as_ref()?.cause.as_ref()?.detail.as_ref()? {
        v1::cause::Detail::Exited(exited) => Some(exited.code),
        _ => None,
    }
}

/// The cause of an execution's end.
#[must_use]
pub fn cause(execution: &Execution) -> v1::CauseCode {
    let cause = execution.result.as_ref().and_then(|result| result.cause.as_ref());
    cause.map_or(v1::CauseCode::Unspecified, v1::Cause::code)
}

/// A command with nothing else asked for.
#[must_use]
pub fn spec(command: &str) -> ExecutionSpec {
    ExecutionSpec { command: command.as_bytes().to_vec().into(), ..ExecutionSpec::default() }
}

/// A command in a session.
#[must_use]
pub fn spec_in(session: &str, command: &str) -> ExecutionSpec {
    ExecutionSpec { session_id: session.to_owned(), ..spec(command) }
}

/// Reads to the end.
///
/// # Errors
/// If the view is lost for good.
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
/// If it is not allowed, or the view is lost for good.
pub async fn run(client: &Client, spec: ExecutionSpec) -> Result<Story, ClientError> {
    read(client.run(spec)).await
}

/// Reads an execution from its beginning to its end.
///
/// # Errors
/// If there is none, or the view is lost for good.
pub async fn replay(client: &Client, id: &str) -> Result<Story, ClientError> {
    read(client.attach(id, From::Beginning)).await
}
