//! What the engine tells telemetry. Bounded values only: never a command, a path or an id.

use std::time::Duration;

use airlock_proto::domain::Cause;

use crate::model::SessionLevels;

/// Counts what happens in the engine. Called on the way of requests: it must return at once.
pub trait Observer: Send + Sync {
    /// Policy has said this, for this reason (a code from a closed set).
    fn decided(&self, _verdict: &'static str, _reason_code: &str) {}
    /// An execution was offered to a runner after so long in the queue.
    fn placed(&self, _queued: Duration) {}
    /// A command began to run so long after it was offered.
    fn started(&self, _starting: Duration) {}
    /// An execution has ended, after it ran for so long.
    fn finished(&self, _cause: &Cause, _run: Duration) {}
    /// An approval was answered or has expired: `allowed`, `denied`, `expired`; so long after it was
    /// asked.
    fn approval_answered(&self, _answer: &'static str, _open: Duration) {}
    /// So many outputs were given up, because their runners stayed away.
    fn outputs_lost(&self, _count: u64) {}
    /// The gauges, once a second.
    fn levels(&self, _levels: &Levels) {}
    /// Sessions, every few seconds.
    fn sessions(&self, _levels: &SessionLevels) {}
}

/// How much of what there is just now, on this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Levels {
    /// Executions that wait in the queue.
    pub queued: u64,
    /// How long the oldest of them has waited.
    pub queue_age: Duration,
    /// Executions that are `STARTING` or `RUNNING`.
    pub active: u64,
    /// Executions that wait for a person.
    pub pending_approval: u64,
    /// How long the oldest of those has waited.
    pub approval_age: Duration,
    /// Runners with a link.
    pub runners: u64,
    /// Those of them that drain.
    pub draining: u64,
    /// The runners' slots.
    pub slots: u64,
    /// Those that are taken.
    pub slots_taken: u64,
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {}
