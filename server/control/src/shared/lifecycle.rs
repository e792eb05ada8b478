//! The tasks of the services, and their stop.

use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFuture},
    task::TaskTracker,
};

use crate::api::ApiError;

/// The stop of the services and the tasks that end with it. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lifecycle {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// Starts a task that ends when the services stop.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }

    /// Rejects new work while the services stop.
    pub(crate) fn check_running(&self) -> Result<(), ApiError> {
        if self.is_stopping() { Err(ApiError::shutting_down()) } else { Ok(()) }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns when the services stop.
    pub(crate) fn stopped(&self) -> WaitForCancellationFuture<'_> {
        self.stop.cancelled()
    }

    /// Tells every task to end. New work is refused from now on.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
    }

    /// Waits until the tasks have ended.
    pub(crate) async fn wait(&self) {
        self.tasks.wait().await;
    }

    /// Reports whether every task has ended.
    #[cfg(test)]
    pub(crate) fn has_ended(&self) -> bool {
        self.tasks.is_empty()
    }
}
