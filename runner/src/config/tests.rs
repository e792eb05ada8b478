//! Tests that the example file is valid, and that each problem is reported with file and line.

use airlock_config::cases;

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

/// Returns the only problem of a text.
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
        ..ServerConfig::default()
    };
    assert_eq!(example, RunnerConfig::new("runner-1", "/var/lib/airlock-runner", server));
    // Each key that the example shows as a comment exists, with its default value.
    let text = std::fs::read_to_string(&path).unwrap();
    let shown: String = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let shown = RunnerConfig::parse(&shown, &path).unwrap();
    assert_eq!(shown.limits, example.limits);
    assert_eq!(shown.transfers, example.transfers);
    assert_eq!(shown.bwrap, example.bwrap);
}

#[test]
fn little_is_enough() {
    let config = parse(MINIMAL).unwrap();
    assert!(config.check().is_ok());
    assert_eq!(config.id().unwrap().as_str(), "r1");
}

/// Returns the example with every commented key enabled.
fn full() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/runner.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let written = text
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")).unwrap_or(line))
        .map(|line| format!("{line}\n"));
    written.collect::<String>().replacen("[[server]]\n", "[[server]]\ninsecure_loopback = false\n", 1)
}

/// Returns the keys of the floor, without the keys of its tables.
fn floor() -> Vec<String> {
    let is_key = |key: &String| key.strip_prefix("floor.").is_some_and(|rest| !rest.contains('.'));
    cases::keys(schema()).into_iter().filter(is_key).collect()
}

#[test]
fn every_key_of_every_layer_has_its_cases_and_each_is_told_with_origin_and_cure() {
    let refuse = |text: &str, overrides: &Overrides| {
        RunnerConfig::parse_with(text, Path::new("r.toml"), overrides).err().map(|error| error.to_string())
    };
    let told = cases::assert_told(&full(), "r.toml", (schema(), Some(VARIABLES)), refuse);
    assert!(told.len() > 1000, "{}", told.len());
}

#[test]
fn the_effective_configuration_shows_the_origin_of_every_key() {
    let text = full();
    let mut assignments = cases::assignments(&text, schema(), VARIABLES);
    // A variable sets a secret as a whole.
    assignments.retain(|(path, ..)| !path.starts_with("egress.secrets."));
    let report = |overrides: &Overrides| {
        Loaded::<RunnerConfig>::parse(&text, "r.toml", overrides, schema()).unwrap().effective().unwrap()
    };
    let variables = assignments.iter().map(|(_, name, text)| (name.into(), text.into()));
    let mut overrides = Overrides::new(VARIABLES, variables, Vec::new());
    overrides.may_widen = floor();
    overrides
        .may_widen
        .extend(["egress.ca", "egress.upstream", "egress.vault", "egress.secrets"].map(str::to_owned));
    let in_environment = report(&overrides);
    let flags = assignments.iter().map(|(path, _, text)| format!("{path}={text}"));
    let in_flags = report(&Overrides::new(VARIABLES, [], flags.collect()));
    let in_file = report(&Overrides::default());
    for (path, name, _) in &assignments {
        for (report, origin) in
            [(&in_environment, &**name), (&in_flags, &*format!("--set {path}")), (&in_file, "r.toml:")]
        {
            let line = report.lines().find(|line| line.starts_with(&format!("{path} = "))).unwrap();
            assert!(line.contains(&format!("  # {origin}")), "{origin}: {line}");
        }
    }
    let bare = Loaded::<RunnerConfig>::parse(MINIMAL, "r.toml", &Overrides::default(), schema()).unwrap();
    let report = bare.effective().unwrap();
    assert!(report.contains("floor.max_timeout = \"30m\"  # default\n"), "{report}");
    assert!(report.contains("state_dir = \"/var/lib/airlock-runner\"  # r.toml:2:13\n"), "{report}");
}

#[test]
fn the_environment_cannot_widen_the_floor_unless_a_flag_names_the_key() {
    let text = full();
    let assignments = cases::assignments(&text, schema(), VARIABLES);
    let floor = floor();
    assert!(floor.len() > 15, "{floor:?}");
    for key in &floor {
        let is_below = |path: &str| path.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
        let (_, name, value) = assignments.iter().find(|(path, ..)| path == key || is_below(path)).unwrap();
        let mut overrides = Overrides::new(VARIABLES, [(name.into(), value.into())], Vec::new());
        // The permission for another key does not count.
        overrides.may_widen = floor.iter().filter(|other| *other != key).cloned().collect();
        let load = |overrides: &Overrides| RunnerConfig::parse_with(&text, Path::new("r.toml"), overrides);
        let said = load(&overrides).unwrap_err().to_string();
        let expected = format!("{name}: `{key}`: the environment must not change it");
        assert!(said.starts_with(&expected) && said.ends_with(&format!("`--env-may-widen {key}`")), "{said}");
        overrides.may_widen = vec![key.clone()];
        load(&overrides).unwrap();
    }
}

