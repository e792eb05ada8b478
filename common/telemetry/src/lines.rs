//! Log lines as text or JSON, each with its trace context.

use std::{fmt, io::IsTerminal as _};

use opentelemetry::{Context, trace::TraceContextExt as _};
use tracing::{Event, Subscriber};
use tracing_subscriber::{
    Layer, Registry,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{self, JsonFields, Writer},
    },
    registry::LookupSpan,
};

/// Returns the layer that writes lines to standard error.
pub(crate) fn layer(json: bool) -> Box<dyn Layer<Registry> + Send + Sync> {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    if json {
        let inner = format::format().json().flatten_event(true);
        lines.fmt_fields(JsonFields::new()).event_format(Placed { inner, json }).boxed()
    } else {
        let colours = std::io::stderr().is_terminal();
        let inner = format::format().with_ansi(colours);
        lines.with_ansi(colours).event_format(Placed { inner, json }).boxed()
    }
}

/// A line format that appends `trace_id` and `span_id`.
struct Placed<F> {
    inner: F,
    json: bool,
}

impl<S, N, F> FormatEvent<S, N> for Placed<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let here = Context::current();
        let span = here.span();
        let place = span.span_context();
        if !place.is_valid() {
            return self.inner.format_event(context, writer, event);
        }
        let mut line = String::new();
        self.inner.format_event(context, Writer::new(&mut line), event)?;
        let (trace, span) = (place.trace_id(), place.span_id());
        match line.strip_suffix("}\n").filter(|_| self.json) {
            Some(open) => writeln!(writer, "{open},\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"}}"),
            None => writeln!(writer, "{} trace_id={trace} span_id={span}", line.trim_end_matches('\n')),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex, PoisonError},
    };

    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt as _};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        fn text(&self) -> String {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            String::from_utf8(kept.clone()).expect("text")
        }
    }

    impl io::Write for Kept {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Kept {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// Returns the lines of two events, one of them in a span.
    fn written(json: bool) -> String {
        let kept = Kept::default();
        let provider = SdkTracerProvider::builder().build();
        let traces = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let lines = tracing_subscriber::fmt::layer().with_writer(kept.clone());
        let lines: Box<dyn Layer<_> + Send + Sync> = if json {
            let inner = format::format().json().flatten_event(true);
            lines.fmt_fields(JsonFields::new()).event_format(Placed { inner, json }).boxed()
        } else {
            let inner = format::format().with_ansi(false);
            lines.with_ansi(false).event_format(Placed { inner, json }).boxed()
        };
        let subscriber = tracing_subscriber::registry().with(traces).with(lines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(count = 1, "outside");
            tracing::info_span!("rpc").in_scope(|| tracing::info!(count = 2, "inside"));
        });
        kept.text()
    }

    #[test]
    fn lines_of_json_stay_json_and_say_their_trace() {
        let text = written(true);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
        let [outside, inside] = lines.as_slice() else { unreachable!("two lines: {text}") };
        assert!(outside.get("trace_id").is_none());
        assert_eq!(inside.get("message").and_then(|value| value.as_str()), Some("inside"));
        let id = |name: &str| inside.get(name).and_then(|value| value.as_str()).map(str::len);
        assert_eq!((id("trace_id"), id("span_id")), (Some(32), Some(16)));
    }

    #[test]
    fn lines_of_text_end_with_their_trace() {
        let text = written(false);
        let lines: Vec<&str> = text.lines().collect();
        let [outside, inside] = lines.as_slice() else { unreachable!("two lines: {text}") };
        assert!(outside.ends_with("count=1") && !outside.contains("trace_id"), "{outside}");
        assert!(
            inside.contains("inside") && inside.contains(" trace_id=") && inside.contains(" span_id="),
            "{inside}"
        );
    }
}
