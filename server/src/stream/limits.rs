//! The named limits and clocks of output streams, and what must hold between them. Plain data.

use std::time::Duration;

use airlock_proto::limits::{CHUNK_BYTES, READS_AT_ONCE};

use crate::limits::LimitError;

/// How much of everything, and how long. Durations are measured on the monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLimits {
    /// Readers at once of one execution.
    pub readers_per_execution: usize,
    /// Readers at once of all executions.
    pub readers: usize,
    /// Of those, of one tenant's executions.
    pub readers_per_tenant: usize,
    /// Bytes of each of the two rings of an execution, small chunks counted as larger than they are.
    pub ring_bytes: usize,
    /// Bytes that are asked for ahead of the fastest reader.
    pub ahead_bytes: u64,
    /// Bytes that one reader behind the ring asks for at once.
    pub catch_up_bytes: u64,
    /// Reads at once on one output stream, at most [`READS_AT_ONCE`].
    pub reads_at_once: usize,
    /// From `OpenOutput` to the stream that carries its ticket.
    pub open_wait: Duration,
    /// A read of bytes that are there, or of an execution that has ended, without an answer.
    pub read_timeout: Duration,
    /// An output stream that nobody wants anything of.
    pub idle_close: Duration,
    /// A view of a finished execution that gets nothing from its runner ends after so long.
    pub unreachable_wait: Duration,
    /// How often views and the keeping of outputs look at the store without being told to.
    pub poll: Duration,
    /// The first wait before something that failed is tried again; doubled each time.
    pub retry_first: Duration,
    /// The longest such wait for readers.
    pub retry_most: Duration,
    /// The longest such wait for copying an output into the storage.
    pub store_retry_most: Duration,
    /// Copying is given up after so long without success; it starts anew when the runner is back.
    pub store_retry_for: Duration,
    /// How long a server that stores an output may do so without renewing. By the store's clock.
    pub storing_lease: Duration,
    /// Outputs that are copied into the storage at once.
    pub storing_at_once: usize,
    /// Of those, of one runner.
    pub storing_per_runner: usize,
    /// Of those, of one tenant.
    pub storing_per_tenant: usize,
    /// The time for copying one output, beside what [`StreamLimits::storing_rate`] gives it for its bytes. However
    /// many bytes come meanwhile, it is not begun anew.
    pub storing_time: Duration,
    /// Bytes of an output that a runner sends in a second at least.
    pub storing_rate: u64,
    /// The longest that copying one output may take, however long it is.
    pub storing_time_most: Duration,
    /// Outputs that wait to be copied.
    pub storing_waiting: usize,
    /// Of those, of one runner.
    pub storing_waiting_per_runner: usize,
    /// Searches that have a processor at the same time; each gives it up after a chunk.
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
    /// Checks the limits against each other.
    ///
    /// # Errors
    /// The first limit that cannot be.
    pub fn check(&self) -> Result<(), LimitError> {
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
        // What is asked for ahead of a reader must not push out what it has not had yet.
        require(
            "ring_bytes",
            self.ring_bytes as u64 >= 2 * self.ahead_bytes,
            "must be at least twice `ahead_bytes`",
        )?;
        // Both rings follow; catching up needs at least one read more.
        require("reads_at_once", (3..=READS_AT_ONCE).contains(&self.reads_at_once), "must be from 3 to 16")?;
        for (limit, value) in self.durations() {
            require(limit, !value.is_zero(), "must not be 0")?;
        }
        // A stream that was silent is opened again within the patience of a view.
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

fn require(limit: &'static str, holds: bool, problem: &str) -> Result<(), LimitError> {
    if holds { Ok(()) } else { Err(LimitError { limit, problem: problem.to_owned() }) }
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