#[test]
fn every_rule_between_fields_is_kept() {
    for (text, expected) in [
        ("bases.x = \"../y\"\n", "`bases.x`: it is not an absolute path; "),
        ("bases.x = \"/var\"\n", "`bases.x`: it overlaps `state_dir`; "),
        ("floor.bind_sources = [\"/\"]\n", "`floor.bind_sources[0]`: it contains the runner's `state_dir`; "),
        ("floor.bind_sources = [\"/sys/class\"]\n", "`floor.bind_sources[0]`: it is at or below `/sys`; "),
        ("floor.rootfs = [\"/\"]\n", "`floor.rootfs[0]`: it contains the runner's `state_dir`; "),
        ("floor.rootfs = [\"srv\"]\n", "`floor.rootfs[0]`: it is not an absolute path; "),
        ("floor.unix_sockets = [\"x\"]\n", "`floor.unix_sockets[0]`: it is not a path where"),
        ("floor.unix_sockets = [\"/tmp/x\"]\n", "`floor.unix_sockets[0]`: it is not a path where"),
        ("egress.ca = \"x\"\n", "`egress.ca`: it is not an absolute path; "),
        (
            "egress.upstream = { proxy = \"https://p:1\" }\n",
            "`egress.upstream.proxy`: it is not the address of an HTTP proxy; ",
        ),
        (
            "egress.secrets.X = { file = \"x\", requests = [\"a.example\"] }\n",
            "`egress.secrets.X.file`: it is not an absolute path; ",
        ),
        (
            "egress.secrets.X = { file = \"/x\", requests = [] }\n",
            "`egress.secrets.X.requests`: it is empty; ",
        ),
        (
            "egress.secrets.X = { file = \"/x\", requests = [\"a.example/../b\"] }\n",
            "`egress.secrets.X.requests[0]`: the path has several readings; ",
        ),
        (
            "egress.secrets.X = { file = \"/x\", requests = [\"a.example\"], header = \"Connection\" }\n",
            "`egress.secrets.X.header`: it is not a header that reaches the host; ",
        ),
        (
            "egress.secrets.X = { file = \"/x\", requests = [\"a.example\"], variable = \"1\" }\n",
            "`egress.secrets.X.variable`: it is not the name of a variable; ",
        ),
        ("uids = { first = 0, count = 300 }\n", "`uids`: it is empty, contains 0"),
        ("uids = { first = 5, count = 3 }\n", "`limits.sessions`: it is more than `uids.count`; "),
        ("limits.jobs_kept = 2\n", "`limits.jobs_kept`: it is less than `slots`; "),
        ("limits.heartbeat_max = \"1ms\"\n", "`limits.heartbeat_max`: it is less than"),
        ("transfers.total_bytes = 5\n", "`transfers.total_bytes`: it is less than `transfers.bytes`; "),
        ("reconnect.first = \"1m\"\n", "`reconnect.max`: it is less than"),
        (
            "telemetry.otlp_endpoint = \"grpc://x:1\"\n",
            "`telemetry.otlp_endpoint`: it is not an http:// or https://",
        ),
        (
            "telemetry.otlp_ca = \"c\"\n",
            "`telemetry.otlp_ca`: it is set, and `telemetry.otlp_endpoint` is not",
        ),
        (
            "telemetry = { otlp_endpoint = \"https://x:1\", otlp_key = \"k\" }\n",
            "`telemetry.otlp_certificate`: it is not set together with `telemetry.otlp_key`; ",
        ),
    ] {
        assert_problem(text, expected);
    }
}

fn assert_problem(text: &str, expected: &str) {
    let said = problem(&format!("{text}{MINIMAL}"));
    assert!(said.starts_with("r.toml:1:") && said.contains(expected), "{said}");
}

#[test]
fn every_rule_between_fields_of_vault_is_kept() {
    for (text, expected) in [
        (
            "egress.secrets.X = { requests = [\"a.example\"] }\n",
            "`egress.secrets.X`: it has not exactly one of `file` and `vault`; ",
        ),
        (
            "egress.secrets.X = { vault = { path = \"p\", field = \"f\" }, requests = [\"a.example\"] }\n",
            "`egress.secrets.X.vault`: it is set, and there is no `egress.vault`; ",
        ),
        (
            "egress = { vault = { address = \"https://v\", token_file = \"/t\" }, secrets.X = { vault = { path = \"../p\", field = \"f\" }, requests = [\"a.example\"] } }\n",
            "`egress.secrets.X.vault.path`: it is not the path of a secret; ",
        ),
        (
            "egress.vault = { address = \"https://v/v1\", token_file = \"/t\" }\n",
            "`egress.vault.address`: it is not `https://HOST:PORT`",
        ),
        (
            "egress.vault = { address = \"http://10.0.0.1:8200\", token_file = \"/t\", insecure_loopback = true }\n",
            "`egress.vault.address`: it is not https://, and not http:// with a loopback address",
        ),
        (
            "egress.vault = { address = \"https://v\", token_file = \"t\" }\n",
            "`egress.vault.token_file`: it is not an absolute path; ",
        ),
        (
            "egress.vault = { address = \"https://v\", token_file = \"/t\", namespace = \"\" }\n",
            "`egress.vault.namespace`: it is not the path of a namespace; ",
        ),
        (
            "egress.vault = { address = \"https://v\", token_file = \"/t\", kubernetes_mount = \"a/\" }\n",
            "`egress.vault.kubernetes_mount`: it is not the path of a mount; ",
        ),
    ] {
        assert_problem(text, expected);
    }
}

