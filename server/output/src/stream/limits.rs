//! The named limits and timeouts of output streams, and their constraints. Plain data.

use std::time::Duration;

use airlock_domain::limits::{CHUNK_BYTES, READS_AT_ONCE};
use airlock_limits::LimitError;

/// The limits on amounts and durations. Durations use the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLimits {
    /// The maximum number of concurrent readers per execution.
    pub readers_per_execution: usize,
    /// The maximum number of concurrent readers of all executions.
    pub readers: usize,
    /// The maximum number of concurrent readers of one tenant's executions.
    pub readers_per_tenant: usize,
    /// The size of each of the two rings of an execution, in bytes. Each piece counts with a fixed overhead.
    pub ring_bytes: usize,
    /// The number of bytes that are requested ahead of the fastest reader.
    pub ahead_bytes: u64,
    /// The number of bytes per request of a reader that is behind the ring.
    pub catch_up_bytes: u64,
    /// The maximum number of concurrent reads on one output stream, at most [`READS_AT_ONCE`].
    pub reads_at_once: usize,
    /// The time limit from `OpenOutput` until the stream with its ticket opens.
    pub open_wait: Duration,
    /// The time limit for an answer to a read of existing bytes, or to any read after the execution has ended.
    pub read_timeout: Duration,
    /// The time for which an output stream without demand stays open.
    pub idle_close: Duration,
    /// The maximum time that a view of a finished execution waits for its runner, and that any view waits for the
    /// store. After this time, the view ends.
    pub unreachable_wait: Duration,
    /// The interval at which views and copies read the store without a hint.
    pub poll: Duration,
    /// The first delay before a retry. It doubles with each retry.
    pub retry_first: Duration,
    /// The maximum retry delay for readers.
    pub retry_most: Duration,
    /// The maximum retry delay for copying an output into the storage.
    pub store_retry_most: Duration,
    /// The time for which copying is retried before the copy is postponed. It starts again when the runner reconnects.
    pub store_retry_for: Duration,
    /// The lease of a server that stores an output, by the store's clock.
    pub storing_lease: Duration,
    /// The maximum number of concurrent copies into the storage.
    pub storing_at_once: usize,
    /// The maximum number of concurrent copies from one runner.
    pub storing_per_runner: usize,
    /// The maximum number of concurrent copies of one tenant.
    pub storing_per_tenant: usize,
    /// The base time limit for copying one output, in addition to the time for its bytes by
    /// [`StreamLimits::storing_rate`]. Progress does not extend it.
    pub storing_time: Duration,
    /// The minimum rate at which a runner must send an output, in bytes per second.
    pub storing_rate: u64,
    /// The maximum time limit for copying one output of any size.
    pub storing_time_most: Duration,
    /// The maximum number of outputs that wait to be copied.
    pub storing_waiting: usize,
    /// The maximum number of outputs of one runner that wait to be copied.
    pub storing_waiting_per_runner: usize,
    /// The maximum number of searches that use a processor at once. Each yields after one chunk.
    pub searches_at_once: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            readers_per_execution: 1024,
            readers: 4096,
            readers_per_tenant: 2048,
            ring_bytes: 1024 * 1024,
            ahead_bytes: 512 * 1024,
            catch_up_bytes: 256 * 1024,
            reads_at_once: READS_AT_ONCE,
            open_wait: Duration::from_secs(5),
            read_timeout: Duration::from_secs(8),
            idle_close: Duration::from_secs(30),
            unreachable_wait: Duration::from_secs(15),
            poll: Duration::from_secs(1),
            retry_first: Duration::from_millis(100),
            retry_most: Duration::from_secs(2),
            store_retry_most: Duration::from_secs(30),
            store_retry_for: Duration::from_secs(600),
            storing_lease: Duration::from_secs(30),
            storing_at_once: 16,
            storing_per_runner: 4,
            storing_per_tenant: 8,
            storing_time: Duration::from_secs(60),
            storing_rate: 64 * 1024,
            storing_time_most: Duration::from_secs(3600),
            storing_waiting: 10_000,
            storing_waiting_per_runner: 2000,
            searches_at_once: 4,
        }
    }
}

