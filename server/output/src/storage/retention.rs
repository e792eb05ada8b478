//! Removal of outputs that are older than their retention. Every server runs it. Two servers may remove the same
//! output at once.

use std::{sync::Arc, time::Duration};

use airlock_domain::OutputState;
use airlock_store::{OutputBy, Store, StoreError, record::Micros};
use tokio_util::sync::CancellationToken;

use super::outputs::Outputs;

/// The pause between two rounds.
const INTERVAL: Duration = Duration::from_secs(60);
/// The number of outputs per query.
const AT_ONCE: u32 = 100;

/// The task that removes expired outputs.
pub struct Retention {
    /// The storage of the outputs.
    pub outputs: Arc<Outputs>,
    /// The state of the executions.
    pub store: Arc<dyn Store>,
    /// The retention, counted from the end of the execution.
    pub keep: Duration,
}

impl Retention {
    /// Runs rounds until `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            match stop.run_until_cancelled(self.round()).await {
                Some(Err(error)) => tracing::warn!(%error, "cannot list expired outputs; retrying"),
                Some(Ok(())) => {}
                None => return,
            }
            if stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none() {
                return;
            }
        }
    }

    /// Removes all expired outputs. An output that cannot be removed does not block the others; the next round
    /// retries it.
    pub(super) async fn round(&self) -> Result<(), StoreError> {
        loop {
            let before =
                Micros(self.store.now().await?.0.saturating_sub(Micros::default().after(self.keep).0));
            let old = self.store.outputs_ended_before(before, AT_ONCE).await?;
            let mut is_last = old.len() < AT_ONCE as usize;
            for id in old {
                // Delete before the store is updated. Otherwise a crash could leave an output that no round finds
                // again.
                match self.outputs.delete(id).await {
                    // Returns false if another server was first; no further step is needed.
                    Ok(()) => {
                        self.store.set_output(id, OutputState::Lost, OutputBy::Retention).await?;
                    }
                    Err(error) => {
                        tracing::warn!(execution_id = %id, %error, "cannot remove an expired output; retrying");
                        is_last = true;
                    }
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
