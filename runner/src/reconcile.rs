//! The periodic loops above the services: they end epochs, remove what has expired, and report the gauges.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use airlock_domain::Cause;
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{clock, expiry::Expiry, services::Services, telemetry::Levels};

/// The interval at which the state of the links is checked.
const LINKS_PERIOD: Duration = Duration::from_millis(100);
/// The interval at which expired jobs are removed.
const JOBS_PERIOD: Duration = Duration::from_secs(10);
/// The interval at which gauges are reported.
const LEVELS_PERIOD: Duration = Duration::from_secs(5);

/// Starts all loops. They run until `cancel`.
pub(crate) fn spawn_all(services: &Arc<Services>, cancel: &CancellationToken, tasks: &mut JoinSet<()>) {
    tasks.spawn(expire_jobs(Arc::clone(services), cancel.clone()));
    tasks.spawn(end_epochs(Arc::clone(services), cancel.clone()));
    tasks.spawn(report_levels(Arc::clone(services), cancel.clone()));
    let (files, cancel) = (Arc::clone(&services.files), cancel.clone());
    tasks.spawn(async move { files.expire(cancel).await });
}

/// Removes ended jobs that no server fetched within `spool.keep`.
async fn expire_jobs(services: Arc<Services>, cancel: CancellationToken) {
    let period = JOBS_PERIOD.min(services.config.spool.keep).max(JOBS_PERIOD / 100);
    while cancel.run_until_cancelled(sleep(period)).await.is_some() {
        services.jobs.forget_expired();
    }
}

/// Waits for the end of `link_grace`. Then the epoch ends, and its jobs with it.
async fn end_epochs(services: Arc<Services>, cancel: CancellationToken) {
    while cancel.run_until_cancelled(sleep(LINKS_PERIOD)).await.is_some() {
        let Some(epoch) = services.links.fence(clock::now_ms()) else { continue };
        tracing::warn!(%epoch, "no server connected within `link_grace`; the jobs of the last epoch are \
                                ended");
        if let Err(error) = services.jobs.begin_epoch(epoch) {
            tracing::error!(%error, "new epoch not journaled");
        }
        services.admission.end_all(&Cause::RunnerLost);
    }
}

/// Reports the gauges.
async fn report_levels(services: Arc<Services>, cancel: CancellationToken) {
    loop {
        let read = Arc::clone(&services);
        if let Ok(levels) = spawn_blocking(move || levels(&read)).await {
            services.metrics.levels(&levels);
        }
        if cancel.run_until_cancelled(sleep(LEVELS_PERIOD)).await.is_none() {
            return;
        }
    }
}

/// Reads the gauges. Blocks, because it asks the file system.
fn levels(services: &Services) -> Levels {
    let (disk_free, disk_size) = services.tools.disk_space.space().unwrap_or_default();
    Levels {
        slots: if services.draining.is_on() { 0 } else { u64::from(services.config.slots) },
        sessions: services.sessions.count() as u64,
        connections: services.tools.proxy.open() as u64,
        spool: services.tools.spools.used(),
        disk_free,
        disk_size,
        expiry: Expiry::of(&services.config.servers, SystemTime::now()),
    }
}
