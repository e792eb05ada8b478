//! The runner's metrics. Each name is defined once. Attribute values come from closed sets.

use std::time::Duration;

use airlock_domain::{Connection, ExecutionResult};
use airlock_telemetry::metrics;
use opentelemetry::{
    KeyValue, global,
    metrics::{Counter, Gauge, Histogram, UpDownCounter},
};

use crate::expiry::Expiry;

/// The instrumentation scope.
const SCOPE: &str = "airlock-runner";

metrics! {
    JOBS = "airlock.runner.jobs", Counter, "{job}", ["cause"], "Accepted jobs that have ended, by cause";
    REFUSALS = "airlock.runner.refusals", Counter, "{job}", ["reason"], "Offers that were refused, by reason";
    ACTIVE = "airlock.runner.jobs.active", UpDown, "{job}", [], "Accepted jobs that have not ended, which is the number of slots in use";
    SLOTS = "airlock.runner.slots", Gauge, "{slot}", [], "Number of commands that this runner can run at the same time; 0 while it drains";
    LAUNCH_TIME = "airlock.runner.launch.time", Histogram, "s", ["start"], "Time from an accepted offer to the start of the command, by the kind of start";
    OUTPUT_BYTES = "airlock.runner.output.bytes", Counter, "By", [], "Output that commands wrote, whether kept or not";
    OUTPUT_CUT = "airlock.runner.output.cut", Counter, "By", [], "Output that was cut from the middle";
    VIOLATIONS = "airlock.runner.violations", Counter, "{violation}", ["layer"], "Violations that layers of the sandbox observed or refused, by layer";
    CONNECTIONS = "airlock.runner.connections", Counter, "{connection}", ["verdict", "protocol"], "Connections of commands to other hosts that ended or were refused, by verdict and protocol";
    CONNECTION_BYTES = "airlock.runner.connections.bytes", Counter, "By", ["direction"], "Bytes of these connections, to the hosts (`up`) and from them (`down`)";
    CONNECTIONS_OPEN = "airlock.runner.connections.open", Gauge, "{connection}", [], "Open connections of commands to the proxy";
    SESSIONS = "airlock.runner.sessions", Gauge, "{session}", [], "Sessions whose workspaces are on this runner";
    SPOOL = "airlock.runner.spool.used", Gauge, "By", [], "Disk space that kept output uses";
    DISK_FREE = "airlock.runner.disk.free", Gauge, "By", [], "Free space on the disk of sessions and kept output";
    DISK_SIZE = "airlock.runner.disk.size", Gauge, "By", [], "Size of the disk of sessions and kept output";
    CERTIFICATE_EXPIRY = "airlock.runner.certificate.expiry", Gauge, "s", ["file"], "Time until the certificates of a file expire, negative afterwards: the runner's `cert`, or the `ca` that verifies servers";
    LINKS = "airlock.runner.links", UpDown, "{link}", [], "Links that are up";
    BUILD = "airlock.runner.build.info", Gauge, "{build}", ["version"], "1, with the version of the runner";
}

/// The buckets of launch times, in seconds.
const SHORT: [f64; 10] = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The values of the runner's gauges.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Levels {
    pub(crate) slots: u64,
    pub(crate) sessions: u64,
    pub(crate) connections: u64,
    /// In bytes, as the next two fields.
    pub(crate) spool: u64,
    pub(crate) disk_free: u64,
    pub(crate) disk_size: u64,
    pub(crate) expiry: Expiry,
}

/// The instruments.
#[derive(Debug)]
pub(crate) struct Metrics {
    jobs: Counter<u64>,
    refusals: Counter<u64>,
    active: UpDownCounter<i64>,
    slots: Gauge<u64>,
    launch_time: Histogram<f64>,
    output_bytes: Counter<u64>,
    output_cut: Counter<u64>,
    violations: Counter<u64>,
    sessions: Gauge<u64>,
    connections: Gauge<u64>,
    spool: Gauge<u64>,
    disk_free: Gauge<u64>,
    disk_size: Gauge<u64>,
    certificate_expiry: Gauge<f64>,
    links: UpDownCounter<i64>,
}

