//! Passes the requests of servers to the services.

use airlock_domain::ToRunner;

use crate::services::Services;

/// Handles a message of a server, or starts to. The link itself handles `OpenOutput`, `OpenExchange`, `Probe` and
/// `Welcome`.
pub(super) fn handle(services: &Services, message: ToRunner) {
    let Services { sessions, jobs, admission, draining, .. } = services;
    match message {
        ToRunner::OpenSession { session_id, base, profile } => sessions.open(session_id, &base, profile),
        ToRunner::CloseSession { session_id } => sessions.close(session_id),
        ToRunner::StartJob(offer) => admission.offer(*offer),
        ToRunner::EndJob { execution_id, cause } => admission.end(&execution_id, cause),
        ToRunner::ForgetJob { execution_id } => jobs.forget(execution_id),
        ToRunner::SignalJob { execution_id, signal } => jobs.signal(&execution_id, signal),
        ToRunner::ResizeJob { execution_id, size } => jobs.resize(&execution_id, size),
        ToRunner::DetachJob { execution_id, timeout } => jobs.detach(&execution_id, timeout),
        ToRunner::Drain { undo } => draining.set_by_server(!undo),
        ToRunner::Welcome { .. }
        | ToRunner::OpenOutput { .. }
        | ToRunner::OpenExchange { .. }
        | ToRunner::Probe { .. }
        | ToRunner::Heartbeat => {}
    }
}
