//! Tests that every metric in the table is used, and that an unreachable collector causes no delay.

use std::{collections::BTreeSet, time::Duration};

use airlock_domain::Cause;
use airlock_output::stream::StreamObserver;
use airlock_store::record::SessionLevels;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use tonic::Code;

use super::*;
use crate::{
    control::{Levels, Observer},
    exchange::{ExchangeKind, ExchangeObserver, ExchangeOutcome},
};

/// Uses every instrument once.
fn use_all(metrics: &Metrics) {
    let second = Duration::from_secs(1);
    metrics.decided("DENY", "deny_rule");
    metrics.placed(second);
    metrics.started(second);
    metrics.finished(&Cause::Exited { code: 0 }, second);
    metrics.approval_answered("allowed", second);
    metrics.levels(&Levels { queued: 1, active: 1, ..Levels::default() });
    metrics.sessions(&SessionLevels { open: 1, ..SessionLevels::default() });
    metrics.storing_began();
    metrics.storing_ended();
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
    metrics.certificate_expiry("tls", 1.0);
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
    // Both use the same clock, and `biased` polls in this order, so a suspended machine does not fail the
    // test.
    tokio::select! {
        biased;
        () = telemetry.shut_down() => {}
        () = tokio::time::sleep(FLUSH_TIMEOUT + Duration::from_secs(1)) => panic!("the export is blocked"),
    }
}
