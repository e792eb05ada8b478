//! What this server measures and traces, and how that is set up from its configuration.
//!
//! Where it goes is `airlock-telemetry`'s business. No command, argument, path or value of a variable may become a part
//! of any of it.

pub mod metrics;
pub mod store;

use std::time::Duration;

use airlock_telemetry::{CollectorTls, Level, Settings};

pub use airlock_telemetry::{
    TelemetryError, adopt, adopt_headers, current_traceparent, fail, traceparent_of,
};
pub use metrics::Metrics;

use crate::config::{Config as ServerConfig, LogFormat, Telemetry as Config};

/// Of the instrumentation, as collectors see it.
const SCOPE: &str = "airlock-server";
/// Of everything that is left to be sent when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The ends that traces, metrics and logs leave by.
#[derive(Debug)]
pub struct Telemetry(airlock_telemetry::Telemetry);

impl Telemetry {
    /// Opens the way to the collector, if one is configured. It is connected to as needed, and a
    /// collector that is away holds up nothing. Needs a tokio runtime.
    ///
    /// # Errors
    /// The exporters could not be made.
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

    /// Makes this process log, its spans traces, and this the way of all metrics in it: a runner in the
    /// same process sends its own along. Gives what changes the level. `RUST_LOG` overrules the configured level.
    ///
    /// # Errors
    /// The level cannot be read, or somebody has done so before.
    pub fn install(&self) -> Result<Level, TelemetryError> {
        self.0.install()
    }

    /// The instruments, which all go the same way.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::new(&self.0.meter(SCOPE))
    }

    /// Sends what is left, for at most five seconds.
    pub async fn shut_down(self) {
        // It blocks; each of its exports has a time-out of its own, so the thread comes back.
        let flush = tokio::task::spawn_blocking(move || self.0.flush());
        if !matches!(tokio::time::timeout(FLUSH_TIMEOUT, flush).await, Ok(Ok(()))) {
            tracing::warn!("some telemetry was not sent in time");
        }
    }
}

/// The log level that a configuration's text asks for.
///
/// # Errors
/// The text is no configuration of a server.
pub fn level_in(text: &str) -> Result<String, String> {
    let config = ServerConfig::parse(text, "the configuration").map_err(|error| error.to_string())?;
    Ok(config.telemetry.log_level)
}

#[cfg(test)]
mod tests;
