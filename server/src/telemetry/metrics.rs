//! The server's metrics: every name, once. Attribute values come from closed sets.

mod observers;

use std::time::Duration;

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter},
};
use tonic::Code;

/// One metric, as the documentation lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// As collectors see it.
    pub name: &'static str,
    /// `counter`, `histogram`, `gauge` or `updown`.
    pub kind: &'static str,
    /// UCUM.
    pub unit: &'static str,
    /// Names of attributes.
    pub attributes: &'static [&'static str],
    /// What it counts.
    pub what: &'static str,
}

macro_rules! metrics {
    ($($constant:ident = $name:literal, $kind:literal, $unit:literal, [$($attribute:literal),*], $what:literal;)+) => {
        $(const $constant: Description = Description {
            name: $name, kind: $kind, unit: $unit, attributes: &[$($attribute),*], what: $what,
        };)+

        /// Every metric of the server.
        pub const TABLE: &[Description] = &[$($constant),+];
    };
}

metrics! {
    EXECUTIONS = "airlock.executions", "counter", "{execution}", ["cause"], "Executions that have ended, by cause";
    VERDICTS = "airlock.verdicts", "counter", "{decision}", ["verdict", "reason"], "Decisions, by verdict and deciding reason";
    QUEUE_TIME = "airlock.queue.time", "histogram", "s", [], "From the queue to a runner";
    START_TIME = "airlock.start.time", "histogram", "s", [], "From the offer to the running command";
    RUN_TIME = "airlock.run.time", "histogram", "s", [], "From the running command to its end";
    FIRST_BYTE_TIME = "airlock.first_byte.time", "histogram", "s", [], "From the beginning of a Run or Attach to its first byte of output";
    OUTPUT_BYTES = "airlock.output.bytes", "counter", "By", [], "Output given to readers";
    OUTPUT_MISSING = "airlock.output.missing", "counter", "By", [], "Output that readers were told is no longer held";
    OUTPUT_STORED = "airlock.output.stored", "counter", "By", [], "Output put into the storage";
    OUTPUT_LOST = "airlock.output.lost", "counter", "{output}", [], "Outputs of which a part or all is gone";
    CATCH_UPS = "airlock.readers.catch_ups", "counter", "{read}", [], "Times that a reader fell behind the ring";
    READERS = "airlock.readers", "updown", "{reader}", [], "Views that are open";
    PUSHES = "airlock.pushes", "counter", "{stream}", ["outcome"], "Output streams that runners opened, and those ended for what they carried";
    EXCHANGES = "airlock.exchanges", "updown", "{exchange}", ["kind"], "Work on files and input that is under way";
    EXCHANGES_ENDED = "airlock.exchanges.ended", "counter", "{exchange}", ["kind", "outcome"], "Work on files and input that has ended";
    TRANSFER_BYTES = "airlock.transfer.bytes", "counter", "By", ["kind"], "Bytes of uploads, downloads and input";
    ACTIVE = "airlock.executions.active", "gauge", "{execution}", [], "Executions that start or run";
    QUEUED = "airlock.executions.queued", "gauge", "{execution}", [], "Executions that wait in the queue";
    APPROVALS_OPEN = "airlock.approvals.open", "gauge", "{approval}", [], "Executions that wait for a person";
    APPROVAL_TIME = "airlock.approval.time", "histogram", "s", ["answer"], "From the question to the answer or its expiry";
    RUNNERS = "airlock.runners", "gauge", "{runner}", [], "Runners with a link to this server";
    SLOTS = "airlock.runner.slots", "gauge", "{slot}", [], "Commands at once that those runners take";
    PROFILES_REFUSED = "airlock.profiles.refused", "gauge", "{profile}", [], "Profiles whose files do not load; the versions of before are in force";
    STORE_TIME = "airlock.store.time", "histogram", "s", ["operation", "outcome"], "One step of the store";
    AUTHENTICATION_FAILURES = "airlock.authentication.failures", "counter", "{request}", ["reason"], "Requests without a principal";
    CONNECTIONS = "airlock.connections", "updown", "{connection}", [], "Connections that are open";
    CONNECTIONS_REFUSED = "airlock.connections.refused", "counter", "{connection}", ["reason"], "Connections that were not taken";
    RPC_DURATION = "rpc.server.call.duration", "histogram", "s", ["rpc.system.name", "rpc.method", "rpc.response.status_code"], "Calls, to the end of their streams";
}

/// Of short times, in seconds.
const SHORT: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// Of times that people or commands take, in seconds.
const LONG: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 30.0, 120.0, 600.0, 1800.0];

