//! The time of the store.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use airlock_store::record::Micros;

/// The time of the store's clock: the last reading plus the time since.
#[derive(Debug)]
pub(crate) struct Clock {
    reading: Mutex<(Micros, Instant)>,
}

impl Clock {
    /// Creates the clock with a reading of the store's clock.
    pub(crate) fn new(now: Micros) -> Self {
        Self { reading: Mutex::new((now, Instant::now())) }
    }

    /// Returns the time of the store's clock.
    pub(crate) fn now(&self) -> Micros {
        let (base, read) = *self.lock();
        base.after(read.elapsed())
    }

    /// Records a reading of the store's clock.
    pub(crate) fn set(&self, now: Micros) {
        *self.lock() = (now, Instant::now());
    }

    /// Returns the time since `then` by the store's clock.
    pub(crate) fn since(&self, then: Micros) -> Duration {
        self.now().since(then)
    }

    fn lock(&self) -> MutexGuard<'_, (Micros, Instant)> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a duration to the store's unit.
pub(crate) fn micros(duration: Duration) -> i64 {
    Micros::default().after(duration).0
}
