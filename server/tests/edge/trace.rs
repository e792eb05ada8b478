//! One run, as an OTLP collector sees it: a single trace from the caller to the runner, the metrics,
//! and nothing of what was run.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_proto::{domain::ToRunner, v1};
use airlock_server::telemetry::{Telemetry, metrics::TABLE};
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    trace::v1::Span,
};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, transport::Server};

use crate::{runner::link_up, world::World};

const SECRET: &str = "pwd # the-secret-of-this-command";
const TRACE: &str = "5b8aa5a2d2c872e8321cf37308d69df2";
const CALLER: &str = "b7ad6b7169203331";

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
struct Collector {
    traces: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    metrics: Arc<Mutex<Vec<ExportMetricsServiceRequest>>>,
}

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.traces.lock().unwrap().push(request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Collector {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.metrics.lock().unwrap().push(request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

impl Collector {
    async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Server::builder()
            .add_service(TraceServiceServer::new(self.clone()))
            .add_service(MetricsServiceServer::new(self.clone()))
            .serve_with_incoming(TcpListenerStream::new(listener));
        tokio::spawn(server);
        format!("http://{address}")
    }

    fn spans(&self) -> Vec<Span> {
        let traces = self.traces.lock().unwrap().clone();
        let resources = traces.into_iter().flat_map(|export| export.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    fn metric_names(&self) -> BTreeSet<String> {
        let metrics = self.metrics.lock().unwrap().clone();
        let resources = metrics.into_iter().flat_map(|export| export.resource_metrics);
        resources
            .flat_map(|resource| resource.scope_metrics)
            .flat_map(|scope| scope.metrics)
            .map(|metric| metric.name)
            .collect()
    }
}

async fn run_once(world: &World) {
    let mut link = link_up(world).await;
    let spec = v1::ExecutionSpec { command: SECRET.into(), ..Default::default() };
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let (mut stream, job) = link.run(world, spec, Some(&parent)).await;
    assert!(job.traceparent.contains(TRACE), "{}", job.traceparent);
    let work = async {
        link.ended(&job, 0).await;
        loop {
            match link.order().await {
                ToRunner::OpenOutput { execution_id, ticket } => link.push(execution_id, ticket).await,
                ToRunner::ForgetJob { .. } => return,
                _ => {}
            }
        }
    };
    let read = async { while stream.message().await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(work, read) }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_and_tells_nothing_of_the_command() {
    let collector = Collector::default();
    let endpoint = collector.listen().await;
    let more = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_interval = \"1s\"\n");
    let world = World::with_telemetry(&more, |config| {
        let telemetry = Telemetry::start(config, "s").unwrap();
        telemetry.install(config).unwrap();
        telemetry
    })
    .await;
    run_once(&world).await;
    // The levels come once a second.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    world.server.shut_down().await;

    let spans: Vec<Span> =
        collector.spans().into_iter().filter(|span| hex::encode(&span.trace_id) == TRACE).collect();
    let names: BTreeMap<String, String> =
        spans.iter().map(|span| (hex::encode(&span.span_id), span.name.clone())).collect();
    for name in ["airlock.v1.ExecutionService/Run", "authenticate", "store", "place"] {
        assert!(names.values().any(|found| found == name), "no `{name}` in {names:?}");
    }
    for span in &spans {
        let parent = hex::encode(&span.parent_span_id);
        assert!(parent == CALLER || names.contains_key(&parent), "`{}` hangs in the air", span.name);
    }

    let measured = collector.metric_names();
    for name in ["airlock.executions", "airlock.verdicts", "airlock.runners", "rpc.server.call.duration"] {
        assert!(measured.contains(name), "no `{name}` in {measured:?}");
    }
    let known: BTreeSet<String> = TABLE.iter().map(|metric| metric.name.to_owned()).collect();
    assert!(measured.is_subset(&known), "{measured:?}");

    let everything =
        format!("{:?} {:?}", collector.traces.lock().unwrap(), collector.metrics.lock().unwrap());
    assert!(everything.contains("ExecutionService/Run"));
    assert!(!everything.contains("secret"), "the command was told");
}
