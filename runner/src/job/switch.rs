//! Why a job ends: the first cause wins, whoever brings it.

use std::sync::Arc;

use airlock_proto::domain::Cause;
use tokio::sync::watch;

/// Clones are of the same job.
#[derive(Debug, Clone)]
pub(crate) struct EndSwitch(Arc<watch::Sender<Option<Cause>>>);

impl EndSwitch {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(None)))
    }

    /// Asks for the end. Does nothing if there is a cause already.
    pub(crate) fn end(&self, cause: Cause) {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }

    /// The cause, if there is one.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.0.borrow().clone()
    }

    /// The cause, which is `own` if there was none.
    pub(crate) fn settle(&self, own: Cause) -> Cause {
        self.end(own.clone());
        self.cause().unwrap_or(own)
    }

    /// Returns once there is a cause.
    pub(crate) async fn ended(&self) {
        // The sender lives in `self`, so that the wait cannot fail.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}
