//! A real OpenTelemetry collector receives the trace of one run, parent and children joined from the
//! caller to the command, and the metrics. What commands say stays out of both.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, process::Command};

use airlock_cli::client::{Client, v1};
use airlock_tests::{
    process::{Process, until},
    programs::program,
    reader::{run, spec},
    site::{PATIENCE, Site, free_address},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const SECRET: &str = "hush-this-is-in-the-command";

fn collector(site: &Site, port: u16) -> Process {
    let tools = std::env::var_os("PATH").unwrap();
    let cache = std::env::var("XDG_CACHE_HOME")
        .unwrap_or_else(|_| format!("{}/.cache", std::env::var("HOME").unwrap()));
    let path = format!("{}:{cache}/airlock/tools/bin", tools.to_string_lossy());
    let endpoint = format!("127.0.0.1:{port}");
    let mut command = Command::new("env");
    command.env("PATH", path).arg("rotel-agent").args([
        "start",
        "--exporter=blackhole",
        "--debug-log=traces",
        "--debug-log=metrics",
        "--debug-log-verbosity=detailed",
    ]);
    command.args(["--otlp-grpc-endpoint", &endpoint, "--otlp-http-endpoint", "127.0.0.1:0"]);
    command.current_dir(site.path());
    Process::start(&mut command, &site.path().join("collector.log"))
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
async fn the_trace_of_a_run_joins_caller_server_runner_and_command() {
    let port = free_address().port();
    let otlp = format!("[telemetry]\notlp_endpoint = \"http://127.0.0.1:{port}\"\n");
    let server_extra = format!("{otlp}metrics_interval = \"1s\"\n");
    let site = Site::with_tables(&server_extra, &otlp);
    let collector = collector(&site, port);
    until("the collector listens", PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let (server, runner) = (site.server(&[]), site.runner(&[]));
    drop(site.ready().await);

    let mut settings = site.settings();
    settings.traceparent = Some(format!("00-{TRACE}-{CALLER}-01"));
    let client = Client::connect(settings).await.unwrap();
    let env = BTreeMap::from([("QUIET".to_owned(), SECRET.into())]);
    let command = v1::ExecutionSpec { env, ..spec(&format!("echo $TRACEPARENT; true {SECRET}")) };
    let story = run(&client, command).await.unwrap();
    let inside = String::from_utf8(story.stdout).unwrap();
    let inside: Vec<&str> = inside.trim().split('-').collect();
    assert_eq!((inside.len(), inside[1]), (4, TRACE), "the command is told its trace: {inside:?}");

    assert!(runner.terminate(PATIENCE).success());
    assert!(server.terminate(PATIENCE).success());
    let of_trace = |log: &str| {
        let all = spans(log);
        all.into_values().filter(|span| span.trace == TRACE).collect::<Vec<_>>()
    };
    until("the spans arrive", PATIENCE, || {
        of_trace(&collector.output()).iter().any(|span| span.id == inside[2])
    });
    let log = collector.output();
    let found = of_trace(&log);
    let names: Vec<&str> = found.iter().map(|span| span.name.as_str()).collect();
    let ids: Vec<&str> = found.iter().map(|span| span.id.as_str()).collect();
    for name in ["decide", "place", "sandbox start", "run"] {
        assert!(names.contains(&name), "a span `{name}` among {names:?}");
    }
    for span in &found {
        let joined = span.parent == CALLER || ids.contains(&span.parent.as_str());
        assert!(joined, "`{}` hangs in the air: {span:?} among {found:?}", span.name);
    }
    let command_parent = found.iter().find(|span| span.id == inside[2]).unwrap();
    assert_eq!(command_parent.name, "run", "the command's parent is the runner's span");
    for metric in ["airlock.executions", "airlock.verdicts", "airlock.run.time", "airlock.runner.jobs"] {
        assert!(log.contains(metric), "the metric {metric} arrived");
    }
    assert!(!log.contains(SECRET), "no command text or environment value is in traces or metrics");
    assert!(!(server_log(&site) + &runner_log(&site)).contains(SECRET), "nor in a log line");
}

#[test]
fn a_dev_sends_what_its_runner_has_to_say_too() {
    let site = Site::new();
    let port = free_address().port();
    let collector = collector(&site, port);
    until("the collector listens", PATIENCE, || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let airlock = |arguments: &[&str]| {
        let mut command = Command::new(program("airlock"));
        command.args(arguments).env("AIRLOCK_STATE", site.path().join("state"));
        command.env("TRACEPARENT", format!("00-{TRACE}-{CALLER}-01")).env_remove("AIRLOCK_ADDRESS");
        command
    };
    let endpoint = format!("http://127.0.0.1:{port}");
    let dev = Process::start(&mut airlock(&["dev", "--otlp", &endpoint]), &site.path().join("dev.log"));
    assert!(airlock(&["runners", "--wait"]).output().unwrap().status.success(), "{}", dev.output());
    let output = airlock(&["run", "--", "echo $TRACEPARENT"]).output().unwrap();
    let inside = String::from_utf8(output.stdout).unwrap();
    let inside = inside.trim().split('-').nth(2).unwrap_or_default().to_owned();
    assert!(dev.terminate(PATIENCE).success());
    until("the spans arrive", PATIENCE, || spans(&collector.output()).contains_key(&inside));
    let log = collector.output();
    let found: Vec<Span> = spans(&log).into_values().filter(|span| span.trace == TRACE).collect();
    for name in ["decide", "place", "sandbox start", "run", "spool"] {
        assert!(found.iter().any(|span| span.name == name), "a span `{name}` among {found:?}");
    }
    for metric in ["airlock.executions", "airlock.runner.jobs", "airlock.runner.launch.time"] {
        assert!(log.contains(metric), "the metric {metric} arrived");
    }
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

fn server_log(site: &Site) -> String {
    std::fs::read_to_string(site.path().join("server.log")).unwrap()
}

fn runner_log(site: &Site) -> String {
    std::fs::read_to_string(site.path().join("runner-1.log")).unwrap()
}
