//! W3C trace context: from a caller's metadata to spans, and from spans to outgoing calls. Also the error status of
//! a span.

use std::collections::HashMap;

use http::HeaderMap;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator as _},
    trace::{Status, TraceContextExt as _},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
/// The attribute in the semantic conventions of OpenTelemetry.
const ERROR_TYPE: &str = "error.type";

/// Makes `span` a child of the span in this `traceparent`. An invalid or empty one changes nothing.
pub fn adopt(span: &Span, traceparent: &str) {
    if !traceparent.is_empty() {
        let carrier = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
        adopt_from(span, &carrier);
    }
}

/// Makes `span` a child of the span in these headers. Headers without a valid one change nothing.
pub fn adopt_headers(span: &Span, headers: &HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        adopt_from(span, &Headers(headers));
    }
}

/// Returns the `traceparent` of the current span; empty if tracing is not set up.
#[must_use]
pub fn current_traceparent() -> String {
    traceparent_of_span(&Span::current()).unwrap_or_default()
}

/// Returns the `traceparent` of a span for its children, if tracing is set up.
#[must_use]
pub fn traceparent_of_span(span: &Span) -> Option<String> {
    traceparent_in(&span.context())
}

/// Returns the `traceparent` for a further call: that of the current span, or the caller's own if tracing is not set
/// up. Empty if there is neither.
#[must_use]
pub fn traceparent_of(headers: &HeaderMap) -> String {
    let here = current_traceparent();
    if !here.is_empty() {
        return here;
    }
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
    traceparent_in(&context).unwrap_or_default()
}

/// Marks the work of a span as failed, with a name from a closed set. A message must not be used, because it could
/// contain the command.
pub fn fail(span: &Span, kind: &'static str) {
    span.set_attribute(ERROR_TYPE, kind);
    span.set_status(Status::error(kind));
}

fn traceparent_in(context: &Context) -> Option<String> {
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(context, &mut carrier);
    carrier.remove(TRACEPARENT)
}

fn adopt_from(span: &Span, carrier: &dyn Extractor) {
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), carrier);
    if context.span().span_context().is_valid() {
        // This fails if tracing is not set up, and then there is no parent to set.
        let _ = span.set_parent(context);
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACEPARENT, TRACESTATE]
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", value.parse().expect("a header"));
        headers
    }

    /// Returns the spans that ended during the call.
    fn traced(what: impl FnOnce()) -> Vec<opentelemetry_sdk::trace::SpanData> {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), what);
        exporter.get_finished_spans().expect("spans")
    }

    #[test]
    fn a_callers_trace_goes_on_in_ours() {
        let spans = traced(|| {
            let span = tracing::info_span!("rpc");
            adopt_headers(&span, &headers(PARENT));
            let _entered = span.enter();
            let here = current_traceparent();
            assert!(here.starts_with(&format!("00-{TRACE}-")), "{here}");
            assert_ne!(here, PARENT);
            assert_eq!(traceparent_of(&HeaderMap::new()), here);
        });
        assert_eq!(spans.len(), 1);
        assert_eq!(
            spans.first().map(|span| span.parent_span_id.to_string()).as_deref(),
            Some("b7ad6b7169203331")
        );
    }

    #[test]
    fn what_is_no_trace_context_is_not_adopted() {
        let spans = traced(|| {
            for bad in ["", "00", "ff-zz-00-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
                let span = tracing::info_span!("rpc");
                adopt(&span, bad);
                adopt_headers(&span, &headers(bad));
            }
        });
        assert_eq!(spans.len(), 4);
        assert!(spans.iter().all(|span| span.span_context.trace_id().to_string() != TRACE));
    }

    #[test]
    fn without_spans_the_callers_context_is_passed_on_if_it_is_one() {
        assert_eq!(current_traceparent(), "");
        assert_eq!(traceparent_of(&headers(PARENT)), PARENT);
        assert_eq!(traceparent_of(&headers("$(touch x)")), "");
        assert_eq!(traceparent_of(&HeaderMap::new()), "");
    }

    #[test]
    fn a_failure_is_told_by_its_name() {
        let spans = traced(|| fail(&tracing::info_span!("store"), "unavailable"));
        let span = spans.first().expect("a span");
        assert_eq!(span.status, Status::error("unavailable"));
        assert!(span.attributes.iter().any(|one| one.key.as_str() == ERROR_TYPE));
    }
}