#[test]
fn a_server_needs_an_identity_or_the_loopback_by_name() {
    let open = MINIMAL.replace("127.0.0.1", "10.0.0.1");
    assert!(problem(&open).starts_with("r.toml:5:1: `server[0].endpoint`: it is not http:// with"));
    let plain = MINIMAL.replace("insecure_loopback = true", "");
    assert_eq!(parse(&plain).unwrap_err().problems.len(), 5);
    let name = "server_name = \"s\"\nca = \"/c\"\ncert = \"/c\"\nkey = \"/k\"\n";
    let tls = plain.replace("http://", "https://") + name;
    assert!(problem(&tls).contains("`server[0].server_name`: it is not one of `floor.servers`"));
    assert!(parse(&format!("{tls}\n[floor]\nservers = [\"s\"]\n")).is_ok());
    let address = format!("{tls}discover = true\n[floor]\nservers = [\"s\"]\n");
    assert!(problem(&address).contains("`server[0].discover`: it is set for an IP address"));
    assert!(parse(&address.replace("127.0.0.1", "servers.airlock")).is_ok());
}

#[test]
fn cgroups_are_used_where_they_are_unless_the_file_says_otherwise() {
    assert_eq!(parse(MINIMAL).unwrap().cgroup, CgroupConfig { mode: CgroupMode::Auto, parent: None });
    let with = |lines: &str| format!("{MINIMAL}\n[cgroup]\n{lines}\n");
    let config = parse(&with("mode = \"require\"\nparent = \"/sys/fs/cgroup/airlock\"")).unwrap();
    let parent = Some("/sys/fs/cgroup/airlock".into());
    assert_eq!(config.cgroup, CgroupConfig { mode: CgroupMode::Require, parent });
    let cases = [
        ("mode = \"on\"", "`cgroup.mode`"),
        ("parent = \"airlock\"", "`cgroup.parent`: it is not an absolute path"),
        ("mode = \"off\"\nparent = \"/x\"", "`cgroup.parent`: it is set, but `cgroup.mode` is `off`"),
    ];
    for (lines, expected) in cases {
        let said = problem(&with(lines));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn limits_of_a_sandbox_have_a_smallest_value() {
    let with = |line: &str| format!("{MINIMAL}\n[floor]\n{line}\n");
    let floor = parse(&with("max_memory_bytes = 1073741824\nmax_cpu_millis = 500")).unwrap().floor;
    assert_eq!((floor.max_memory_bytes, floor.max_cpu_millis), (Some(1 << 30), Some(500)));
    for line in ["max_memory_bytes = 4096", "max_cpu_millis = 1"] {
        let said = problem(&with(line));
        assert!(said.contains(line.split(' ').next().unwrap()), "{said}");
    }
}

#[test]
fn a_backend_of_workspaces_has_the_limits_that_it_needs() {
    let with = |lines: &str| format!("{MINIMAL}\n[workspace]\n{lines}\n");
    assert_eq!(parse(MINIMAL).unwrap().workspace.backend, WorkspaceBackend::Auto);
    for lines in
        ["backend = \"quota\"\ninodes = 5", "backend = \"loop\"\nbytes = 4194304", "backend = \"watch\""]
    {
        parse(&with(lines)).unwrap();
    }
    let cases = [
        ("backend = \"btrfs\"", "`workspace.backend`"),
        ("backend = \"quota\"", "`workspace.backend`: it is `quota`, but no limit is set"),
        (
            "backend = \"tmpfs\"\ninodes = 5",
            "`workspace.bytes`: it is missing, but `workspace.backend` creates",
        ),
        ("backend = \"loop\"\nbytes = 4096", "`workspace.bytes`: it is less than 4194304"),
    ];
    for (lines, expected) in cases {
        let said = problem(&with(lines));
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn without_a_name_it_has_the_hosts() {
    let config = parse(&MINIMAL.replacen("runner_id = \"r1\"", "", 1)).unwrap();
    let host = airlock_config::host_name();
    assert!(!host.is_empty());
    assert_eq!(config.runner_id, host);
}
