//! Trace context passes through, and the table of metrics is what is measured.

use std::{collections::BTreeSet, time::Duration};

use airlock_proto::domain::Cause;
use http::HeaderMap;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::{
    metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider},
    trace::SdkTracerProvider,
};
use tonic::Code;
use tracing_subscriber::layer::SubscriberExt as _;

use super::*;
use crate::{
    engine::{Levels, Observer},
    exchange::{ExchangeKind, ExchangeObserver, ExchangeOutcome},
    stream::StreamObserver,
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn headers(value: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("traceparent", value.parse().unwrap());
    headers
}

fn traced<T>(what: impl FnOnce() -> T) -> T {
    let provider = SdkTracerProvider::builder().build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), what)
}

#[test]
fn a_callers_trace_goes_on_in_ours() {
    traced(|| {
        let span = tracing::info_span!("rpc");
        adopt_headers(&span, &headers(PARENT));
        assert_eq!(trace_id(&span).as_deref(), Some(TRACE));
        let _entered = span.enter();
        let here = current_traceparent();
        assert!(here.starts_with(&format!("00-{TRACE}-")), "{here}");
        assert_ne!(here, PARENT);
        assert_eq!(traceparent_of(&HeaderMap::new()), here);
    });
}

#[test]
fn what_is_no_trace_context_is_not_adopted() {
    traced(|| {
        for bad in ["", "00", "ff-zz-00-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01"] {
            let span = tracing::info_span!("rpc");
            adopt(&span, bad);
            adopt_headers(&span, &headers(bad));
            assert_ne!(trace_id(&span).as_deref(), Some(TRACE));
        }
    });
}

#[test]
fn without_spans_the_callers_context_is_passed_on_if_it_is_one() {
    assert_eq!(current_traceparent(), "");
    assert_eq!(traceparent_of(&headers(PARENT)), PARENT);
    assert_eq!(traceparent_of(&headers("$(touch x)")), "");
    assert_eq!(traceparent_of(&HeaderMap::new()), "");
}

/// Uses every instrument once.
fn use_all(metrics: &Metrics) {
    let second = Duration::from_secs(1);
    metrics.decided("DENY", "deny_rule");
    metrics.placed(second);
    metrics.started(second);
    metrics.finished(&Cause::Exited { code: 0 }, second);
    metrics.approval_answered("allowed", second);
    metrics.levels(&Levels { queued: 1, active: 1, pending_approval: 1, runners: 1, slots: 1 });
    metrics.reader_opened();
    metrics.reader_closed();
    metrics.bytes_out(1);
    metrics.bytes_missing(1);
    metrics.caught_up();
    metrics.push_opened();
    metrics.push_misbehaved();
    metrics.stored(1);
    metrics.lost();
    metrics.exchange_opened(ExchangeKind::Upload);
    metrics.exchange_bytes(ExchangeKind::Upload, 1);
    metrics.exchange_ended(ExchangeKind::Upload, ExchangeOutcome::Done);
    metrics.first_byte(second);
    metrics.store_step("now", "ok", second);
    metrics.profiles_refused(1);
    metrics.authentication_failed("TOKEN_UNKNOWN");
    metrics.connection_opened();
    metrics.connection_closed();
    metrics.connection_refused("limit");
    metrics.call_ended("/airlock.v1.ExecutionService/Run", Code::Ok, second);
}

#[test]
fn the_table_is_what_is_measured() {
    let exporter = InMemoryMetricExporter::default();
    let provider =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(exporter.clone()).build()).build();
    use_all(&Metrics::new(&provider.meter(SCOPE)));
    provider.force_flush().unwrap();
    let finished = exporter.get_finished_metrics().unwrap();
    let measured: BTreeSet<(String, String)> = finished
        .iter()
        .flat_map(|resource| resource.scope_metrics().flat_map(|scope| scope.metrics()))
        .map(|metric| (metric.name().to_owned(), metric.unit().to_owned()))
        .collect();
    let table: BTreeSet<(String, String)> =
        metrics::TABLE.iter().map(|metric| (metric.name.to_owned(), metric.unit.to_owned())).collect();
    assert_eq!(measured, table);
    assert_eq!(table.len(), metrics::TABLE.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_holds_up_no_shut_down() {
    let config = Config { otlp_endpoint: Some("http://127.0.0.1:9".to_owned()), ..Config::default() };
    let telemetry = Telemetry::start(&config, "s").unwrap();
    use_all(&telemetry.metrics());
    let began = std::time::Instant::now();
    telemetry.shut_down().await;
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}
