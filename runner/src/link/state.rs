//! The state of the runner, as a new link reports it, and the messages that keep it current.

use airlock_domain::{FromRunner, RunnerHello};

use crate::{clock, services::Services};

/// Builds the message with which the runner introduces itself.
pub(super) fn hello(services: &Services) -> RunnerHello {
    services.identity.hello(services.links.epoch(), services.jobs.vouched())
}

/// Builds a heartbeat with the clock and the number of running jobs.
pub(super) fn heartbeat(services: &Services) -> FromRunner {
    let running = u32::try_from(services.jobs.running()).unwrap_or(u32::MAX);
    FromRunner::Heartbeat { clock_ms: clock::now_ms(), running }
}

/// Returns the reports for a new link: all sessions, all jobs, and the marker that the list is complete.
pub(super) fn snapshot(services: &Services) -> Vec<FromRunner> {
    let mut reports = services.sessions.all_reports();
    reports.extend(services.jobs.all_reports());
    reports.push(FromRunner::Reconciled);
    if services.draining.is_on() {
        reports.push(FromRunner::Draining { over: false });
    }
    reports
}

/// Records that a server has read the reports about earlier epochs. After all servers have, the next start does not
/// report again that the journal may be incomplete.
pub(super) fn server_told(services: &Services, server: usize) {
    if services.links.server_told(server) >= services.config.servers.len() {
        services.jobs.all_servers_told();
    }
}
