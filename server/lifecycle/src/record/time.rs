//! Points in time by the store's clock. This module reads no clock.

use std::time::Duration;

/// Microseconds since 1970 by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub i64);

impl Micros {
    /// Returns the time after this duration. Saturates at the maximum.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// Returns the duration since an earlier time, or zero if that time is later.
    #[must_use]
    pub fn since(self, then: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(then.0)).unwrap_or(0))
    }
}
