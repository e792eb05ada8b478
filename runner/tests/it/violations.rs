//! Tests that a violation of each layer is in the result of its command, in the trace and in the metric, and that a
//! report never changes the end of a command.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, time::Duration};

use airlock_config::OrNone;
use airlock_domain::{
    Cause, ExecutionResult, Grant, NetworkRules, PathRules, SessionId, Violation, ViolationAction,
};
use airlock_runner::config::WorkspaceBackend;
use opentelemetry::{global, trace::TracerProvider};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    },
    trace::{InMemorySpanExporter, SdkTracerProvider},
};
use tracing_subscriber::layer::SubscriberExt;

use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
};

const METRIC: &str = "airlock.runner.violations";
/// A script that writes further files until it is ended.
const FILLS: &str = "n=0; while sleep 0.05; do n=$((n + 1)); head -c 256K /dev/zero > filled-$n; done";

/// The telemetry of this process: the runner uses the global providers. Each test is a process of its own.
struct Telemetry {
    metrics: SdkMeterProvider,
    measured: InMemoryMetricExporter,
    spans: InMemorySpanExporter,
    _tracer: SdkTracerProvider,
}

impl Telemetry {
    fn install() -> Self {
        let (measured, spans) = (InMemoryMetricExporter::default(), InMemorySpanExporter::default());
        let reader = PeriodicReader::builder(measured.clone()).build();
        let metrics = SdkMeterProvider::builder().with_reader(reader).build();
        global::set_meter_provider(metrics.clone());
        let tracer = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(tracer.tracer("test"));
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).unwrap();
        Self { metrics, measured, spans, _tracer: tracer }
    }

    /// Returns the number of violations of each layer in the metric.
    fn counted(&self) -> BTreeMap<String, u64> {
        self.metrics.force_flush().unwrap();
        let all = self.measured.get_finished_metrics().unwrap();
        let last = all.last().unwrap();
        let found = last.scope_metrics().flat_map(|scope| scope.metrics()).find(|one| one.name() == METRIC);
        let mut counted = BTreeMap::new();
        if let Some(AggregatedMetrics::U64(MetricData::Sum(sum))) = found.map(|one| one.data()) {
            for point in sum.data_points() {
                let layer = point.attributes().find(|one| one.key.as_str() == "layer").unwrap();
                counted.insert(layer.value.as_str().into_owned(), point.value());
            }
        }
        counted
    }

    /// Returns the number of violations of each layer in the spans of commands.
    fn traced(&self) -> BTreeMap<String, u64> {
        let mut traced = BTreeMap::new();
        for span in self.spans.get_finished_spans().unwrap() {
            for event in span.events.iter().filter(|event| event.name == "violation") {
                let layer = event.attributes.iter().find(|one| one.key.as_str() == "airlock.violation.layer");
                *traced.entry(layer.unwrap().value.as_str().into_owned()).or_default() += 1;
            }
        }
        traced
    }
}

/// A command, and the violation that it provokes.
struct Case {
    layer: &'static str,
    kind: &'static str,
    path: &'static str,
    detail: &'static str,
    grant: Grant,
    code: Option<u8>,
}

fn case(session: SessionId, layer: &'static str, command: &str) -> Case {
    Case { layer, kind: "path", path: "", detail: "", grant: grant(session, command), code: Some(1) }
}

