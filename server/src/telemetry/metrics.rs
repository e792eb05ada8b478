//! The server's metrics. Each name is defined once. Attribute values come from closed sets.

mod observers;

use std::time::Duration;

use airlock_telemetry::metrics;
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Gauge, Histogram, Meter, UpDownCounter},
};
use tonic::Code;

metrics! {
    EXECUTIONS = "airlock.executions", Counter, "{execution}", ["cause"], "Executions that have ended, by cause";
    VERDICTS = "airlock.verdicts", Counter, "{decision}", ["verdict", "reason"], "Decisions, by verdict and deciding reason";
    QUEUE_TIME = "airlock.queue.time", Histogram, "s", [], "Time in the queue, until the offer to a runner";
    START_TIME = "airlock.start.time", Histogram, "s", [], "Time from the offer to the start of the command";
    RUN_TIME = "airlock.run.time", Histogram, "s", [], "Time from the start of a command to its end";
    FIRST_BYTE_TIME = "airlock.first_byte.time", Histogram, "s", [], "Time from the start of a Run or Attach to its first byte of output";
    OUTPUT_BYTES = "airlock.output.bytes", Counter, "By", [], "Output sent to readers";
    OUTPUT_MISSING = "airlock.output.missing", Counter, "By", [], "Output that readers could not get because it is no longer kept";
    OUTPUT_STORED = "airlock.output.stored", Counter, "By", [], "Output written to the storage";
    OUTPUT_LOST = "airlock.output.lost", Counter, "{output}", [], "Outputs that were lost in part or in full";
    OUTPUTS_STORING = "airlock.outputs.storing", UpDown, "{output}", [], "Outputs of ended executions that wait to be written to the storage, or are being written";
    CATCH_UPS = "airlock.readers.catch_ups", Counter, "{read}", [], "Number of times that a reader fell behind the ring";
    READERS = "airlock.readers", UpDown, "{reader}", [], "Open views";
    PUSHES = "airlock.pushes", Counter, "{stream}", ["outcome"], "Output streams that runners opened, and those ended because of invalid data";
    EXCHANGES = "airlock.exchanges", UpDown, "{exchange}", ["kind"], "Operations on files and input in progress";
    EXCHANGES_ENDED = "airlock.exchanges.ended", Counter, "{exchange}", ["kind", "outcome"], "Operations on files and input that have ended";
    TRANSFER_BYTES = "airlock.transfer.bytes", Counter, "By", ["kind"], "Bytes of uploads, downloads, input and forwarded connections";
    ACTIVE = "airlock.executions.active", Gauge, "{execution}", [], "Executions that start or run, of all servers";
    QUEUED = "airlock.executions.queued", Gauge, "{execution}", [], "Executions that wait in the queue, of all servers";
    QUEUE_AGE = "airlock.queue.age", Gauge, "s", [], "Waiting time of the oldest execution in the queue, of all servers";
    APPROVALS_OPEN = "airlock.approvals.open", Gauge, "{approval}", [], "Executions that wait for a person, of all servers";
    APPROVAL_AGE = "airlock.approvals.age", Gauge, "s", [], "Waiting time of the oldest open approval, of all servers";
    APPROVAL_TIME = "airlock.approval.time", Histogram, "s", ["answer"], "Time from the request for an approval to its answer or expiry";
    SESSIONS = "airlock.sessions", Gauge, "{session}", ["state"], "Sessions that have not ended, of all servers";
    RUNNERS = "airlock.runners", Gauge, "{runner}", ["state"], "Runners with a link to this server, by drain state";
    SLOTS = "airlock.slots", Gauge, "{slot}", ["state"], "Slots of these runners, by whether they are in use";
    PROFILES_REFUSED = "airlock.profiles.refused", Gauge, "{profile}", [], "Profiles with invalid files; the last valid versions stay active";
    HOOK_CALLS = "airlock.hook.calls", Counter, "{call}", ["hook", "method", "outcome"], "Calls to hooks that have ended, by outcome; refused calls are included";
    HOOK_TIME = "airlock.hook.time", Histogram, "s", ["hook", "method"], "Time of a call to a hook, with the time in which it waits for its turn";
    HOOK_BREAKER = "airlock.hook.breaker", Gauge, "{breaker}", ["hook", "method"], "State of a hook's breaker: 0 closed, 1 half open, 2 open";
    HOOK_DELIVERIES = "airlock.hook.deliveries", Counter, "{delivery}", ["hook", "outcome"], "Deliveries of results to hooks: `accepted`, `failed` and repeated later, or `dropped`";
    HOOK_DELIVERIES_AGE = "airlock.hook.deliveries.age", Gauge, "s", ["hook"], "Age of the oldest result that a hook has not accepted, of all servers";
    STORE_TIME = "airlock.store.time", Histogram, "s", ["operation", "outcome"], "Time of one operation of the store";
    AUTHENTICATION_FAILURES = "airlock.authentication.failures", Counter, "{request}", ["reason"], "Requests that failed authentication";
    CERTIFICATE_EXPIRY = "airlock.certificate.expiry", Gauge, "s", ["file"], "Time until the certificates of a file expire, negative after expiry: `tls`, `client_ca`, `peer`, `peer_ca`, `hook` or `hook_ca`";
    CONNECTIONS = "airlock.connections", UpDown, "{connection}", [], "Open connections";
    CONNECTIONS_REFUSED = "airlock.connections.refused", Counter, "{connection}", ["reason"], "Refused connections";
    BUILD = "airlock.build.info", Gauge, "{build}", ["version"], "1, with the version of the server";
    RPC_DURATION = "rpc.server.call.duration", Histogram, "s", ["rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"], "Time of calls, to the end of their streams";
}

