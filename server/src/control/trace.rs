//! The functions for trace contexts. They keep the services independent of the tracing protocol.

/// The trace context functions.
#[derive(Debug, Clone, Copy)]
pub struct TraceHooks {
    /// Makes the span a child of the span in this W3C `traceparent`. An empty string means no parent.
    pub adopt: fn(&tracing::Span, &str),
    /// Returns the W3C `traceparent` of the current span, or an empty string.
    pub current: fn() -> String,
}

impl Default for TraceHooks {
    fn default() -> Self {
        Self { adopt: |_, _| {}, current: String::new }
    }
}
