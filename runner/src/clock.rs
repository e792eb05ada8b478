//! The runner's clock: time since the host's boot, which goes on while the host sleeps, so that a
//! runner that slept through its `link_grace` knows it. Never compared with another host's.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Milliseconds since the boot.
pub(crate) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let millis = u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(millis)
}

/// A duration on this clock.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
