//! Tests of telemetry: a real OpenTelemetry collector receives every metric and the trace of a run. Spans report
//! the correct status; log lines contain their trace, and their level changes while a program runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use airlock_client::Client;
use airlock_tests::{
    collector::{Collector, text},
    engines::{Bucket, Database},
    exercise::{CALLER, CANARY, Exercise, TRACE},
    port::Port,
    process::{Process, until},
    reader::{run, spec},
    site::{PATIENCE, Site},
    tools::program,
    tools::tool,
};
use opentelemetry_proto::tonic::{logs::v1::LogRecord, trace::v1::status::StatusCode};

fn collector(directory: &Path, port: &Port) -> Process {
    let endpoint = port.address.to_string();
    let mut command = Command::new(tool("rotel-agent"));
    command.args([
        "start",
        "--exporter=blackhole",
        "--debug-log=traces",
        "--debug-log=metrics",
        "--debug-log=logs",
        "--debug-log-verbosity=detailed",
    ]);
    command.args(["--otlp-grpc-endpoint", &endpoint, "--otlp-http-endpoint", "127.0.0.1:0"]);
    command.current_dir(directory);
    let collector = Process::start(&mut command, &directory.join("collector.log"));
    until("the collector listens", PATIENCE, || std::net::TcpStream::connect(port.address).is_ok());
    collector
}

/// A span as the collector printed it.
#[derive(Debug, Default, Clone)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
}

