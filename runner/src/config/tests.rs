//! The example file is right, and what is wrong is named by file and line.

use super::*;

const MINIMAL: &str = r#"runner_id = "r1"
state_dir = "/var/lib/airlock-runner"

[[server]]
endpoint = "http://127.0.0.1:7443"
insecure_loopback = true
"#;

fn parse(text: &str) -> Result<RunnerConfig, ConfigError> {
    RunnerConfig::parse(text, Path::new("r.toml"))
}

/// The one problem of a text.
fn problem(text: &str) -> String {
    let error = parse(text).unwrap_err();
    assert_eq!(error.problems.len(), 1, "{error}");
    error.to_string()
}

#[test]
fn the_example_is_the_defaults() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/runner.toml");
    let example = RunnerConfig::load(&path).unwrap();
    let name = "airlock-server.example";
    let server = ServerConfig {
        endpoint: format!("https://{name}:7443"),
        server_name: Some(name.to_owned()),
        ca: Some("/etc/airlock/ca.pem".into()),
        cert: Some("/etc/airlock/runner.pem".into()),
        key: Some("/etc/airlock/runner.key".into()),
        insecure_loopback: false,
    };
    assert_eq!(example, RunnerConfig::new("runner-1", "/var/lib/airlock-runner", server));
    // The fields that the example shows as comments are fields, and at their defaults.
    let text = std::fs::read_to_string(&path).unwrap();
    let shown: String = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let shown = RunnerConfig::parse(&shown, &path).unwrap();
    assert_eq!(shown.limits, example.limits);
    assert_eq!(shown.bwrap, example.bwrap);
}

#[test]
fn little_is_enough() {
    let config = parse(MINIMAL).unwrap();
    assert!(config.check().is_ok());
    assert_eq!(config.id().unwrap().as_str(), "r1");
}

#[test]
fn an_unknown_field_is_named_with_its_line() {
    let said = problem(&format!("{MINIMAL}\n[limits]\nsesions = 3\n"));
    assert!(said.starts_with("r.toml:9: unknown field `sesions`"), "{said}");
}

#[test]
fn a_duration_says_its_form() {
    let said = problem(&format!("{MINIMAL}\n[spool]\nkeep = \"long\"\n"));
    assert!(said.starts_with("r.toml:9: `long` is not a duration"), "{said}");
}

#[test]
fn every_rule_between_fields_is_kept() {
    for (text, expected) in [
        ("slots = 0\n", "r.toml:1: `slots` is not from 1 to 128; use about two"),
        ("bases.x = \"../y\"\n", "r.toml:1: `bases.x` is not an absolute path; "),
        ("bases.x = \"/var\"\n", "r.toml:1: `bases.x` and `state_dir` hold each other; "),
        ("floor.unsandboxed = true\n", "r.toml:1: `floor.unsandboxed` is true; "),
        (
            "floor.bind_sources = [\"/\"]\n",
            "r.toml:1: `floor.bind_sources.0` would show the runner's `state_dir`; ",
        ),
        (
            "floor.bind_sources = [\"/sys/class\"]\n",
            "r.toml:1: `floor.bind_sources.0` is at or below `/sys`; ",
        ),
        ("uids = { first = 0, count = 300 }\n", "r.toml:1: `uids` is empty, holds 0"),
        ("uids = { first = 5, count = 3 }\n", "r.toml: `limits.sessions` is more than `uids.count`; "),
        ("limits.jobs_kept = 2\n", "r.toml:1: `limits.jobs_kept` is less than `slots`; "),
        ("limits.heartbeat_max = \"1ms\"\n", "r.toml:1: `limits.heartbeat_max` is less than"),
        ("reconnect.first = \"1m\"\n", "r.toml:1: `reconnect.max` is less than"),
        ("floor.networks = [\"host\"]\n", "r.toml:1: unknown variant `host`"),
    ] {
        let said = problem(&format!("{text}{MINIMAL}"));
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn a_server_needs_an_identity_or_the_loopback_by_name() {
    let open = MINIMAL.replace("127.0.0.1", "10.0.0.1");
    assert!(problem(&open).starts_with("r.toml:5: `server.0.endpoint` is not http:// to"));
    let plain = MINIMAL.replace("insecure_loopback = true", "");
    assert_eq!(parse(&plain).unwrap_err().problems.len(), 5);
    let name = "server_name = \"s\"\nca = \"/c\"\ncert = \"/c\"\nkey = \"/k\"\n";
    let tls = plain.replace("http://", "https://") + name;
    assert!(problem(&tls).contains("`server.0.server_name` is not one of `floor.servers`"));
    assert!(parse(&format!("{tls}\n[floor]\nservers = [\"s\"]\n")).is_ok());
}
