//! Gauges of the runner, reported to telemetry periodically.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::Core;
use crate::{expiry::Expiry, telemetry::Levels};

/// The interval of the reports.
const PERIOD: Duration = Duration::from_secs(5);

impl Core {
    /// Reports the gauges until `cancel`.
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

    /// Reads the gauges. Blocks, because it asks the file system.
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
