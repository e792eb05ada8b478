//! The runner's events and spans, and their setup from the configuration.
//!
//! A span contains no command text, argument, path or variable value. The crate `airlock-telemetry` does the export.

mod events;
mod metrics;

use std::path::Path;

use airlock_domain::{Cause, ExecutionResult};
use airlock_telemetry::{CollectorTls, Level, Settings, adopt, fail};
use opentelemetry::trace::Status;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub use airlock_telemetry::TelemetryError;
pub(crate) use airlock_telemetry::traceparent_of_span as traceparent;
pub(crate) use events::{JobEnded, JobRefused};
pub use metrics::TABLE as METRICS;
pub(crate) use metrics::{Levels, Metrics};

use crate::config::{RunnerConfig, TelemetryConfig};

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

/// Returns the log level that a configuration text sets.
///
/// # Errors
/// If the text is not a valid runner configuration.
pub fn level_in(text: &str) -> Result<String, String> {
    let config = RunnerConfig::parse(text, Path::new("the configuration"));
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

/// Records that a step of a command has failed.
pub(crate) fn failed(span: &Span, cause: &Cause) {
    fail(span, cause.name());
}

fn child(parent: &str, span: Span) -> Span {
    adopt(&span, parent);
    span
}

#[cfg(test)]
mod tests;
