//! The cause for which a job ends. The first cause wins.

use std::sync::Arc;

use airlock_domain::Cause;
use tokio::sync::watch;

/// The end switch of one job. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct EndSwitch(Arc<watch::Sender<Option<Cause>>>);

impl EndSwitch {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Sets the cause. Does nothing if there is one already.
    pub(crate) fn end(&self, cause: Cause) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }

    /// Returns the cause, if there is one.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.0.borrow().clone()
    }

    /// Sets `own` if there is no cause yet, and returns the cause.
    pub(crate) fn settle(&self, own: Cause) -> Cause {
        self.end(own.clone());
        self.cause().unwrap_or(own)
    }

    /// Waits until there is a cause.
    pub(crate) async fn ended(&self) {
        // The sender is part of `self`, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}