/// The instruments. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Metrics {
    executions: Counter<u64>,
    verdicts: Counter<u64>,
    queue_time: Histogram<f64>,
    start_time: Histogram<f64>,
    run_time: Histogram<f64>,
    first_byte_time: Histogram<f64>,
    output_bytes: Counter<u64>,
    output_missing: Counter<u64>,
    output_stored: Counter<u64>,
    output_lost: Counter<u64>,
    catch_ups: Counter<u64>,
    readers: UpDownCounter<i64>,
    pushes: Counter<u64>,
    exchanges: UpDownCounter<i64>,
    exchanges_ended: Counter<u64>,
    transfer_bytes: Counter<u64>,
    active: Gauge<u64>,
    queued: Gauge<u64>,
    approvals_open: Gauge<u64>,
    approval_time: Histogram<f64>,
    runners: Gauge<u64>,
    slots: Gauge<u64>,
    profiles_refused: Gauge<u64>,
    store_time: Histogram<f64>,
    authentication_failures: Counter<u64>,
    connections: UpDownCounter<i64>,
    connections_refused: Counter<u64>,
    rpc_duration: Histogram<f64>,
}

impl Metrics {
    /// Instruments of this meter.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        Self {
            executions: counter(meter, EXECUTIONS),
            verdicts: counter(meter, VERDICTS),
            queue_time: histogram(meter, QUEUE_TIME, &LONG),
            start_time: histogram(meter, START_TIME, &SHORT),
            run_time: histogram(meter, RUN_TIME, &LONG),
            first_byte_time: histogram(meter, FIRST_BYTE_TIME, &LONG),
            output_bytes: counter(meter, OUTPUT_BYTES),
            output_missing: counter(meter, OUTPUT_MISSING),
            output_stored: counter(meter, OUTPUT_STORED),
            output_lost: counter(meter, OUTPUT_LOST),
            catch_ups: counter(meter, CATCH_UPS),
            readers: updown(meter, READERS),
            pushes: counter(meter, PUSHES),
            exchanges: updown(meter, EXCHANGES),
            exchanges_ended: counter(meter, EXCHANGES_ENDED),
            transfer_bytes: counter(meter, TRANSFER_BYTES),
            active: gauge(meter, ACTIVE),
            queued: gauge(meter, QUEUED),
            approvals_open: gauge(meter, APPROVALS_OPEN),
            approval_time: histogram(meter, APPROVAL_TIME, &LONG),
            runners: gauge(meter, RUNNERS),
            slots: gauge(meter, SLOTS),
            profiles_refused: gauge(meter, PROFILES_REFUSED),
            store_time: histogram(meter, STORE_TIME, &SHORT),
            authentication_failures: counter(meter, AUTHENTICATION_FAILURES),
            connections: updown(meter, CONNECTIONS),
            connections_refused: counter(meter, CONNECTIONS_REFUSED),
            rpc_duration: histogram(meter, RPC_DURATION, &LONG),
        }
    }

    /// A view gave its first byte of output so long after it was asked for.
    pub fn first_byte(&self, after: Duration) {
        self.first_byte_time.record(after.as_secs_f64(), &[]);
    }

    /// The store took a step: `ok`, `unavailable` or `error`.
    pub fn store_step(&self, operation: &'static str, outcome: &'static str, duration: Duration) {
        let attributes = [KeyValue::new("operation", operation), KeyValue::new("outcome", outcome)];
        self.store_time.record(duration.as_secs_f64(), &attributes);
    }

    /// So many profiles have files that do not load.
    pub fn profiles_refused(&self, count: u64) {
        self.profiles_refused.record(count, &[]);
    }

    /// A request had no principal.
    pub fn authentication_failed(&self, reason: &'static str) {
        self.authentication_failures.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// A connection was taken.
    pub fn connection_opened(&self) {
        self.connections.add(1, &[]);
    }

    /// A connection ended.
    pub fn connection_closed(&self) {
        self.connections.add(-1, &[]);
    }

    /// A connection was not taken: `limit`, `handshake` or `timeout`.
    pub fn connection_refused(&self, reason: &'static str) {
        self.connections_refused.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// A call of this method (from the role table) has ended.
    pub fn call_ended(&self, method: &'static str, code: Code, duration: Duration) {
        let attributes = [
            KeyValue::new("rpc.system.name", "grpc"),
            KeyValue::new("rpc.method", method.trim_start_matches('/')),
            KeyValue::new("rpc.response.status_code", code_name(code)),
        ];
        self.rpc_duration.record(duration.as_secs_f64(), &attributes);
    }
}

/// A code as the contract of gRPC writes it.
#[must_use]
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

fn counter(meter: &Meter, metric: Description) -> Counter<u64> {
    meter.u64_counter(metric.name).with_unit(metric.unit).with_description(metric.what).build()
}

fn updown(meter: &Meter, metric: Description) -> UpDownCounter<i64> {
    meter.i64_up_down_counter(metric.name).with_unit(metric.unit).with_description(metric.what).build()
}

fn gauge(meter: &Meter, metric: Description) -> Gauge<u64> {
    meter.u64_gauge(metric.name).with_unit(metric.unit).with_description(metric.what).build()
}

fn histogram(meter: &Meter, metric: Description, boundaries: &[f64]) -> Histogram<f64> {
    meter
        .f64_histogram(metric.name)
        .with_unit(metric.unit)
        .with_description(metric.what)
        .with_boundaries(boundaries.to_vec())
        .build()
}
