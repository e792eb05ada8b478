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

use crate::config::{Config as ServerConfig, LogFormat, Telemetry as Config};

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

/// Returns the log level in the text of a configuration.
///
/// # Errors
/// Returns an error if the text is not a valid server configuration.
pub fn level_in(text: &str) -> Result<String, String> {
    let config = ServerConfig::parse(text, "the configuration").map_err(|error| error.to_string())?;
    Ok(config.telemetry.log_level)
}

#[cfg(test)]
mod tests;