/// Histogram boundaries for short times, in seconds.
const SHORT: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// Histogram boundaries for times of people or commands, in seconds.
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
    outputs_storing: UpDownCounter<i64>,
    catch_ups: Counter<u64>,
    readers: UpDownCounter<i64>,
    pushes: Counter<u64>,
    exchanges: UpDownCounter<i64>,
    exchanges_ended: Counter<u64>,
    transfer_bytes: Counter<u64>,
    active: Gauge<u64>,
    queued: Gauge<u64>,
    queue_age: Gauge<f64>,
    approvals_open: Gauge<u64>,
    approval_age: Gauge<f64>,
    approval_time: Histogram<f64>,
    sessions: Gauge<u64>,
    runners: Gauge<u64>,
    slots: Gauge<u64>,
    profiles_refused: Gauge<u64>,
    hook_calls: Counter<u64>,
    hook_time: Histogram<f64>,
    hook_breaker: Gauge<u64>,
    hook_deliveries: Counter<u64>,
    hook_deliveries_age: Gauge<f64>,
    store_time: Histogram<f64>,
    authentication_failures: Counter<u64>,
    certificate_expiry: Gauge<f64>,
    connections: UpDownCounter<i64>,
    connections_refused: Counter<u64>,
    rpc_duration: Histogram<f64>,
}

