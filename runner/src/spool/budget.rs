//! The limit on the bytes of all spools together.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::SpoolError;

#[derive(Debug)]
pub(super) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    pub(super) fn take(&self, bytes: u64) -> Result<(), SpoolError> {
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, add)
            .map(drop)
            .map_err(|_| SpoolError::Full { limit: self.limit })
    }

    /// Counts existing bytes, even if they exceed the limit.
    pub(super) fn count(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::AcqRel);
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }
}
