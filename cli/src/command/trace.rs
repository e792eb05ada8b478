//! The command line as the beginning of a trace, or a part of its caller's: where `OTEL_EXPORTER_OTLP_ENDPOINT` names a
//! collector, each subcommand is a span, and what it asks of a server is below it. It says the subcommand's name and the
//! exit code, and no argument.

use std::{future::Future, path::PathBuf, time::Duration};

use airlock_telemetry::{CollectorTls, Settings, Telemetry, adopt, fail};
use tracing::{Instrument as _, Span, field::Empty};

use super::Failure;

/// Where the collector is, by the conventions of OpenTelemetry.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// For TLS, by the same conventions: the collector's authorities, and a certificate for the collector with its key.
const CA: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
const CLIENT_CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
const CLIENT_KEY: &str = "OTEL_EXPORTER_OTLP_CLIENT_KEY";
/// The caller's place in a trace.
const TRACEPARENT: &str = "TRACEPARENT";
/// What collectors know the command line as.
const SERVICE: &str = "airlock";
/// The metrics of a process so short are not worth sending.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
/// For what is left to be sent when the command is done.
const FLUSH: Duration = Duration::from_secs(2);

/// Does `work`, which is the subcommand `name`, in a span of its own, if there is somewhere to send it.
///
/// # Errors
/// Those of `work`. A collector that is away or wrong is none.
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
    // It blocks.
    let _ = tokio::task::spawn_blocking(move || telemetry.flush()).await;
    done
}

/// The caller's place in a trace, or this command's own in it.
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
