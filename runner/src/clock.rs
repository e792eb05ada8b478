//! The runner's clock: the time since the host's boot, including the time for which the host was suspended. A runner
//! therefore notices a suspension that was longer than its `link_grace`. Values of two hosts are never compared.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the milliseconds since the host's boot.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(millis)
}

/// Converts a duration to milliseconds, saturating.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