impl Metrics {
    /// Creates the instruments with the process's current meter provider.
    pub(crate) fn new() -> Self {
        let meter = global::meter(SCOPE);
        BUILD.gauge(&meter).record(1, &[KeyValue::new("version", env!("CARGO_PKG_VERSION"))]);
        Self {
            jobs: JOBS.counter(&meter),
            refusals: REFUSALS.counter(&meter),
            active: ACTIVE.updown(&meter),
            slots: SLOTS.gauge(&meter),
            launch_time: LAUNCH_TIME.histogram(&meter, &SHORT),
            output_bytes: OUTPUT_BYTES.counter(&meter),
            output_cut: OUTPUT_CUT.counter(&meter),
            violations: VIOLATIONS.counter(&meter),
            sessions: SESSIONS.gauge(&meter),
            connections: CONNECTIONS_OPEN.gauge(&meter),
            spool: SPOOL.gauge(&meter),
            disk_free: DISK_FREE.gauge(&meter),
            disk_size: DISK_SIZE.gauge(&meter),
            certificate_expiry: CERTIFICATE_EXPIRY.seconds(&meter),
            links: LINKS.updown(&meter),
        }
    }

    pub(crate) fn accepted(&self) {
        self.active.add(1, &[]);
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// Records the start of a command. The sandbox was created for it (`cold`).
    pub(crate) fn running(&self, launch: Duration) {
        self.launch_time.record(launch.as_secs_f64(), &[KeyValue::new("start", "cold")]);
    }

    pub(crate) fn ended(&self, result: &ExecutionResult) {
        self.active.add(-1, &[]);
        self.jobs.add(1, &[KeyValue::new("cause", result.cause.name())]);
        self.output_bytes.add(result.stdout_bytes + result.stderr_bytes, &[]);
        self.output_cut.add(result.stdout_cut_bytes + result.stderr_cut_bytes, &[]);
        for violation in &result.violations {
            // The name of a layer is a constant.
            self.violations.add(1, &[KeyValue::new("layer", violation.layer.clone())]);
        }
    }

    pub(crate) fn levels(&self, levels: &Levels) {
        self.slots.record(levels.slots, &[]);
        self.sessions.record(levels.sessions, &[]);
        self.connections.record(levels.connections, &[]);
        self.spool.record(levels.spool, &[]);
        self.disk_free.record(levels.disk_free, &[]);
        self.disk_size.record(levels.disk_size, &[]);
        for (file, left) in [("cert", levels.expiry.certificate), ("ca", levels.expiry.ca)] {
            if let Some(left) = left {
                self.certificate_expiry.record(left, &[KeyValue::new("file", file)]);
            }
        }
    }

    pub(crate) fn link_up(&self) {
        self.links.add(1, &[]);
    }

    pub(crate) fn link_down(&self) {
        self.links.add(-1, &[]);
    }
}

/// The instruments of connections to other hosts.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionMetrics {
    connections: Counter<u64>,
    bytes: Counter<u64>,
}

impl ConnectionMetrics {
    /// Creates the instruments with the process's current meter provider.
    pub(crate) fn new() -> Self {
        let meter = global::meter(SCOPE);
        Self { connections: CONNECTIONS.counter(&meter), bytes: CONNECTION_BYTES.counter(&meter) }
    }

    /// Records a connection that ended or was refused.
    pub(crate) fn ended(&self, connection: &Connection) {
        let protocol = KeyValue::new("protocol", connection.protocol.name());
        self.connections.add(1, &[KeyValue::new("verdict", connection.verdict.name()), protocol]);
        self.bytes.add(connection.bytes_up, &[KeyValue::new("direction", "up")]);
        self.bytes.add(connection.bytes_down, &[KeyValue::new("direction", "down")]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_form_and_unique() {
        let mut names: Vec<_> = TABLE.iter().map(|metric| metric.name).collect();
        assert!(names.iter().all(|name| name.starts_with("airlock.runner.")));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
