//! The orderly end of the runner's work, before its links close.

use std::time::Duration;

use airlock_domain::{CancelledBy, Cause};

use crate::services::Services;

/// The interval at which the conditions are checked.
const CHECK_PERIOD: Duration = Duration::from_millis(10);

/// Refuses new work, lets running commands continue for `drain.grace`, ends the others, and gives servers
/// `drain.handover` to fetch the output. Returns the number of jobs that were ended early.
pub(crate) async fn drain(services: &Services) -> usize {
    let Services { config, draining, jobs, admission, sessions, links, reports, tasks, .. } = services;
    draining.begin_stop();
    jobs.wait_for_offers();
    wait_for(config.drain.grace, || jobs.running() == 0).await;
    admission.end_all(&Cause::Cancelled(CancelledBy::Drain));
    sessions.cancel_openings();
    tasks.close();
    tasks.wait().await;
    if links.is_linked() {
        wait_for(config.drain.handover, || jobs.all_fetched() || !links.is_linked()).await;
        wait_for(config.drain.handover, || reports.all_sent()).await;
    }
    draining.cut()
}

async fn wait_for(at_most: Duration, done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(CHECK_PERIOD).await;
        }
    };
    // After the timeout, continue regardless.
    let _ = tokio::time::timeout(at_most, wait).await;
}
