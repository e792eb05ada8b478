//! Tests of the telemetry of one run: a single trace from the caller to the runner, the metrics, and no part
//! of the command.

use std::collections::{BTreeMap, BTreeSet};

use airlock_domain::ToRunner;
use airlock_proto::v1;
use airlock_server::telemetry::metrics::TABLE;
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::{
    PATIENCE,
    edge::{collector::Collector, runner::link_up, until, world::World},
};

const SECRET: &str = "pwd # the-secret-of-this-command";
const TRACE: &str = "5b8aa5a2d2c872e8321cf37308d69df2";
const CALLER: &str = "b7ad6b7169203331";

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
    tokio::time::timeout(PATIENCE, async { tokio::join!(work, read) }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_one_trace_and_tells_nothing_of_the_command() {
    let collector = Collector::default();
    let endpoint = collector.listen().await;
    let more = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_interval = \"1s\"\n");
    let world = World::installed(&more).await;
    run_once(&world).await;
    // The levels are measured once a second and exported as often.
    let wanted = ["airlock.executions", "airlock.verdicts", "airlock.runners", "rpc.server.call.duration"];
    until("each step has a span", async || {
        let measured = collector.metric_names();
        wanted.iter().all(|name| measured.contains(*name))
    })
    .await;
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
        assert!(parent == CALLER || names.contains_key(&parent), "`{}` has no parent", span.name);
    }

    let measured = collector.metric_names();
    let known: BTreeSet<String> = TABLE.iter().map(|metric| metric.name.to_owned()).collect();
    assert!(measured.is_subset(&known), "{measured:?}");

    let everything = collector.everything();
    assert!(everything.contains("ExecutionService/Run"));
    assert!(!everything.contains("secret"), "telemetry does not contain the command");
}
