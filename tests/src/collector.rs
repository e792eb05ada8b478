//! An OTLP collector in the test's process that stores all exports, for inspection by item and for searches over
//! everything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{KeyValue, any_value::Value},
    logs::v1::LogRecord,
    metrics::v1::{Metric, metric::Data},
    resource::v1::Resource,
    trace::v1::Span,
};
use prost::Message as _;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

/// The largest export, in bytes.
const MESSAGE_BYTES: usize = 64 << 20;

/// The collector. Dropping it stops it.
#[derive(Debug)]
pub struct Collector {
    kept: Kept,
    endpoint: String,
    serving: JoinHandle<()>,
}

#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Exports>>);

#[derive(Debug, Default)]
struct Exports {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
}

/// A span and its sender.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The sender's `service.name`.
    pub service: String,
    /// The span as it was sent.
    pub span: Span,
}

/// A metric in one export, and its sender.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The sender's `service.name`.
    pub job: String,
    /// The sender's `service.instance.id`.
    pub instance: String,
    /// The metric as it was sent.
    pub metric: Metric,
}

impl Collector {
    /// Starts a collector on a free port of the loopback.
    ///
    /// # Panics
    /// If there is none.
    pub async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let kept = Kept::default();
        let server = Server::builder()
            .add_service(TraceServiceServer::new(kept.clone()).max_decoding_message_size(MESSAGE_BYTES))
            .add_service(MetricsServiceServer::new(kept.clone()).max_decoding_message_size(MESSAGE_BYTES))
            .add_service(LogsServiceServer::new(kept.clone()).max_decoding_message_size(MESSAGE_BYTES))
            .serve_with_incoming(TcpListenerStream::new(listener));
        let serving = tokio::spawn(async move { server.await.unwrap() });
        Self { kept, endpoint, serving }
    }

    /// Returns the address.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns all spans so far.
    #[must_use]
    pub fn spans(&self) -> Vec<Seen> {
        let exports = self.kept.lock();
        let resources = exports.traces.iter().flat_map(|export| &export.resource_spans);
        resources
            .flat_map(|resource| {
                let service = of_resource(resource.resource.as_ref(), "service.name");
                let spans = resource.scope_spans.iter().flat_map(|scope| &scope.spans);
                spans.map(move |span| Seen { service: service.clone(), span: span.clone() })
            })
            .collect()
    }

    /// Returns all metrics so far, once for each export.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        self.measured().into_iter().map(|measured| measured.metric).collect()
    }

    /// Like [`Collector::metrics`], each with its sender.
    #[must_use]
    pub fn measured(&self) -> Vec<Measured> {
        let exports = self.kept.lock();
        let resources = exports.metrics.iter().flat_map(|export| &export.resource_metrics);
        resources
            .flat_map(|resource| {
                let of = |name| of_resource(resource.resource.as_ref(), name);
                let (job, instance) = (of("service.name"), of("service.instance.id"));
                let metrics = resource.scope_metrics.iter().flat_map(|scope| &scope.metrics);
                metrics.map(move |metric| Measured {
                    job: job.clone(),
                    instance: instance.clone(),
                    metric: metric.clone(),
                })
            })
            .collect()
    }

    /// Returns all log records so far.
    #[must_use]
    pub fn records(&self) -> Vec<LogRecord> {
        let exports = self.kept.lock();
        let resources = exports.logs.iter().flat_map(|export| &export.resource_logs);
        let scopes = resources.flat_map(|resource| &resource.scope_logs);
        scopes.flat_map(|scope| scope.log_records.iter().cloned()).collect()
    }

    /// Returns all exports as bytes.
    #[must_use]
    pub fn everything(&self) -> Vec<u8> {
        let exports = self.kept.lock();
        let traces = exports.traces.iter().map(prost::Message::encode_to_vec);
        let metrics = exports.metrics.iter().map(prost::Message::encode_to_vec);
        let logs = exports.logs.iter().map(ExportLogsServiceRequest::encode_to_vec);
        traces.chain(metrics).chain(logs).flatten().collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, Exports> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of_resource(resource: Option<&Resource>, name: &str) -> String {
    let attributes = resource.map(|resource| resource.attributes.as_slice()).unwrap_or_default();
    text(attributes, name).unwrap_or_default()
}

/// Returns the value of a text attribute.
#[must_use]
pub fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let value = attributes.iter().find(|one| one.key == name)?.value.as_ref()?;
    match value.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        _ => None,
    }
}

/// Returns the attributes of each data point of a metric.
#[must_use]
pub fn points(metric: &Metric) -> Vec<Vec<KeyValue>> {
    match &metric.data {
        Some(Data::Gauge(gauge)) => gauge.data_points.iter().map(|point| point.attributes.clone()).collect(),
        Some(Data::Sum(sum)) => sum.data_points.iter().map(|point| point.attributes.clone()).collect(),
        Some(Data::Histogram(all)) => all.data_points.iter().map(|point| point.attributes.clone()).collect(),
        Some(Data::ExponentialHistogram(_) | Data::Summary(_)) | None => Vec::new(),
    }
}

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.lock().traces.push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Kept {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.lock().metrics.push(request.into_inner());
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Kept {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.lock().logs.push(request.into_inner());
        Ok(Response::new(ExportLogsServiceResponse::default()))
    }
}
