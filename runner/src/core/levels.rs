//! How much of what there is on this runner, told to the telemetry from time to time.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::{expiry::Expiry, telemetry::Levels};

/// Between two looks.
const PERIOD: Duration = Duration::from_secs(5);

impl Core {
    /// Looks, and tells, until it is cancelled.
    pub(crate) async fn watch_levels(self: Arc<Self>, cancel: CancellationToken) {
        loop {
            let core = Arc::clone(&self);
            if let Ok(levels) = spawn_blocking(move || core.levels()).await {
                self.metrics.levels(&levels);
            }
            if cancel.run_until_cancelled(tokio::time::sleep(PERIOD)).await.is_none() {
                return;
            }
        }
    }

    /// Blocks: it asks the disk.
    fn levels(&self) -> Levels {
        let (disk_free, disk_size) = self.tools.room.space().unwrap_or_default();
        Levels {
            slots: if self.draining.is_on() { 0 } else { u64::from(self.config.slots) },
            sessions: self.sessions.all().len() as u64,
            spool: self.tools.spools.used(),
            disk_free,
            disk_size,
            expiry: Expiry::of(&self.config.servers, SystemTime::now()),
        }
    }
}
