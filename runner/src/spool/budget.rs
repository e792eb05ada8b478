//! The limit on the bytes of all spools together, shared by their streams.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_runner_lifecycle::output::Budget;

#[derive(Debug)]
pub(super) struct SharedBudget(Mutex<Budget>);

impl SharedBudget {
    pub(super) fn new(limit: u64) -> Self {
        Self(Mutex::new(Budget::new(limit)))
    }

    /// Locks the budget. A stream locks its segments before.
    pub(super) fn lock(&self) -> MutexGuard<'_, Budget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn used(&self) -> u64 {
        self.lock().used()
    }
}
