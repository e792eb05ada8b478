//! The fixture: the streams of a server with their dependencies, and a reader that checks its
//! events.

use std::{sync::Arc, time::Duration};

use airlock_domain::{
    Cause, ExecutionId, ExecutionResult, ExecutionState, OutputState, OutputStream, RunnerId, Started,
    cursor::Cursor,
};
use airlock_store::{changes::Changes, testing};
use futures::StreamExt;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    runner::{MemoryRunner, Spool, runner_id},
    shelf::MemoryShelf,
    store::MemoryStore,
};
use crate::stream::{
    AttachFrom, Event, EventKind, EventStream, OutputShelf, StreamError, StreamLimits, StreamParts, Streams,
    Unobserved,
};

pub(super) const START: AttachFrom = AttachFrom::Offsets { stdout: 0, stderr: 0 };
pub(super) use OutputStream::{Stderr, Stdout};

/// Longer than any limit. A test that waits this long hangs.
const FOREVER: Duration = Duration::from_secs(3600);

/// Limits for tests in real time, where slowness must not cause a failure.
pub(super) fn patient() -> StreamLimits {
    StreamLimits {
        open_wait: testing::PATIENCE,
        read_timeout: testing::PATIENCE,
        unreachable_wait: 3 * testing::PATIENCE,
        ..StreamLimits::default()
    }
}

/// The complete fixture.
pub(super) struct World {
    pub(super) store: Arc<MemoryStore>,
    pub(super) shelf: Arc<dyn OutputShelf>,
    pub(super) runner: MemoryRunner,
    pub(super) changes: Changes,
    pub(super) limits: StreamLimits,
    pub(super) streams: Streams,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(StreamLimits::default())
    }

    pub(super) fn with(limits: StreamLimits) -> Self {
        Self::over(Arc::new(MemoryShelf::default()), limits)
    }

    pub(super) fn over(shelf: Arc<dyn OutputShelf>, limits: StreamLimits) -> Self {
        assert_eq!(limits.check(), Ok(()));
        let store = Arc::new(MemoryStore::default());
        let (runner, changes) = (MemoryRunner::default(), Changes::default());
        let streams = streams(&store, &shelf, &runner, &changes, &limits);
        Self { store, shelf, runner, changes, limits, streams }
    }

    /// Restarts the server over the same store, storage and runner.
    pub(super) async fn restart(&mut self) {
        self.streams.shut_down().await;
        self.changes = Changes::default();
        self.streams = streams(&self.store, &self.shelf, &self.runner, &self.changes, &self.limits);
    }

    /// Creates a running execution.
    pub(super) fn run(&self, separate_stderr: bool) -> ExecutionId {
        self.run_of(&testing::execution().tenant, separate_stderr)
    }

    /// Creates a running execution of this tenant.
    pub(super) fn run_of(&self, tenant: &str, separate_stderr: bool) -> ExecutionId {
        self.run_on(runner_id(), tenant, separate_stderr)
    }

    /// Creates a running execution of this tenant on this runner.
    pub(super) fn run_on(&self, runner: RunnerId, tenant: &str, separate_stderr: bool) -> ExecutionId {
        let mut record = testing::execution();
        tenant.clone_into(&mut record.tenant);
        record.version = 0;
        record.result = None;
        record.runner_id = Some(runner);
        record.spec.command.separate_stderr = separate_stderr;
        let id = record.id;
        let states = [ExecutionState::Queued, ExecutionState::Starting, ExecutionState::Running];
        self.store.add(record, &states);
        self.runner.hold(id);
        id
    }

    pub(super) fn write(&self, id: ExecutionId, stream: OutputStream, bytes: &[u8]) {
        self.runner.spool(id, stream, |spool| spool.bytes.extend_from_slice(bytes));
    }

    /// Ends the command and records its result.
    pub(super) fn finish(&self, id: ExecutionId) {
        self.runner.end(id);
        self.finish_as(id, &Cause::Exited { code: 0 });
    }

    /// Records this cause as the end of the execution.
    pub(super) fn finish_as(&self, id: ExecutionId, cause: &Cause) {
        let mut result = ExecutionResult::not_started(cause.clone());
        result.started = Started::Yes;
        if *cause != Cause::RunnerLost {
            let told = |spool: &Spool| {
                let cut = spool.cuts.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
                (spool.bytes.len() as u64, cut)
            };
            let (length, cut) = (&mut result.stdout_bytes, &mut result.stdout_cut_bytes);
            self.runner.spool(id, Stdout, |spool| (*length, *cut) = told(spool));
            let (length, cut) = (&mut result.stderr_bytes, &mut result.stderr_cut_bytes);
            self.runner.spool(id, Stderr, |spool| (*length, *cut) = told(spool));
        }
        self.store.step(id, ExecutionState::Finished, Some(result));
        self.changes.notify(id);
    }

    /// Starts to copy the output, as the services do.
    pub(super) fn keep(&self, id: ExecutionId) {
        self.streams.keep(&self.store.record(id));
    }

    /// Waits until the output has this state.
    pub(super) async fn until_output(&self, id: ExecutionId, output: OutputState) {
        let reached = async {
            while self.store.record(id).output != output {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let found = timeout(FOREVER, reached).await;
        assert!(found.is_ok(), "the output is {:?}", self.store.record(id).output);
    }

    pub(super) async fn attach(&self, id: ExecutionId, from: AttachFrom) -> Result<EventStream, StreamError> {
        self.streams.attach(self.store.record(id), from).await
    }

    /// Opens a reader from the beginning.
    pub(super) async fn reader(&self, id: ExecutionId) -> Reader {
        Reader { events: self.attach(id, START).await.unwrap(), heard: Heard::default() }
    }

    /// Opens a reader that resumes from `heard`.
    pub(super) async fn go_on(&self, id: ExecutionId, heard: Heard) -> Reader {
        let events = self.attach(id, AttachFrom::Cursor(heard.cursor)).await.unwrap();
        Reader { events, heard: Heard { opened: false, backgrounded: false, ..heard } }
    }
}

fn streams(
    store: &Arc<MemoryStore>,
    shelf: &Arc<dyn OutputShelf>,
    runner: &MemoryRunner,
    changes: &Changes,
    limits: &StreamLimits,
) -> Streams {
    let streams = Streams::new(StreamParts {
        store: Arc::clone(store) as _,
        outputs: Arc::clone(shelf),
        link: Arc::new(runner.clone()),
        changes: changes.clone(),
        server_id: "server-1".to_owned(),
        limits: limits.clone(),
        observer: Arc::new(Unobserved),
        cancel: CancellationToken::new(),
    });
    runner.dial(streams.clone());
    streams
}

/// The events of any number of consecutive views.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Heard {
    pub(super) cursor: Cursor,
    pub(super) opened: bool,
    pub(super) versions: Vec<u64>,
    /// The bytes of stdout, with zeros in place of gaps.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) gaps: Vec<(OutputStream, u64, u64)>,
    pub(super) finished: bool,
    /// Whether the view ended because the command moved to the background.
    pub(super) backgrounded: bool,
}

