//! Logs to stderr, and spans and metrics to an OTLP collector where one is configured.
//!
//! Only the runner's own program uses it: where the runner is embedded, its host has a subscriber.

use std::io::IsTerminal as _;

use opentelemetry::{KeyValue, global, trace::TracerProvider};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{Resource, metrics::SdkMeterProvider, trace::SdkTracerProvider};
use tracing_subscriber::{
    EnvFilter, Layer, Registry, filter::ParseError, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::config::TelemetryConfig;

/// Why telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `telemetry.log` is not a filter.
    #[error("`telemetry.log`: {0}")]
    Filter(#[from] ParseError),
    /// `telemetry.otlp_endpoint` cannot be used.
    #[error("`telemetry.otlp_endpoint`: {0}")]
    Exporter(#[from] ExporterBuildError),
    /// The process has a subscriber already.
    #[error("a subscriber is there already: {0}")]
    Subscriber(#[from] tracing_subscriber::util::TryInitError),
}

/// What has to be flushed at the end of the process.
#[derive(Debug)]
pub struct Telemetry {
    providers: Option<(SdkTracerProvider, SdkMeterProvider)>,
    config: TelemetryConfig,
}

impl Telemetry {
    /// Sets up logs, spans and metrics of this process. Needs a tokio runtime.
    ///
    /// # Errors
    /// See [`TelemetryError`].
    pub fn start(config: &TelemetryConfig, runner_id: &str) -> Result<Self, TelemetryError> {
        let filter = EnvFilter::try_new(&config.log)?;
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let lines: Box<dyn Layer<Registry> + Send + Sync> =
            if config.log_json { Box::new(lines.json()) } else { Box::new(lines) };
        let registry = tracing_subscriber::registry().with(lines.with_filter(filter));
        let Some(endpoint) = &config.otlp_endpoint else {
            registry.try_init()?;
            return Ok(Self { providers: None, config: config.clone() });
        };
        let (tracer, meter) = providers(endpoint, runner_id)?;
        let spans = tracing_opentelemetry::layer()
            .with_tracer(tracer.tracer("airlock-runner"))
            .with_filter(EnvFilter::try_new("airlock_runner=info")?);
        registry.with(spans).try_init()?;
        global::set_meter_provider(meter.clone());
        Ok(Self { providers: Some((tracer, meter)), config: config.clone() })
    }

    /// Sends what is left, for at most `telemetry.flush_timeout`. Blocks.
    pub fn flush(self) {
        let Some((tracer, meter)) = self.providers else { return };
        let timeout = self.config.flush_timeout;
        for ended in [tracer.shutdown_with_timeout(timeout), meter.shutdown_with_timeout(timeout)] {
            if let Err(error) = ended {
                tracing::warn!(%error, "not all telemetry was sent");
            }
        }
    }
}

fn providers(
    endpoint: &str,
    runner_id: &str,
) -> Result<(SdkTracerProvider, SdkMeterProvider), ExporterBuildError> {
    let resource = Resource::builder()
        .with_service_name("airlock-runner")
        .with_attribute(KeyValue::new("service.instance.id", runner_id.to_owned()))
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    let spans = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let metrics = MetricExporter::builder().with_tonic().with_endpoint(endpoint).build()?;
    let tracer =
        SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource.clone()).build();
    let meter = SdkMeterProvider::builder().with_periodic_exporter(metrics).with_resource(resource).build();
    Ok((tracer, meter))
}
