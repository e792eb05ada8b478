//! Tracing of the command line. If `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector, each subcommand is a span, and its
//! requests to a server are below it. The span contains the subcommand's name and the exit code, but no arguments.

use std::{future::Future, path::PathBuf, time::Duration};

use airlock_telemetry::{CollectorTls, Settings, Telemetry, adopt, fail};
use tracing::{Instrument as _, Span, field::Empty};

use super::Failure;

/// The endpoint of the collector, as OpenTelemetry defines it.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// TLS for the collector, as OpenTelemetry defines it: the CA certificates, a client certificate and its key.
const CA: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const CLIENT_CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
const CLIENT_KEY: &str = "OTEL_EXPORTER_OTLP_CLIENT_KEY";
/// The caller's trace context.
const TRACEPARENT: &str = "TRACEPARENT";
/// The service name of the command line in traces.
const SERVICE: &str = "airlock";
/// A short process sends no metrics: their interval is longer than it can run.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
/// The time to send the remaining spans when the command has ended.
const FLUSH: Duration = Duration::from_secs(2);

/// Runs `work`, the subcommand `name`, in its own span if a collector is configured.
///
/// # Errors
/// Returns the errors of `work`. A collector that is missing or misconfigured is not an error.
pub(super) async fn traced(
    name: Option<String>,
    work: impl Future<Output = Result<u8, Failure>>,
) -> Result<u8, Failure> {
    let telemetry = name.as_ref().and_then(|_| start());
    let (Some(telemetry), Some(name)) = (telemetry, name) else { return work.await };
    let span = tracing::info_span!(
        "airlock",
        otel.name = format!("airlock {name}"),
        otel.kind = "client",
        process.exit.code = Empty,
    );
    adopt(&span, &std::env::var(TRACEPARENT).unwrap_or_default());
    let done = work.instrument(span.clone()).await;
    note(&span, &done);
    drop(span);
    // The flush blocks.
    let _ = tokio::task::spawn_blocking(move || telemetry.flush()).await;
    done
}

/// Returns the current trace context, or the caller's if there is no span.
pub(super) fn traceparent() -> Option<String> {
    let here = airlock_telemetry::current_traceparent();
    if here.is_empty() { std::env::var(TRACEPARENT).ok() } else { Some(here) }
}

fn file(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn start() -> Option<Telemetry> {
    let endpoint = std::env::var(ENDPOINT).ok().filter(|endpoint| !endpoint.is_empty())?;
    let telemetry = Telemetry::start(Settings {
        service: SERVICE.to_owned(),
        instance: std::process::id().to_string(),
        namespace: None,
        endpoint: Some(endpoint),
        tls: CollectorTls { ca: file(CA), certificate: file(CLIENT_CERTIFICATE).zip(file(CLIENT_KEY)) },
        sampling: 1.0,
        interval: NEVER,
        json: false,
        level: "off".to_owned(),
        flush: FLUSH,
    });
    let telemetry = telemetry.ok()?;
    telemetry.install().ok().map(|_| telemetry)
}

fn note(span: &Span, done: &Result<u8, Failure>) {
    let code = done.as_ref().map_or_else(Failure::code, |code| *code);
    span.record("process.exit.code", code);
    if code != 0 {
        fail(span, "exit");
    }
}
