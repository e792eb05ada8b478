//! The interfaces that the services expect of the server: the events for telemetry, the output streams, and the trace
//! contexts. The events contain bounded values only: no commands, paths or IDs.

use std::time::Duration;

use airlock_domain::Cause;
use airlock_output::stream::Streams;
use airlock_store::record::{ExecutionRecord, SessionLevels};

/// Receives the events of the services. The calls are on the path of requests and must return at once.
pub trait Observer: Send + Sync {
    /// Policy returned this verdict. The reason code is from a closed set.
    fn decided(&self, _verdict: &'static str, _reason_code: &str) {}
    /// An execution was offered to a runner after `queued` in the queue.
    fn placed(&self, _queued: Duration) {}
    /// A command began to run `starting` after it was offered.
    fn started(&self, _starting: Duration) {}
    /// An execution has ended after it ran for `run`.
    fn finished(&self, _cause: &Cause, _run: Duration) {}
    /// An approval was `allowed`, `denied` or `expired`, `open` after it was created.
    fn approval_answered(&self, _answer: &'static str, _open: Duration) {}
    /// Outputs were marked as lost, because their runners were unreachable for too long.
    fn outputs_lost(&self, _count: u64) {}
    /// The delivery of a result to a hook was `accepted`, has `failed` and is repeated, or was `dropped` because of its
    /// age. The name of the hook is that of the configuration, or `removed`.
    fn result_delivered(&self, _hook: &str, _outcome: &'static str) {}
    /// The age of the oldest result that a hook has not accepted, every few seconds. Zero: there is none.
    fn deliveries_age(&self, _hook: &str, _age: Duration) {}
    /// The gauges, once per second.
    fn levels(&self, _levels: &Levels) {}
    /// So many profiles have files that cannot be loaded.
    fn profiles_refused(&self, _count: u64) {}
    /// The numbers of sessions, every few seconds.
    fn sessions(&self, _levels: &SessionLevels) {}
}

/// The current gauges of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels {
    /// The number of queued executions.
    pub queued: u64,
    /// The age of the oldest queued execution.
    pub queue_age: Duration,
    /// The number of executions that are `STARTING` or `RUNNING`.
    pub active: u64,
    /// The number of executions that wait for an approval.
    pub pending_approval: u64,
    /// The age of the oldest execution that waits for an approval.
    pub approval_age: Duration,
    /// The number of runners with a link.
    pub runners: u64,
    /// The number of those runners that drain.
    pub draining: u64,
    /// The number of slots of those runners.
    pub slots: u64,
    /// The number of slots in use.
    pub slots_taken: u64,
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// The part of the output streams that the control of executions uses. The streams implement it. The call
/// returns quickly, may be repeated for the same execution, and does its work in background tasks.
#[async_trait::async_trait]
pub trait OutputKeeper: Send + Sync {
    /// Copies the output that the runner holds into the storage, records the result in the store, and then
    /// tells the runner to forget the job. `record` is `FINISHED` and its runner is connected. For an
    /// execution that became `RUNNER_LOST` by a timeout, it is called when the runner reconnects, even if the
    /// runner no longer has the job.
    async fn ended(&self, record: &ExecutionRecord);
}

#[async_trait::async_trait]
impl OutputKeeper for Streams {
    async fn ended(&self, record: &ExecutionRecord) {
        self.keep(record);
    }
}

/// The trace context functions.
#[derive(Debug, Clone, Copy)]
pub struct TraceHooks {
    /// Makes the span a child of the span in this W3C `traceparent`. An empty string means no parent.
    pub adopt: fn(&tracing::Span, &str),
    /// Returns the W3C `traceparent` of the current span, or an empty string.
    pub current: fn() -> String,
}

impl Default for TraceHooks {
    fn default() -> Self {
        Self { adopt: |_, _| {}, current: String::new }
    }
}