fn spans(log: &str) -> BTreeMap<String, Span> {
    let (mut all, mut span) = (BTreeMap::new(), Span::default());
    for line in log.lines() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let value = value.trim().to_owned();
        match key.trim() {
            "Trace ID" => span = Span { trace: value, ..Span::default() },
            "Parent ID" => span.parent = value,
            "ID" => span.id = value,
            "Name" if !span.trace.is_empty() && span.name.is_empty() => {
                span.name = value;
                all.insert(span.id.clone(), span.clone());
            }
            _ => {}
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_collector_receives_every_metric_of_the_tables_and_one_trace_of_a_run() {
    Box::pin(receives_everything(String::new(), &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_postgresql_and_s3_a_collector_receives_the_same_metrics_and_the_same_trace() {
    let (database, bucket) = (Database::new(), Bucket::new());
    let state = database.table(database.address().port(), true) + &bucket.table(bucket.address().port());
    Box::pin(receives_everything(state, &Bucket::KEYS)).await;
}

#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
async fn receives_everything(state: String, env: &[(&str, &str)]) {
    let directory = tempfile::Builder::new().prefix("airlock-collector-").tempdir().unwrap();
    let port = Port::reserve();
    let collector = collector(directory.path(), &port);
    let mut exercise = Exercise::start_on(&format!("http://{}", port.address), state, env).await;
    let inside = exercise.traceparent().await;
    let inside: Vec<&str> = inside.split('-').collect();
    assert_eq!((inside.len(), inside[1]), (4, TRACE), "the command receives its trace context: {inside:?}");
    // The runner that must send it is killed later.
    until("the command's span arrives", PATIENCE, || spans(&collector.output()).contains_key(inside[2]));
    let sent = || collector.output().split_whitespace().filter(|word| *word == "airlock.runner.jobs").count();
    exercise.everything(&sent).await;
    // Programs that stop in order send all remaining data, and the collector writes it a little later.
    let lines = exercise.stop();
    until_none("of what is missing", || missing(&collector.output()));
    let log = collector.output();
    let parent = spans(&log).remove(inside[2]).unwrap();
    assert_eq!(parent.name, "run", "the command's parent is the runner's span");
    assert!(!log.contains(CANARY) && !lines.contains(CANARY), "and no part of the command");
}

/// Waits until `look` returns no findings.
fn until_none(what: &str, look: impl Fn() -> Vec<String>) {
    let mut found = Vec::new();
    let nothing = || {
        found = look();
        found.is_empty()
    };
    let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| until(what, PATIENCE, nothing)));
    assert!(waited.is_ok(), "{found:#?}");
}

/// Returns the spans, their relations, metrics and log lines that the collector has not received yet.
fn missing(log: &str) -> Vec<String> {
    const SPANS: [&str; 11] = [
        "airlock.v1.ExecutionService/Run",
        "authenticate",
        "decide",
        "audit",
        "store",
        "queue",
        "place",
        "sandbox start",
        "run",
        "spool",
        "stream",
    ];
    let found: Vec<Span> = spans(log).into_values().filter(|span| span.trace == TRACE).collect();
    let ids: BTreeSet<&str> = found.iter().map(|span| span.id.as_str()).collect();
    let names: BTreeSet<&str> = found.iter().map(|span| span.name.as_str()).collect();
    let mut missing: Vec<String> =
        SPANS.iter().filter(|name| !names.contains(*name)).map(|name| format!("a span `{name}`")).collect();
    let hangs = |span: &&Span| span.parent != CALLER && !ids.contains(span.parent.as_str());
    missing.extend(found.iter().filter(hangs).map(|span| format!("what is above {span:?}")));
    let words: BTreeSet<&str> = log.split_whitespace().collect();
    let tables = airlock_server::telemetry::metrics::TABLE.iter().chain(airlock_runner::METRICS);
    let unsent = tables.map(|metric| metric.name).filter(|name| !words.contains(name));
    missing.extend(unsent.map(|name| format!("the metric {name}")));
    // The approver's own trace contains the answer, and log lines arrive, too.
    let texts = ["approve", "a job ended"].into_iter().filter(|text| !log.contains(text));
    missing.extend(texts.map(|text| format!("`{text}`")));
    missing
}

#[test]
fn one_trace_has_client_server_runner_and_sandbox() {
    let site = Site::new();
    let port = Port::reserve();
    let collector = collector(site.path(), &port);
    let airlock = |arguments: &[&str]| {
        let mut command = Command::new(program("airlock"));
        command.args(arguments).env("AIRLOCK_STATE", site.path().join("state"));
        command.env("TRACEPARENT", format!("00-{TRACE}-{CALLER}-01")).env_remove("AIRLOCK_ADDRESS");
        command
    };
    let endpoint = format!("http://{}", port.address);
    let dev = Process::start(&mut airlock(&["dev", "--otlp", &endpoint]), &site.path().join("dev.log"));
    assert!(airlock(&["runners", "--wait"]).output().unwrap().status.success(), "{}", dev.output());
    let mut run = airlock(&["run", "--", "echo $TRACEPARENT"]);
    let output = run.env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint).output().unwrap();
    let inside = String::from_utf8(output.stdout).unwrap();
    let inside = inside.trim().split('-').nth(2).unwrap_or_default().to_owned();
    assert!(dev.terminate(PATIENCE).success());
    // The spans from the command's parent up to the caller.
    let up = |log: &str| {
        let (spans, mut names, mut id) = (spans(log), Vec::new(), inside.clone());
        while let Some(span) = spans.get(&id).filter(|span| span.trace == TRACE) {
            names.push(span.name.clone());
            id.clone_from(&span.parent);
        }
        names.push(id);
        names
    };
    let wanted = ["run", "place", "airlock.v1.ExecutionService/Run", "airlock run", CALLER];
    until_none("of what is missing", || {
        let log = collector.output();
        let found = spans(&log);
        let has = |name: &str| found.values().any(|span| span.trace == TRACE && span.name == name);
        let spans = ["decide", "place", "sandbox start", "spool"].into_iter().filter(|name| !has(name));
        let metrics = ["airlock.executions", "airlock.runner.jobs", "airlock.runner.launch.time"];
        let metrics = metrics.into_iter().filter(|name| !log.contains(name));
        let mut missing: Vec<String> = spans.chain(metrics).map(str::to_owned).collect();
        let way = up(&log);
        missing.extend((way != wanted).then(|| format!("from the command up to its caller: {way:?}")));
        missing
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_holds_up_neither_a_command_nor_a_stop() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let otlp = format!("[telemetry]\notlp_endpoint = \"http://{}\"\n", silent.local_addr().unwrap());
    let site = Site::with_tables(&format!("{otlp}metrics_interval = \"1s\"\n"), &otlp);
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    assert_eq!(run(&client, spec("echo here")).await.unwrap().stdout, b"here\n");
    assert!(runner.terminate(PATIENCE).success());
    assert!(server.terminate(PATIENCE).success());
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_say_how_their_work_ended_and_lines_of_the_log_say_their_trace() {
    let collector = Collector::listen().await;
    let otlp = format!("[telemetry]\notlp_endpoint = \"{}\"\n", collector.endpoint());
    let site = Site::with_tables(&otlp, &otlp);
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    assert_eq!(run(&client, spec("exit 3")).await.unwrap().exit_code(), Some(3));
    assert_eq!(run(&client, spec("true")).await.unwrap().exit_code(), Some(0));
    let stranger =
        Client::connect_lazy(site.settings_with("nobodys-token-however-long-it-may-be-at-all")).unwrap();
    stranger.execution("x").await.unwrap_err();
    assert!(runner.terminate(PATIENCE).success());
    assert!(server.terminate(PATIENCE).success());
    let named = |name: &str| {
        let all = collector.spans().into_iter().map(|seen| seen.span);
        all.filter(|span| span.name == name).collect::<Vec<_>>()
    };
    let failure = || {
        let is_it = |record: &LogRecord| format!("{:?}", record.body).contains("authentication failed");
        collector.records().into_iter().find(is_it)
    };
    until("the spans and the line arrive", PATIENCE, || {
        named("run").len() == 2 && named("stream").len() == 2 && failure().is_some()
    });
    let mut ends: Vec<(StatusCode, Option<String>, String)> = named("run")
        .iter()
        .map(|span| {
            let status = span.status.clone().unwrap_or_default();
            (status.code(), text(&span.attributes, "error.type"), status.message)
        })
        .collect();
    ends.sort_by_key(|(code, _, _)| *code as i32);
    let (well, badly) = ((StatusCode::Ok, None, String::new()), "EXITED".to_owned());
    assert_eq!(ends, [well, (StatusCode::Error, Some(badly.clone()), badly)]);
    let refused: Vec<Option<String>> = named("authenticate")
        .iter()
        .filter(|span| span.status.clone().unwrap_or_default().code() == StatusCode::Error)
        .map(|span| text(&span.attributes, "error.type"))
        .collect();
    assert_eq!(refused, [Some("TOKEN_UNKNOWN".to_owned())]);
    let decided = named("decide");
    assert!(decided.iter().all(|span| text(&span.attributes, "airlock.verdict").as_deref() == Some("ALLOW")));
    assert!(decided.iter().all(|span| text(&span.attributes, "airlock.reason").is_some()));
    let closed: Vec<_> =
        named("stream").iter().map(|span| text(&span.attributes, "airlock.closed_with")).collect();
    assert_eq!(closed, [Some("finished".to_owned()), Some("finished".to_owned())]);

    let failed = failure().expect("the collector has the line");
    let span = named("authenticate").into_iter().find(|span| span.span_id == failed.span_id).unwrap();
    assert_eq!(span.trace_id, failed.trace_id, "its trace context is there");
    let lines = std::fs::read_to_string(site.log("server")).unwrap();
    let place = format!("trace_id={} span_id={}", hex::encode(&span.trace_id), hex::encode(&span.span_id));
    assert!(
        lines.lines().any(|line| line.contains("authentication failed") && line.contains(&place)),
        "{lines}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_of_the_log_changes_while_programs_run() {
    let site = Site::with_tables("[telemetry]\nlog_level = \"warn\"\n", "[telemetry]\nlog = \"warn\"\n");
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    run(&client, spec("true")).await.unwrap();
    assert!(!runner.output().contains("a job ended"), "{}", runner.output());
    let change = |config: &str, from: &str, to: &str| {
        let path = site.path().join(format!("{config}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
    };
    let shown = |process: &Process, line: &str| {
        let what = format!("`{line}` in {}", process.log().display());
        until(&what, PATIENCE, || process.output().contains(line));
    };
    change("runner-1", "log = \"warn\"", "log = \"info\"");
    change("server", "log_level = \"warn\"", "log_level = \"info,airlock_server::tls=debug\"");
    shown(&runner, "log level changed");
    shown(&server, "log level changed");
    run(&client, spec("true")).await.unwrap();
    shown(&runner, "a job ended");
    drop(std::net::TcpStream::connect(site.address).unwrap());
    shown(&server, "connection refused");

    change("server", "log_level = \"info,", "log_level = \"nonsense=x=y,");
    shown(&server, "cannot read the configuration file");
    run(&client, spec("true")).await.unwrap();
}
