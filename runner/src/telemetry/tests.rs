//! Tests that spans join the request's trace, and that the command receives its parent span.

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
