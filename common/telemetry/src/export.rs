//! The exporters of traces, metrics and logs: an OTLP collector if one is configured, and standard error. Without a
//! collector trace context is still passed on.

use std::time::{Duration, Instant};

use opentelemetry::{
    KeyValue, global,
    metrics::{Meter, MeterProvider as _},
    trace::TracerProvider as _,
};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, SpanExporter, WithExportConfig as _,
    WithTonicConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    logs::SdkLoggerProvider,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracerProvider},
};
use tracing::Metadata;
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{FilterExt as _, FilterFn, ParseError, filter_fn},
    layer::SubscriberExt as _,
    reload,
    util::SubscriberInitExt as _,
};

use crate::{CollectorError, CollectorTls, Level, collector, lines};

/// The timeout of one export to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(2);
/// The target prefix of Airlock's own spans and events.
const OURS: &str = "airlock";

/// The settings of telemetry.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the program for collectors.
    pub service: String,
    /// The instance, among several programs with this name.
    pub instance: String,
    /// The installation that the program belongs to: `service.namespace`.
    pub namespace: Option<String>,
    /// The collector's gRPC address, such as `http://127.0.0.1:4317`; `https://` for TLS.
    pub endpoint: Option<String>,
    /// The files for TLS.
    pub tls: CollectorTls,
    /// The fraction of traces that is kept if the caller has not decided, from 0 to 1.
    pub sampling: f64,
    /// The interval at which metrics are sent.
    pub interval: Duration,
    /// Whether log lines are JSON.
    pub json: bool,
    /// The log filter: a level, or directives. `RUST_LOG` overrides it.
    pub level: String,
    /// The time to send remaining data at the end.
    pub flush: Duration,
}

/// The reason why telemetry did not start.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The collector cannot be used.
    #[error("telemetry: {0}")]
    Collector(#[from] CollectorError),
    /// An exporter could not be created.
    #[error("cannot create the exporter of {what}: {source}")]
    Exporter {
        /// `traces`, `metrics` or `logs`.
        what: &'static str,
        /// The cause.
        source: ExporterBuildError,
    },
    /// The log filter is invalid.
    #[error("the log level cannot be read: {0}")]
    Level(#[source] ParseError),
    /// Logging is already set up in this process.
    #[error("logging is already set up: {0}")]
    Installed(#[source] tracing_subscriber::util::TryInitError),
}

/// The exporters of traces, metrics and logs.
#[derive(Debug)]
pub struct Telemetry {
    settings: Settings,
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    logs: Option<SdkLoggerProvider>,
}

impl Telemetry {
    /// Creates the exporters for the collector, if one is configured. Connections are established as needed, and an
    /// unavailable collector blocks nothing. Needs a tokio runtime; blocks while it reads the TLS files.
    ///
    /// # Errors
    /// The exporters could not be created.
    pub fn start(settings: Settings) -> Result<Self, TelemetryError> {
        let namespace = settings.namespace.clone().map(|name| KeyValue::new("service.namespace", name));
        let resource = Resource::builder()
            .with_service_name(settings.service.clone())
            .with_attribute(KeyValue::new("service.instance.id", settings.instance.clone()))
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attributes(namespace)
            .build();
        let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sampling)));
        let mut traces = SdkTracerProvider::builder().with_resource(resource.clone()).with_sampler(sampler);
        let mut metrics = SdkMeterProvider::builder().with_resource(resource.clone());
        let mut logs = None;
        if let Some(endpoint) = &settings.endpoint {
            let channel = collector::channel(endpoint, &settings.tls)?;
            let failed = |what| move |source| TelemetryError::Exporter { what, source };
            let exporter = SpanExporter::builder().with_tonic().with_channel(channel.clone());
            let exporter = exporter.with_timeout(EXPORT_TIMEOUT).build();
            traces = traces.with_batch_exporter(exporter.map_err(failed("traces"))?);
            let exporter = MetricExporter::builder().with_tonic().with_channel(channel.clone());
            let exporter = exporter.with_timeout(EXPORT_TIMEOUT).build();
            let reader = PeriodicReader::builder(exporter.map_err(failed("metrics"))?);
            metrics = metrics.with_reader(reader.with_interval(settings.interval).build());
            let exporter = LogExporter::builder().with_tonic().with_channel(channel);
            let exporter = exporter.with_timeout(EXPORT_TIMEOUT).build();
            let builder = SdkLoggerProvider::builder().with_resource(resource);
            logs = Some(builder.with_batch_exporter(exporter.map_err(failed("logs"))?).build());
        }
        Ok(Self { settings, traces: traces.build(), metrics: metrics.build(), logs })
    }

    /// Sets up logging in this process, and exports its spans, events and metrics. Returns a handle for the log
    /// level.
    ///
    /// # Errors
    /// The log filter is invalid, or logging is already set up.
    pub fn install(&self) -> Result<Level, TelemetryError> {
        let from_environment = std::env::var(EnvFilter::DEFAULT_ENV).ok();
        let is_fixed = from_environment.is_some();
        let text = from_environment.unwrap_or_else(|| self.settings.level.clone());
        let filter = || EnvFilter::try_new(&text).map(reload::Layer::new).map_err(TelemetryError::Level);

        let traces = tracing_opentelemetry::layer()
            .with_tracer(self.traces.tracer(OURS))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(only_ours(|data| data.is_span()));
        let (of_lines, handle) = filter()?;
        let lines = lines::layer(self.settings.json).with_filter(of_lines);
        let mut handles = vec![handle];
        let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = vec![traces.boxed(), lines.boxed()];
        if let Some(logs) = &self.logs {
            let (of_records, handle) = filter()?;
            let records = OpenTelemetryTracingBridge::new(logs);
            layers.push(records.with_filter(of_records.and(only_ours(|data| data.is_event()))).boxed());
            handles.push(handle);
        }
        tracing_subscriber::registry().with(layers).try_init().map_err(TelemetryError::Installed)?;
        global::set_meter_provider(self.metrics.clone());
        Ok(Level::new(handles, text, is_fixed))
    }

    /// Returns a meter, which creates instruments.
    #[must_use]
    pub fn meter(&self, scope: &'static str) -> Meter {
        self.metrics.meter(scope)
    }

    /// Sends remaining data for at most `flush`. Blocks.
    pub fn flush(self) {
        let until = Instant::now() + self.settings.flush;
        let left = || until.saturating_duration_since(Instant::now()).min(EXPORT_TIMEOUT);
        let traced = self.traces.shutdown_with_timeout(left());
        let measured = self.metrics.shutdown_with_timeout(left());
        let logged = self.logs.map_or(Ok(()), |logs| logs.shutdown_with_timeout(left()));
        if let Err(error) = traced.and(measured).and(logged) {
            tracing::warn!(%error, "telemetry not sent");
        }
    }
}

/// Selects Airlock's own spans and events. Spans of libraries would dominate every trace. Spans of the exporters would
/// cause endless exports.
fn only_ours(is: fn(&Metadata<'_>) -> bool) -> FilterFn<impl Fn(&Metadata<'_>) -> bool + Clone> {
    filter_fn(move |data| is(data) && data.target().starts_with(OURS))
}
