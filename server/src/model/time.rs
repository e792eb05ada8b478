//! Moments by the store's clock. Reads no clock.

use std::time::Duration;

/// Microseconds since 1970 by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub i64);

impl Micros {
    /// So long after it; what is too far away is the last moment there is.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long it comes after that; zero if it comes before.
    #[must_use]
    pub fn since(self, then: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(then.0)).unwrap_or(0))
    }
}
