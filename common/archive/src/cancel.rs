//! Cancels a call from another thread.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::error::{ArchiveError, Cause};

/// Cancels a call from another thread. It is checked for every entry, for every [`crate::BLOCK_BYTES`] of content,
/// and at each read or write of the archive. The call then returns [`Cause::Cancelled`].
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Creates a handle that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels all calls that use this handle or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Reports whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn look(&self) -> Result<(), ArchiveError> {
        if self.is_cancelled() { Err(Cause::Cancelled.into()) } else { Ok(()) }
    }
}
