//! The runner's spans, and their way to a collector.
//!
//! A span holds no command text, argument, path or value of a variable.

mod export;
mod metrics;

use std::collections::HashMap;

use airlock_proto::domain::{Cause, ExecutionResult};
use opentelemetry::{
    propagation::TextMapPropagator,
    trace::{Status, TraceContextExt},
};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

pub use export::{Telemetry, TelemetryError};
pub(crate) use metrics::Metrics;
pub use metrics::{METRICS, Metric};

const TRACEPARENT: &str = "traceparent";

/// The making of a sandbox.
pub(crate) fn start_span(parent: &str) -> Span {
    child(parent, tracing::info_span!("sandbox start", otel.kind = "internal", sandbox.start = "cold"))
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
        span.set_attribute("process.exit_code", i64::from(code));
    }
    match result.cause {
        Cause::Exited { code: 0 } => span.set_status(Status::Ok),
        _ => span.set_status(Status::error(result.cause.name())),
    }
}

fn child(parent: &str, span: Span) -> Span {
    let carrier = HashMap::from([(TRACEPARENT.to_owned(), parent.to_owned())]);
    let context = TraceContextPropagator::new().extract(&carrier);
    if context.span().span_context().is_valid() {
        // It fails where no collector is configured, and then there is no span to join.
        let _ = span.set_parent(context);
    }
    span
}

/// The place of a span for its children, if spans are recorded.
pub(crate) fn traceparent(span: &Span) -> Option<String> {
    let context = span.context();
    if !context.span().span_context().is_valid() {
        return None;
    }
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&context, &mut carrier);
    carrier.remove(TRACEPARENT)
}

#[cfg(test)]
mod tests;