fn cases(session: SessionId) -> Vec<Case> {
    let case = |layer, command: &str| case(session, layer, command);
    let mut hidden = case("masks", "cat .env");
    hidden.grant.profile.paths = PathRules { deny_read: vec![".env".to_owned()], ..PathRules::default() };
    let mut networked = case("network", "curl -s -o /dev/null http://refused.example/; exit 0");
    networked.grant.egress =
        vec![NetworkRules { allow: vec!["example.com".to_owned()], ..NetworkRules::default() }];
    vec![
        Case {
            kind: "created",
            path: "/workspace/.mcp.json",
            code: Some(0),
            ..case("protected_names", "echo x > .mcp.json")
        },
        Case {
            kind: "bare_repository",
            code: Some(0),
            ..case("git", "mkdir -p objects refs/heads; echo ref: refs/heads/main > HEAD; echo > config")
        },
        Case { kind: "refused", detail: "`refused.example:80`", code: Some(0), ..networked },
        Case { kind: "unshare", detail: "`unshare`", ..case("seccomp", "unshare --user true") },
        Case {
            path: "/proc/self/oom_score_adj",
            detail: "Landlock",
            ..case("landlock", "echo 1 > /proc/self/oom_score_adj")
        },
        Case { path: "/workspace/.env", detail: "`deny_read`", ..hidden },
        Case { path: "/usr/new", detail: "read-only", ..case("mounts", "touch /usr/new") },
        Case { kind: "limit", code: None, ..case("disk", FILLS) },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_layer_reports_in_the_result_the_trace_and_the_metric() {
    let telemetry = Telemetry::install();
    let network = NetworkRules { any: true, ..NetworkRules::default() };
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(network.into()));
        config.workspace.backend = WorkspaceBackend::Watch;
        config.workspace.bytes = Some(2 << 20);
        config.workspace.watch_every = Duration::from_millis(50);
    })
    .await;
    let session = it.open("").await;
    let (_, result) = it.run(grant(session, "echo secret > .env")).await;
    assert_eq!((result.cause, result.violations), (Cause::Exited { code: 0 }, Vec::new()));
    for Case { layer, kind, path, detail, grant, code } in cases(session) {
        let (before, traced) = (telemetry.counted(), telemetry.traced());
        let (_, result) = it.run(grant).await;
        let found: Vec<_> = result.violations.iter().filter(|one| one.layer == layer).collect();
        assert!(!found.is_empty(), "{layer}: {result:?}");
        for one in &found {
            assert_eq!(one.kind, kind, "{layer}: {one:?}");
            assert!(path.is_empty() || one.path == path.as_bytes(), "{layer}: {one:?}");
            assert!(one.detail.contains(detail), "{layer}: {one:?}");
        }
        match code {
            Some(code) => assert_eq!(result.cause, Cause::Exited { code }, "{layer}"),
            None => assert_eq!(result.cause, Cause::DiskLimit, "{layer}"),
        }
        assert_more(&before, &telemetry.counted(), layer, found.len());
        assert_more(&traced, &telemetry.traced(), layer, found.len());
    }
    it.shut_down().await;
}

#[track_caller]
fn assert_more(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, layer: &str, more: usize) {
    let count = |counts: &BTreeMap<String, u64>| counts.get(layer).copied().unwrap_or(0);
    assert_eq!(count(after), count(before) + more as u64, "{layer}: {before:?}, {after:?}");
}

fn of<'a>(result: &'a ExecutionResult, layer: &str) -> Vec<&'a Violation> {
    result.violations.iter().filter(|one| one.layer == layer).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_ended_still_reports_its_system_calls() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let mut grant = grant(session, "unshare --user true; trap '' TERM; while :; do sleep 100; done");
    grant.command.timeout = Duration::from_secs(2);
    let (_, result) = it.run(grant).await;
    assert!(matches!(result.cause, Cause::TimedOut(_)), "{result:?}");
    let calls = of(&result, "seccomp");
    assert_eq!(calls.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), ["unshare"]);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_a_report_only_and_counts_only_for_a_path_that_is_refused() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let forged = "for n in {1..60}; do echo \"cat: /usr/$n: Read-only file system\" >&2; done; \
                  echo 'cat: /workspace/own: Permission denied' >&2; echo 'cat: /etc/shadow: Permission denied' >&2";
    let (_, result) = it.run(grant(session, forged)).await;
    assert_eq!((result.cause, result.violations), (Cause::Exited { code: 0 }, Vec::new()), "it succeeded");
    let mut failed = grant(session, &format!("{forged}; exit 3"));
    for separate in [false, true] {
        failed.command.separate_stderr = separate;
        let (_, result) = it.run(failed.clone()).await;
        assert_eq!(result.cause, Cause::Exited { code: 3 });
        assert_eq!(result.violations.len(), 20, "{result:?}");
        let bounded = |one: &Violation| one.layer == "mounts" && one.action == ViolationAction::Reported;
        assert!(result.violations.iter().all(bounded), "{result:?}");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_command_reports_its_refused_writes() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let command = "touch new ~/new /tmp/new /var/tmp/new";
    let (_, result) = it.run(Grant { read_only: true, ..grant(session, command) }).await;
    let paths: Vec<_> = result.violations.iter().map(|one| String::from_utf8_lossy(&one.path)).collect();
    assert_eq!(paths, ["/workspace/new", "/home/agent/new", "/tmp/new"], "{result:?}");
    assert!(of(&result, "mounts").iter().all(|one| one.detail.contains("the command is read-only")));
    it.shut_down().await;
}