impl Metrics {
    /// Creates the instruments on this meter.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        BUILD.gauge(meter).record(1, &[KeyValue::new("version", env!("CARGO_PKG_VERSION"))]);
        Self {
            executions: EXECUTIONS.counter(meter),
            verdicts: VERDICTS.counter(meter),
            queue_time: QUEUE_TIME.histogram(meter, &LONG),
            start_time: START_TIME.histogram(meter, &SHORT),
            run_time: RUN_TIME.histogram(meter, &LONG),
            first_byte_time: FIRST_BYTE_TIME.histogram(meter, &LONG),
            output_bytes: OUTPUT_BYTES.counter(meter),
            output_missing: OUTPUT_MISSING.counter(meter),
            output_stored: OUTPUT_STORED.counter(meter),
            output_lost: OUTPUT_LOST.counter(meter),
            outputs_storing: OUTPUTS_STORING.updown(meter),
            catch_ups: CATCH_UPS.counter(meter),
            readers: READERS.updown(meter),
            pushes: PUSHES.counter(meter),
            exchanges: EXCHANGES.updown(meter),
            exchanges_ended: EXCHANGES_ENDED.counter(meter),
            transfer_bytes: TRANSFER_BYTES.counter(meter),
            active: ACTIVE.gauge(meter),
            queued: QUEUED.gauge(meter),
            queue_age: QUEUE_AGE.seconds(meter),
            approvals_open: APPROVALS_OPEN.gauge(meter),
            approval_age: APPROVAL_AGE.seconds(meter),
            approval_time: APPROVAL_TIME.histogram(meter, &LONG),
            sessions: SESSIONS.gauge(meter),
            runners: RUNNERS.gauge(meter),
            slots: SLOTS.gauge(meter),
            profiles_refused: PROFILES_REFUSED.gauge(meter),
            hook_calls: HOOK_CALLS.counter(meter),
            hook_time: HOOK_TIME.histogram(meter, &LONG),
            hook_breaker: HOOK_BREAKER.gauge(meter),
            hook_deliveries: HOOK_DELIVERIES.counter(meter),
            hook_deliveries_age: HOOK_DELIVERIES_AGE.seconds(meter),
            store_time: STORE_TIME.histogram(meter, &SHORT),
            authentication_failures: AUTHENTICATION_FAILURES.counter(meter),
            certificate_expiry: CERTIFICATE_EXPIRY.seconds(meter),
            connections: CONNECTIONS.updown(meter),
            connections_refused: CONNECTIONS_REFUSED.counter(meter),
            rpc_duration: RPC_DURATION.histogram(meter, &LONG),
        }
    }

    /// Records the time from the start of a view to its first byte of output.
    pub fn first_byte(&self, after: Duration) {
        self.first_byte_time.record(after.as_secs_f64(), &[]);
    }

    /// Records an operation of the store. The outcome is `ok`, `unavailable` or `error`.
    pub fn store_step(&self, operation: &'static str, outcome: &'static str, duration: Duration) {
        let attributes = [KeyValue::new("operation", operation), KeyValue::new("outcome", outcome)];
        self.store_time.record(duration.as_secs_f64(), &attributes);
    }

    /// Counts a request without a principal.
    pub fn authentication_failed(&self, reason: &'static str) {
        self.authentication_failures.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// Records the time in seconds to the expiry of the certificates in this file (`tls`, `client_ca`, `peer`,
    /// `peer_ca`, `hook` or `hook_ca`).
    pub fn certificate_expiry(&self, file: &'static str, seconds: f64) {
        self.certificate_expiry.record(seconds, &[KeyValue::new("file", file)]);
    }

    /// Counts an accepted connection.
    pub fn connection_opened(&self) {
        self.connections.add(1, &[]);
    }

    /// Counts a closed connection.
    pub fn connection_closed(&self) {
        self.connections.add(-1, &[]);
    }

    /// Counts a refused connection. The reason is `limit`, `handshake` or `timeout`.
    pub fn connection_refused(&self, reason: &'static str) {
        self.connections_refused.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// Records the end of a call. `method` comes from the table of roles.
    pub fn call_ended(&self, method: &'static str, code: Code, duration: Duration) {
        let mut attributes = vec![
            KeyValue::new("rpc.system.name", "grpc"),
            KeyValue::new("rpc.method", method.trim_start_matches('/')),
            KeyValue::new("rpc.response.status_code", code_name(code)),
        ];
        attributes.extend(is_fault(code).then(|| KeyValue::new("error.type", code_name(code))));
        self.rpc_duration.record(duration.as_secs_f64(), &attributes);
    }
}

/// Reports whether this code is an error of the server, as opposed to one of the caller.
#[must_use]
pub fn is_fault(code: Code) -> bool {
    matches!(
        code,
        Code::Unknown
            | Code::DeadlineExceeded
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
    )
}

/// Returns the name of a code in the gRPC specification.
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
