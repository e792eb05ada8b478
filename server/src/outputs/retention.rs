//! Removes outputs that were kept for as long as they should be. Every server does; an output that two
//! remove at once is removed.

use std::{sync::Arc, time::Duration};

use airlock_proto::domain::OutputState;
use tokio_util::sync::CancellationToken;

use super::Outputs;
use crate::{
    model::Micros,
    store::{OutputBy, Store, StoreError},
};

/// How often it is looked for some.
const INTERVAL: Duration = Duration::from_secs(60);
/// Outputs that are looked up at once.
const AT_ONCE: u32 = 100;

/// Looks after the age of outputs.
pub(crate) struct Retention {
    pub(crate) outputs: Arc<Outputs>,
    pub(crate) store: Arc<dyn Store>,
    /// Counted from the end of the execution.
    pub(crate) keep: Duration,
}

impl Retention {
    /// Works until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        loop {
            match stop.run_until_cancelled(self.round()).await {
                Some(Err(error)) => tracing::warn!(%error, "old outputs are not looked for just now"),
                Some(Ok(())) => {}
                None => return,
            }
            if stop.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_none() {
                return;
            }
        }
    }

    /// Removes all that are too old now. One that cannot be removed keeps no other, and is tried again in the next
    /// round.
    pub(crate) async fn round(&self) -> Result<(), StoreError> {
        loop {
            let before = Micros(self.store.now().await?.0.saturating_sub(micros(self.keep)));
            let old = self.store.outputs_ended_before(before, AT_ONCE).await?;
            let mut is_last = old.len() < AT_ONCE as usize;
            for id in old {
                // Removed before it is said, so that nothing is left which nobody would look for again.
                match self.outputs.delete(id).await {
                    // Nothing to do if another server was first.
                    Ok(()) => {
                        self.store.set_output(id, OutputState::Lost, OutputBy::Retention).await?;
                    }
                    Err(error) => {
                        tracing::warn!(execution_id = %id, %error, "an old output is not removed yet");
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

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
