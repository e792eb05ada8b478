//! The server's metrics and traces, and their setup from the configuration.
//!
//! `airlock-telemetry` exports them. Telemetry must never contain a command, an argument, a path or the value
//! of a variable.

pub mod metrics;
pub mod store;

use std::time::Duration;

use airlock_telemetry::{CollectorTls, Level, Settings};

pub use airlock_telemetry::{
    TelemetryError, adopt, adopt_headers, current_traceparent, fail, traceparent_of,
};
pub use metrics::Metrics;

use crate::config::{Config as ServerConfig, LogFormat, Overrides, Telemetry as Config};

/// The name of the instrumentation scope.
const SCOPE: &str = "airlock-server";
/// The maximum time for the export of the remaining data when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The exporters of traces, metrics and logs.
#[derive(Debug)]
pub struct Telemetry(airlock_telemetry::Telemetry);

impl Telemetry {
    /// Creates the exporters for the collector, if one is configured. They connect on demand, and an unreachable
    /// collector causes no delay. Requires a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the exporters cannot be created.
    pub fn start(config: &Config, server_id: &str) -> Result<Self, TelemetryError> {
        let settings = Settings {
            service: config.service_name.clone(),
            instance: server_id.to_owned(),
            namespace: config.service_namespace.clone(),
            endpoint: config.otlp_endpoint.clone(),
            tls: CollectorTls {
                ca: config.otlp_ca.clone(),
                certificate: config.otlp_certificate.clone().zip(config.otlp_key.clone()),
            },
            sampling: config.sampling,
            interval: config.metrics_interval,
            json: config.log_format == LogFormat::Json,
            level: config.log_level.clone(),
            flush: FLUSH_TIMEOUT,
        };
        airlock_telemetry::Telemetry::start(settings).map(Self)
    }

    /// Installs the exporters globally: logs, traces and metrics of the whole process use them, including
    /// those of an embedded runner. Returns a handle that changes the log level. `RUST_LOG` overrides the
    /// configured level.
    ///
    /// # Errors
    /// Returns an error if the level is invalid or exporters are already installed.
    pub fn install(&self) -> Result<Level, TelemetryError> {
        self.0.install()
    }

    /// Returns the instruments of this exporter.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.0.meter(SCOPE))
    }

    /// Exports the remaining data, for at most five seconds.
    pub async fn shut_down(self) {
        // The call blocks, but each export has its own timeout, so the thread ends.
        let flush = tokio::task::spawn_blocking(move || self.0.flush());
        if !matches!(tokio::time::timeout(FLUSH_TIMEOUT, flush).await, Ok(Ok(()))) {
            tracing::warn!("some telemetry not sent: the collector did not respond in time");
        }
    }
}

/// Returns the log level in the text of a configuration with an environment and flags.
///
/// # Errors
/// Returns an error if they are not a valid server configuration.
pub fn level_in(text: &str, overrides: &Overrides) -> Result<String, String> {
    let config = ServerConfig::parse_with(text, "the configuration", overrides);
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.telemetry.log_level)
}

#[cfg(test)]
mod tests {
    //! Tests that every metric in the table is used, and that an unreachable collector causes no delay.

    use std::{collections::BTreeSet, time::Duration};

    use airlock_control::{
        Levels, Observer,
        exchange::{ExchangeKind, ExchangeObserver, ExchangeOutcome},
    };
    use airlock_domain::{Cause, HookOutcome};
    use airlock_hooks::{BreakerState, HookObserver as _, Method};
    use airlock_output::stream::StreamObserver;
    use airlock_store::record::SessionLevels;
    use opentelemetry::metrics::MeterProvider as _;
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
    use tonic::Code;

    use super::*;

    /// Uses every instrument once.
    fn use_all(metrics: &Metrics) {
        let second = Duration::from_secs(1);
        metrics.decided("DENY", "deny_rule");
        metrics.placed(second);
        metrics.started(second);
        metrics.finished(&Cause::Exited { code: 0 }, second);
        metrics.approval_answered("allowed", second);
        metrics.called("guard", Method::PreExecute, HookOutcome::None, second);
        metrics.breaker("guard", Method::PreExecute, BreakerState::Closed);
        metrics.result_delivered("tickets", "accepted");
        metrics.deliveries_age("tickets", second);
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
        let provider = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(exporter.clone()).build())
            .build();
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
}
