//! The runner's events and spans, and how they are set up from its configuration.
//!
//! A span holds no command text, argument, path or value of a variable. Where they go is `airlock-telemetry`'s business.

mod events;
mod metrics;

use std::path::Path;

use airlock_proto::domain::{Cause, ExecutionResult};
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

/// What collectors know a runner as.
const SERVICE: &str = "airlock-runner";

/// The ends that traces, metrics and logs leave by. Only the runner's own program uses it: where the runner is
/// embedded, its host has one.
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
            // Which traces are kept was decided before one comes here.
            sampling: 1.0,
            interval: config.metrics_interval,
            json: config.log_json,
            level: config.log.clone(),
            flush: config.flush_timeout,
        })?;
        let level = inner.install()?;
        Ok(Self { inner, level })
    }

    /// What changes the level of the log.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level.clone()
    }

    /// Sends what is left, for at most `telemetry.flush_timeout`. Blocks.
    pub fn flush(self) {
        self.inner.flush();
    }
}

/// The log level that a configuration's text asks for.
///
/// # Errors
/// The text is no configuration of a runner.
pub fn level_in(text: &str) -> Result<String, String> {
    let config = RunnerConfig::parse(text, Path::new("the configuration"));
    Ok(config.map_err(|error| error.to_string())?.telemetry.log)
}

/// Makes a sandbox, in a span that says whether it was made.
pub(crate) fn starting<T, E>(parent: &str, launch: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let span = tracing::info_span!("sandbox start", otel.kind = "internal", sandbox.start = "cold");
    let span = child(parent, span);
    let made = span.in_scope(launch);
    if made.is_err() {
        fail(&span, "not_made");
    }
    made
}

/// A command, from its launch to its end.
pub(crate) fn run_span(parent: &str) -> Span {
    child(parent, tracing::info_span!("run", otel.kind = "internal"))
}

/// The way of one output stream into the spool.
pub(crate) fn spool_span(parent: &str) -> Span {
    child(parent, tracing::info_span!("spool", otel.kind = "internal"))
}

/// Notes how a command ended, by its cause's name and nothing more.
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

/// Notes that a step of a command's way has failed.
pub(crate) fn failed(span: &Span, cause: &Cause) {
    fail(span, cause.name());
}

fn child(parent: &str, span: Span) -> Span {
    adopt(&span, parent);
    span
}

#[cfg(test)]
mod tests;