impl StreamLimits {
    /// Checks that the limits are valid and consistent.
    ///
    /// # Errors
    /// The first limit that is invalid.
    pub fn check(&self) -> Result<(), LimitError> {
        let require = LimitError::require::<&str>;
        let chunk = CHUNK_BYTES as u64;
        require("readers_per_execution", self.readers_per_execution > 0, "must not be 0")?;
        require("readers", self.readers > 0, "must not be 0")?;
        require("readers_per_tenant", self.readers_per_tenant > 0, "must not be 0")?;
        require("storing_at_once", self.storing_at_once > 0, "must not be 0")?;
        require("storing_per_runner", self.storing_per_runner > 0, "must not be 0")?;
        require("storing_per_tenant", self.storing_per_tenant > 0, "must not be 0")?;
        require("storing_rate", self.storing_rate > 0, "must not be 0")?;
        require("searches_at_once", self.searches_at_once > 0, "must not be 0")?;
        require("storing_waiting", self.storing_waiting > 0, "must not be 0")?;
        require("storing_waiting_per_runner", self.storing_waiting_per_runner > 0, "must not be 0")?;
        require("ahead_bytes", self.ahead_bytes >= 2 * chunk, "must be at least two chunks (64 KiB)")?;
        require("catch_up_bytes", self.catch_up_bytes >= chunk, "must be at least one chunk (32 KiB)")?;
        // Data that is requested ahead of a reader must not evict data that the reader still needs.
        require(
            "ring_bytes",
            self.ring_bytes as u64 >= 2 * self.ahead_bytes,
            "must be at least twice `ahead_bytes`",
        )?;
        // Each ring uses one read, and catching up needs at least one more.
        require("reads_at_once", (3..=READS_AT_ONCE).contains(&self.reads_at_once), "must be from 3 to 16")?;
        for (limit, value) in self.durations() {
            require(limit, !value.is_zero(), "must not be 0")?;
        }
        // A view must wait long enough for one silent stream to be detected and opened again.
        require(
            "unreachable_wait",
            self.unreachable_wait > self.open_wait + self.read_timeout,
            "must be more than `open_wait` and `read_timeout` together",
        )?;
        require("retry_most", self.retry_most >= self.retry_first, "must be at least `retry_first`")?;
        require(
            "store_retry_most",
            self.store_retry_most >= self.retry_first,
            "must be at least `retry_first`",
        )
    }

    fn durations(&self) -> [(&'static str, Duration); 12] {
        [
            ("open_wait", self.open_wait),
            ("read_timeout", self.read_timeout),
            ("idle_close", self.idle_close),
            ("unreachable_wait", self.unreachable_wait),
            ("poll", self.poll),
            ("retry_first", self.retry_first),
            ("retry_most", self.retry_most),
            ("store_retry_most", self.store_retry_most),
            ("store_retry_for", self.store_retry_for),
            ("storing_lease", self.storing_lease),
            ("storing_time", self.storing_time),
            ("storing_time_most", self.storing_time_most),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_contradict_each_other_are_refused() {
        assert_eq!(StreamLimits::default().check(), Ok(()));
        let cases = [
            ("ring_bytes", StreamLimits { ring_bytes: 512 * 1024, ..StreamLimits::default() }),
            ("readers", StreamLimits { readers: 0, ..StreamLimits::default() }),
            ("reads_at_once", StreamLimits { reads_at_once: 2, ..StreamLimits::default() }),
            ("reads_at_once", StreamLimits { reads_at_once: 17, ..StreamLimits::default() }),
            ("catch_up_bytes", StreamLimits { catch_up_bytes: 1000, ..StreamLimits::default() }),
            ("poll", StreamLimits { poll: Duration::ZERO, ..StreamLimits::default() }),
            (
                "unreachable_wait",
                StreamLimits { read_timeout: Duration::from_secs(10), ..StreamLimits::default() },
            ),
        ];
        for (limit, limits) in cases {
            assert_eq!(limits.check().map_err(|error| error.limit), Err(limit));
        }
    }
}