impl Heard {
    /// Adds an event and checks that it is the expected next one.
    pub(super) fn take(&mut self, event: Event) {
        assert!(!self.finished && !self.backgrounded, "no message follows the end");
        assert_eq!(
            self.opened,
            !matches!(event.kind, EventKind::Opened(_)),
            "the header is first and occurs once"
        );
        match event.kind {
            EventKind::Opened(_) => {
                assert_eq!(event.cursor.version, self.cursor.version);
                self.opened = true;
            }
            EventKind::StateChanged(change) => {
                assert_ne!(change.state, ExecutionState::Finished);
                assert!(self.versions.last().is_none_or(|last| *last < change.version), "each change once");
                self.versions.push(change.version);
            }
            EventKind::Output { stream, offset, data } => {
                assert!(self.versions.contains(&3), "no output before the command runs");
                let bytes = self.bytes(stream);
                assert_eq!(offset, bytes.len() as u64, "each byte once");
                bytes.extend_from_slice(&data);
            }
            EventKind::Gap { stream, from, to } => {
                let bytes = self.bytes(stream);
                assert_eq!(from, bytes.len() as u64, "each byte once");
                bytes.resize(to as usize, 0);
                self.gaps.push((stream, from, to));
            }
            EventKind::Progress(_) => {
                assert_eq!(event.cursor, self.cursor, "the event does not move the cursor");
            }
            EventKind::Finished(record) => {
                assert!(record.result.is_some());
                assert_eq!(self.versions.len() as u64 + 1, record.version, "every change was sent");
                self.finished = true;
            }
            EventKind::Backgrounded(record) => {
                assert!(record.backgrounded.is_some() && record.result.is_none());
                // This event also reports the change of state.
                self.versions.push(event.cursor.version);
                self.backgrounded = true;
            }
        }
        self.cursor = event.cursor;
        assert_eq!(
            (self.cursor.stdout, self.cursor.stderr),
            (self.stdout.len() as u64, self.stderr.len() as u64)
        );
    }

    fn bytes(&mut self, stream: OutputStream) -> &mut Vec<u8> {
        match stream {
            Stdout => &mut self.stdout,
            Stderr => &mut self.stderr,
        }
    }
}

/// A view and what it has delivered.
pub(super) struct Reader {
    pub(super) events: EventStream,
    pub(super) heard: Heard,
}

impl Reader {
    /// Takes one event. Returns `None` at the end of the view.
    pub(super) async fn next(&mut self) -> Option<Result<(), StreamError>> {
        let event = timeout(FOREVER, self.events.next()).await.expect("no view waits without a limit")?;
        Some(event.map(|event| self.heard.take(event)))
    }

    /// Reads until stdout has this number of bytes.
    pub(super) async fn read_to(&mut self, stdout: usize) {
        while self.heard.stdout.len() < stdout {
            self.next().await.expect("the view goes on").expect("without an error");
        }
    }

    /// Reads until the view ends.
    pub(super) async fn read_all(&mut self) -> Result<(), StreamError> {
        while let Some(event) = self.next().await {
            event?;
        }
        assert!(self.heard.finished || self.heard.backgrounded, "no view ends without its closing event");
        Ok(())
    }
}

/// Returns bytes in which any shift or mix-up shows.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64).map(|index| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}
