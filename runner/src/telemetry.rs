//! The runner's events and spans, and their setup from the configuration.
//!
//! A span contains no command text, argument, path or variable value. The crate `airlock-telemetry` does the export.

mod metrics;

use std::path::Path;

use airlock_domain::{Cause, Connection, ExecutionId, ExecutionResult, Violation};
use airlock_telemetry::{CollectorTls, Level, Settings, adopt, fail};
use opentelemetry::{KeyValue, trace::Status};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub use airlock_telemetry::TelemetryError;
pub(crate) use airlock_telemetry::traceparent_of_span as traceparent;
pub use metrics::TABLE as METRICS;
pub(crate) use metrics::{ConnectionMetrics, Levels, Metrics};

use crate::config::{Overrides, RunnerConfig, TelemetryConfig};

/// The service name of a runner in telemetry.
const SERVICE: &str = "airlock-runner";

/// The exporters of traces, metrics and logs. Only the program `airlock-runner` uses them. A program that embeds a
/// runner sets up its own.
#[derive(Debug)]
pub struct Telemetry {
    inner: airlock_telemetry::Telemetry,
    level: Level,
}

impl Telemetry {
    /// Sets up logs, spans and metrics of this process. Needs a tokio runtime.
    ///
    /// # Errors
    /// See [`TelemetryError`].
    pub fn start(config: &TelemetryConfig, runner_id: &str) -> Result<Self, TelemetryError> {
        let inner = airlock_telemetry::Telemetry::start(Settings {
            service: SERVICE.to_owned(),
            instance: runner_id.to_owned(),
            namespace: config.service_namespace.clone(),
            endpoint: config.otlp_endpoint.clone(),
            tls: CollectorTls {
                ca: config.otlp_ca.clone(),
                certificate: config.otlp_certificate.clone().zip(config.otlp_key.clone()),
            },
            // The sender of a trace has already made the sampling decision.
            sampling: 1.0,
            interval: config.metrics_interval,
            json: config.log_json,
            level: config.log.clone(),
            flush: config.flush_timeout,
        })?;
        let level = inner.install()?;
        Ok(Self { inner, level })
    }

    /// Returns the handle that changes the log level.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.clone()
    }

    /// Exports the remaining data, for at most `telemetry.flush_timeout`. Blocks.
    pub fn flush(self) {
        self.inner.flush();
    }
}

/// Returns the log level that a configuration text sets, with an environment and flags.
///
/// # Errors
/// If they are not a valid runner configuration.
pub fn level_in(text: &str, overrides: &Overrides) -> Result<String, String> {
    let config = RunnerConfig::parse_with(text, Path::new("the configuration"), overrides);
    Ok(config.map_err(|error| error.to_string())?.telemetry.log)
}

/// Creates a sandbox in a span that records whether it succeeded.
pub(crate) fn starting<T, E>(parent: &str, launch: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let span = tracing::info_span!("sandbox start", otel.kind = "internal", sandbox.start = "cold");
    let span = child(parent, span);
    let made = span.in_scope(launch);
    if made.is_err() {
        fail(&span, "not_made");
    }
    made
}

/// Creates the span of a command, from its launch to its end.
pub(crate) fn run_span(parent: &str) -> Span {
    child(parent, tracing::info_span!("run", otel.kind = "internal"))
}

/// Creates the span of writing one output stream to the spool.
pub(crate) fn spool_span(parent: &str) -> Span {
    child(parent, tracing::info_span!("spool", otel.kind = "internal"))
}

/// Records how a command ended: only the name of the cause and the exit code.
pub(crate) fn ended(span: &Span, result: &ExecutionResult) {
    span.set_attribute("airlock.cause", result.cause.name());
    if let Cause::Exited { code } = result.cause {
        span.set_attribute("process.exit.code", i64::from(code));
    }
    match result.cause {
        Cause::Exited { code: 0 } => span.set_status(Status::Ok),
        _ => fail(span, result.cause.name()),
    }
}

/// Adds a connection to the span of a command. The host is part of the command, so it is left out.
pub(crate) fn connection(span: &Span, connection: &Connection) {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let attributes = vec![
        KeyValue::new("airlock.connection.verdict", connection.verdict.name()),
        KeyValue::new("airlock.connection.protocol", connection.protocol.name()),
        KeyValue::new("airlock.connection.bytes_up", number(connection.bytes_up)),
        KeyValue::new("airlock.connection.bytes_down", number(connection.bytes_down)),
        KeyValue::new("airlock.connection.seconds", connection.duration.as_secs_f64()),
    ];
    span.add_event("connection", attributes);
}

/// Adds a violation to the span of a command. The path is part of the command, so it is left out.
pub(crate) fn violation(span: &Span, violation: &Violation) {
    let attributes = vec![
        KeyValue::new("airlock.violation.layer", violation.layer.clone()),
        KeyValue::new("airlock.violation.kind", violation.kind.clone()),
        KeyValue::new("airlock.violation.action", violation.action.name()),
    ];
    span.add_event("violation", attributes);
}

/// Records that a step of a command has failed.
pub(crate) fn failed(span: &Span, cause: &Cause) {
    fail(span, cause.name());
}

fn child(parent: &str, span: Span) -> Span {
    adopt(&span, parent);
    span
}

/// An offer was refused.
pub(crate) struct JobRefused {
    pub(crate) execution: ExecutionId,
    /// One of a closed set.
    pub(crate) reason: &'static str,
}

impl JobRefused {
    pub(crate) fn emit(self, metrics: &Metrics) {
        tracing::info!(execution = %self.execution, reason = self.reason, "refused a job");
        metrics.refused(self.reason);
    }
}

/// A job has ended.
pub(crate) struct JobEnded<'a> {
    pub(crate) execution: ExecutionId,
    pub(crate) result: &'a ExecutionResult,
}

impl JobEnded<'_> {
    pub(crate) fn emit(self, metrics: &Metrics) {
        tracing::info!(execution = %self.execution, cause = self.result.cause.name(), "a job ended");
        metrics.ended(self.result);
    }
}

#[cfg(test)]
mod tests {
    use airlock_domain::Started;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn spans_are_children_of_the_request_and_the_command_is_a_child_of_its_run() {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let subscriber = tracing_subscriber::registry().with(layer);
        let place = tracing::subscriber::with_default(subscriber, || {
            let run = run_span(PARENT);
            let place = traceparent(&run).unwrap();
            starting(PARENT, || Err::<(), _>(())).unwrap_err();
            spool_span(PARENT).in_scope(|| {});
            let mut result = ExecutionResult::not_started(Cause::Exited { code: 3 });
            result.started = Started::Yes;
            ended(&run, &result);
            place
        });
        let spans = exporter.get_finished_spans().unwrap();
        let mut names: Vec<_> = spans.iter().map(|span| span.name.to_string()).collect();
        names.sort();
        assert_eq!(names, ["run", "sandbox start", "spool"]);
        for span in &spans {
            assert_eq!(span.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
        }
        let run = spans.iter().find(|span| span.name == "run").unwrap();
        assert_eq!(run.status, Status::error("EXITED"));
        let trace = run.span_context.trace_id();
        assert_eq!(place, format!("00-{trace}-{}-01", run.span_context.span_id()));
    }

    #[test]
    fn without_a_collector_or_a_parent_nothing_is_made_up() {
        assert_eq!(traceparent(&run_span(PARENT)), None);
        assert_eq!(traceparent(&run_span("nonsense")), None);
    }
}
