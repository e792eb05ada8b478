//! W3C trace context: from the caller's metadata to spans, and from spans to whoever comes next.

use std::collections::HashMap;

use http::HeaderMap;
use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator as _},
    trace::TraceContextExt as _,
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// Makes `span` a child of the span that this `traceparent` names. One that names none changes nothing.
pub fn adopt(span: &Span, traceparent: &str) {
    if !traceparent.is_empty() {
        let carrier = HashMap::from([(TRACEPARENT.to_owned(), traceparent.to_owned())]);
        adopt_from(span, &carrier);
    }
}

/// Makes `span` a child of the span that these headers name. Headers that name none change nothing.
pub fn adopt_headers(span: &Span, headers: &HeaderMap) {
    if headers.contains_key(TRACEPARENT) {
        adopt_from(span, &Headers(headers));
    }
}

/// The `traceparent` of the current span; empty if nothing makes traces of spans.
#[must_use]
pub fn current_traceparent() -> String {
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&Span::current().context(), &mut carrier);
    carrier.remove(TRACEPARENT).unwrap_or_default()
}

/// The `traceparent` to hand on from a call: that of the current span, or the caller's own where nothing
/// makes traces of spans; empty if there is neither.
#[must_use]
pub fn traceparent_of(headers: &HeaderMap) -> String {
    let here = current_traceparent();
    if !here.is_empty() {
        return here;
    }
    let propagator = TraceContextPropagator::new();
    let mut carrier = HashMap::new();
    propagator
        .inject_context(&propagator.extract_with_context(&Context::new(), &Headers(headers)), &mut carrier);
    carrier.remove(TRACEPARENT).unwrap_or_default()
}

/// The trace that a span belongs to, for log lines.
#[must_use]
pub fn trace_id(span: &Span) -> Option<String> {
    let context = span.context();
    let span = context.span();
    let context = span.span_context();
    context.is_valid().then(|| context.trace_id().to_string())
}

fn adopt_from(span: &Span, carrier: &dyn Extractor) {
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), carrier);
    if context.span().span_context().is_valid() {
        // It fails where nothing makes traces of spans, and then there is nothing to adopt.
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
