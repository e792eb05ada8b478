//! Limits how many workspaces are scanned at once. A scan needs one handle per nesting level, and a hostile workspace
//! costs much processor time. A turn must not be held while a command runs.

use std::sync::{Condvar, Mutex, PoisonError};

/// The maximum number of concurrent scans.
const AT_ONCE: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREE: Condvar = Condvar::new();

/// A turn. It ends on drop.
pub(super) struct Turn(());

/// Waits for a turn.
pub(super) fn take() -> Turn {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut taken = FREE.wait_while(taken, |taken| *taken >= AT_ONCE).unwrap_or_else(PoisonError::into_inner);
    *taken += 1;
    Turn(())
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FREE.notify_one();
    }
}
