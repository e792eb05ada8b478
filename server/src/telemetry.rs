//! Traces, metrics and logs: where they go, and how a trace passes through this server.
//!
//! Logs go to standard error. Traces and metrics go to an OTLP collector if one is configured; without
//! one, trace context is passed on all the same. No command, argument, path or value of a variable may
//! become a part of any of them.

pub mod metrics;
mod propagation;
pub mod store;

use std::{io::IsTerminal as _, time::Duration};

use opentelemetry::{KeyValue, global, metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracerProvider},
};
use tracing_subscriber::{
    EnvFilter, Layer as _, filter::filter_fn, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

pub use metrics::Metrics;
pub use propagation::{adopt, adopt_headers, current_traceparent, trace_id, traceparent_of};

use crate::config::{LogFormat, Telemetry as Config};

/// Of the instrumentation, as collectors see it.
const SCOPE: &str = "airlock-server";
/// Of one export to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);
/// Of everything that is left to be sent when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Why telemetry did not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The exporter of traces could not be made.
    #[error("the exporter of traces could not be made: {0}")]
    Traces(#[source] ExporterBuildError),
    /// The exporter of metrics could not be made.
    #[error("the exporter of metrics could not be made: {0}")]
    Metrics(#[source] ExporterBuildError),
    /// The level is not one.
    #[error("the log level cannot be read: {0}")]
    Level(#[source] tracing_subscriber::filter::ParseError),
    /// This process logs already.
    #[error("logging was set up before: {0}")]
    Installed(#[source] tracing_subscriber::util::TryInitError),
}

/// The ends that traces and metrics leave by.
#[derive(Debug)]
pub struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Opens the way to the collector, if one is configured. It is connected to as needed, and a
    /// collector that is away holds up nothing. Needs a tokio runtime.
    ///
    /// # Errors
    /// The exporters could not be made.
    pub fn start(config: &Config, server_id: &str) -> Result<Self, TelemetryError> {
        let resource = Resource::builder()
            .with_service_name(config.service_name.clone())
            .with_attribute(KeyValue::new("service.instance.id", server_id.to_owned()))
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(config.sampling)));
        let mut traces = SdkTracerProvider::builder().with_resource(resource.clone()).with_sampler(sampler);
        let mut metrics = SdkMeterProvider::builder().with_resource(resource);
        if let Some(endpoint) = &config.otlp_endpoint {
            let exporter = SpanExporter::builder()
                .with_tonic()
                .with_endpoint(endpoint)
                .with_timeout(EXPORT_TIMEOUT)
                .build()
                .map_err(TelemetryError::Traces)?;
            traces = traces.with_batch_exporter(exporter);
            let exporter = MetricExporter::builder()
                .with_tonic()
                .with_endpoint(endpoint)
                .with_timeout(EXPORT_TIMEOUT)
                .build()
                .map_err(TelemetryError::Metrics)?;
            let reader = PeriodicReader::builder(exporter).with_interval(config.metrics_interval).build();
            metrics = metrics.with_reader(reader);
        }
        Ok(Self { traces: traces.build(), metrics: metrics.build() })
    }

    /// Makes this process log, its spans traces, and this the way of all metrics in it: a runner in the
    /// same process sends its own along. `RUST_LOG` overrules the configured level.
    ///
    /// # Errors
    /// The level cannot be read, or somebody has done so before.
    pub fn install(&self, config: &Config) -> Result<(), TelemetryError> {
        let level = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_else(|_| config.log_level.clone());
        let level = EnvFilter::try_new(level).map_err(TelemetryError::Level)?;
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let lines = match config.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        };
        // Spans of our own crates only: those of the libraries would be most of every trace. Events are
        // for the log.
        let ours = filter_fn(|data| data.is_span() && data.target().starts_with("airlock"));
        let traces = tracing_opentelemetry::layer()
            .with_tracer(self.traces.tracer(SCOPE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(ours);
        tracing_subscriber::registry()
            .with(traces)
            .with(lines.with_filter(level))
            .try_init()
            .map_err(TelemetryError::Installed)?;
        global::set_meter_provider(self.metrics.clone());
        Ok(())
    }

    /// The instruments, which all go the same way.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.metrics.meter(SCOPE))
    }

    /// Sends what is left, for at most five seconds.
    pub async fn shut_down(self) {
        let Self { traces, metrics } = self;
        // Both block; each of their exports has a time-out of its own, so the thread comes back.
        let flush = tokio::task::spawn_blocking(move || {
            let traced = traces.shutdown_with_timeout(EXPORT_TIMEOUT);
            let measured = metrics.shutdown_with_timeout(EXPORT_TIMEOUT);
            (traced, measured)
        });
        match tokio::time::timeout(FLUSH_TIMEOUT, flush).await {
            Ok(Ok((Ok(()), Ok(())))) => {}
            Ok(Ok((traced, measured))) => {
                let error = traced.err().or(measured.err()).map(|error| error.to_string());
                tracing::warn!(error, "some telemetry was not sent");
            }
            Ok(Err(_)) | Err(_) => tracing::warn!("some telemetry was not sent in time"),
        }
    }
}

#[cfg(test)]
mod tests;
