//! Tests that a configuration is accepted as a whole or refused with file, line, field and remedy.

use airlock_config::{Loaded, Origin, cases};

use super::{ADVERTISE, Config, DatabaseUrl, Overrides, Problem, VARIABLES, schema};

const GOOD: &str = r#"
server_id = "server-1"

[listen]
address = "127.0.0.1:0"
insecure_loopback = true

[store]
path = "/tmp/airlock/airlock.db"

[outputs]
directory = "/tmp/airlock/outputs"

[[identity]]
name = "ci"
tenant = "default"
roles = ["executor"]
match = { token_sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" }

[limits]
queue = 10

[link]
link_grace = "4m"
lost_after = "5m"

[telemetry]
log_level = "info"
"#;

fn problems(text: &str) -> Vec<Problem> {
    match Config::parse(text, "server.toml") {
        Err(error) => error.problems,
        Ok(config) => panic!("{text} gave {config:?}"),
    }
}

fn line_of(problem: &Problem) -> Option<usize> {
    problem.origin.as_ref().and_then(Origin::place).map(|at| at.line)
}

#[test]
fn defaults_hold() {
    let config = Config::parse(GOOD, "server.toml").unwrap();
    assert_eq!(config.limits.queue, 10);
    assert_eq!(config.profiles.default, "strict");
    assert_eq!(config.limits.readers_per_execution, 1024);
}

/// Tests relations between keys. `every_key_of_the_file` tests the keys themselves.
#[test]
fn every_contradiction_has_its_line_and_field() {
    // The replaced text, its replacement, and the line, field and message of the expected problem.
    let table: &[(&str, &str, usize, &str, &str)] = &[
        ("queue = 10", "readers = 3", 21, "limits.readers", "less than"),
        ("queue = 10", "readers = 2000", 21, "limits.readers", "readers_per_tenant"),
        ("queue = 10", "waits = 3", 21, "limits.waits", "waits_per_tenant"),
        ("queue = 10", "lists = 3", 21, "limits.lists", "lists_per_tenant"),
        ("queue = 10", "checks = 3", 21, "limits.checks", "checks_per_tenant"),
        ("queue = 10", "watches = 3", 21, "limits.watches", "watches_per_tenant"),
        ("queue = 10", "connections = 3", 21, "limits.connections", "connections_per_peer"),
        ("queue = 10", "call_timeout = \"59s\"", 21, "limits.call_timeout", "open_wait"),
        ("server-1", "server 1", 2, "server_id", "not a server id"),
        ("[limits]", "[[tenant]]\nname = \"defualt\"\n[limits]", 21, "tenant[0].name", "no identity"),
        (
            "[limits]",
            "[[tenant]]\nname = \"default\"\n[[tenant]]\nname = \"default\"\n[limits]",
            23,
            "tenant[1].name",
            "also the name",
        ),
        ("127.0.0.1:0", "0.0.0.0:1", 6, "listen.insecure_loopback", "other hosts"),
        ("insecure_loopback = true", "", 4, "listen.tls", "no certificate"),
        ("127.0.0.1:0\"", "127.0.0.1:7\"\nprobes = \"0.0.0.0:7\"", 6, "listen.probes", "same port"),
        ("roles = [\"executor\"]", "roles = []", 17, "identity[0].roles", "empty"),
        ("roles = [\"executor\"]", "roles = [\"runner\"]", 17, "identity[0].roles", "only by certificate"),
        ("2cf24d", "2CF24D", 18, "identity[0].match", "not a SHA-256"),
        ("{ token_sha256 = \"2c", "{ dns = \"2c", 18, "identity[0].match", "no authority"),
        ("lost_after = \"5m\"", "lost_after = \"4m 50s\"", 25, "link.lost_after", "running command"),
        ("link_grace = \"4m\"", "link_grace = \"10s\"", 24, "link.link_grace", "not from"),
        ("link_grace = \"4m\"", "heartbeat_interval = \"15s\"", 23, "link.heartbeat_timeout", "not from"),
        ("\"info\"", "\"x=y=z\"", 28, "telemetry.log_level", "not a log level"),
        ("link_grace = \"4m\"", "lease = \"2s\"", 24, "link.lease", "not from"),
        ("log_level = \"info\"", "service_name = \"\"", 28, "telemetry.service_name", "empty"),
        ("log_level = \"info\"", "otlp_endpoint = \"grpc://x:1\"", 28, "telemetry.otlp_endpoint", "https://"),
        (
            "log_level = \"info\"",
            "otlp_ca = \"c\"\notlp_endpoint = \"http://x:1\"",
            28,
            "telemetry.otlp_ca",
            "not an https://",
        ),
        (
            "log_level = \"info\"",
            "otlp_certificate = \"c\"\notlp_endpoint = \"https://x:1\"",
            28,
            "telemetry.otlp_certificate",
            "only one of",
        ),
    ];
    for (from, to, line, field, what) in table {
        let text = GOOD.replacen(from, to, 1);
        let found = problems(&text);
        let fits =
            |p: &Problem| line_of(p) == Some(*line) && p.field.starts_with(field) && p.what.contains(what);
        assert!(found.iter().any(fits), "`{to}` gave {found:#?}");
        assert!(found.iter().all(|p| !p.cure.is_empty()), "{found:#?}");
    }
}

/// The example with all commented keys, and with the methods of recognition that it does not show.
fn full() -> String {
    let more = ["common_name = \"x\"", "dns = \"x\""]
        .map(|way| format!("[[identity]]\nname = \"x\"\ntenant = \"x\"\nroles = []\nmatch = {{ {way} }}\n"));
    let shared = FLEET.split_once("[store.postgres]").unwrap().1;
    let shared =
        shared.split_once("[[identity]]").unwrap().0.replace("[outputs]\n# retention = \"30d\"\n", "");
    format!("{}{}[store.postgres]{}", written_out(EXAMPLE), more.concat(), written_out(&shared))
}

#[test]
fn every_key_of_every_layer_has_its_cases_and_each_is_told_with_origin_and_cure() {
    let refuse = |text: &str, overrides: &Overrides| {
        Config::parse_with(text, "server.toml", overrides).err().map(|error| error.to_string())
    };
    let told = cases::assert_told(&full(), "server.toml", (schema(), Some(VARIABLES)), refuse);
    assert!(told.len() > 1500, "{}", told.len());
}

#[test]
fn the_effective_configuration_shows_the_origin_of_every_key_and_no_secret() {
    let text = full();
    let mut assignments = cases::assignments(&text, schema(), VARIABLES);
    // A hook is set as a whole.
    assignments.retain(|(path, ..)| !path.starts_with("hooks."));
    let report = |overrides: &Overrides| {
        Loaded::<Config>::parse(&text, "server.toml", overrides, schema()).unwrap().effective().unwrap()
    };
    let variables = assignments.iter().map(|(_, name, text)| (name.into(), text.into()));
    let in_environment = report(&Overrides::new(VARIABLES, variables, Vec::new()));
    let flags = assignments.iter().map(|(path, _, text)| format!("{path}={text}"));
    let in_flags = report(&Overrides::new(VARIABLES, [], flags.collect()));
    let in_file = report(&Overrides::default());
    for (path, name, _) in &assignments {
        // A secret is shown as a whole.
        let path =
            path.split_once(".match.").map_or(path.as_str(), |(identity, _)| &path[..identity.len() + 6]);
        let name =
            name.split_once("__MATCH__").map_or(name.as_str(), |(identity, _)| &name[..identity.len() + 7]);
        for (report, origin) in
            [(&in_environment, name), (&in_flags, &*format!("--set {path}")), (&in_file, "server.toml:")]
        {
            let line = report.lines().find(|line| line.starts_with(&format!("{path} = "))).unwrap();
            assert!(line.contains(&format!("  # {origin}")), "{origin}: {line}");
        }
    }
    for report in [in_environment, in_flags, in_file] {
        assert!(report.contains("store.postgres.url = (secret)  # "), "{report}");
        assert!(!report.contains("7b19e5a6") && !report.contains("postgres://"), "{report}");
    }
    let bare = Loaded::<Config>::parse(GOOD, "server.toml", &Overrides::default(), schema()).unwrap();
    let report = bare.effective().unwrap();
    assert!(report.contains("limits.queue = 10  # server.toml:21:9\n"), "{report}");
    assert!(report.contains("limits.queue_wait = \"1m\"  # default\n"), "{report}");
    assert!(report.contains("peers = (not set)  # default\n"), "{report}");
}

#[test]
fn all_problems_come_at_once_and_in_order() {
    let text = GOOD.replacen("server-1", "", 1).replacen("queue = 10", "exchanges = 1", 1);
    let error = Config::parse(&text, "server.toml").unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 2, "{error}");
    assert!(lines[0].starts_with("server.toml:2:1: `server_id`: "), "{error}");
    assert!(lines[1].starts_with("server.toml:21:1: `limits.exchanges`: "), "{error}");
}

#[test]
fn identities_must_not_be_ambiguous() {
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let second = |name: &str, matches: &str| {
        format!(
            "{GOOD}\n[[identity]]\nname = \"{name}\"\ntenant = \"t\"\nroles = [\"admin\"]\nmatch = {matches}\n"
        )
    };
    let same_token = problems(&second("other", &format!("{{ token_sha256 = \"{hash}\" }}")));
    assert_eq!(same_token[0].field, "identity[1].match");
    assert_eq!(line_of(&same_token[0]), Some(34));
    let same_name = problems(&second("ci", "\"loopback\""));
    assert_eq!(same_name[0].field, "identity[1].name");
    Config::parse(&second("other", "\"loopback\""), "server.toml").unwrap();
}

#[test]
fn loopback_identities_need_a_loopback_server() {
    let tls = "[listen.tls]\ncertificate = \"c\"\nkey = \"k\"\n";
    let text = GOOD.replacen("insecure_loopback = true\n", tls, 1).replacen(
        "{ token_sha256 = \"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\" }",
        "\"loopback\"",
        1,
    );
    assert_eq!(problems(&text)[0].field, "identity[0].match");
}

#[test]
fn missing_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.toml");
    let tls = "[listen.tls]\ncertificate = \"/nowhere/cert.pem\"\nkey = \"/nowhere/key.pem\"\n";
    std::fs::write(&file, GOOD.replacen("insecure_loopback = true\n", tls, 1)).unwrap();
    let error = Config::load(&file).unwrap_err().to_string();
    assert!(
        error.contains("server.toml:7:1: `listen.tls.certificate`: `/nowhere/cert.pem` cannot be read"),
        "{error}"
    );
    assert!(error.contains("server.toml:8:1: `listen.tls.key`"), "{error}");
    let missing = Config::load(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml: there is no such file; correct the path"), "{missing}");
}

const EXAMPLE: &str = include_str!("../../../deploy/server.toml");
/// An example of one of several servers.
const FLEET: &str = include_str!("../../../deploy/server-fleet.toml");

#[test]
fn the_example_is_right() {
    let config = Config::parse(EXAMPLE, "deploy/server.toml").unwrap();
    assert_eq!(config.identities.len(), 3);
    let config = Config::parse(FLEET, "deploy/server-fleet.toml").unwrap();
    assert!(config.store.postgres.is_some() && config.outputs.s3.is_some());
}

/// Returns the example with its commented keys uncommented.
fn written_out(example: &str) -> String {
    example
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|line| is_field(line) || ["[peers]", "[hooks.guard]"].contains(line))
                .unwrap_or(line)
        })
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn is_field(line: &&str) -> bool {
    let field = line.split(" = ").next().unwrap_or_default();
    line.contains(" = ") && field.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Tests that the example shows every field that has a default, with its default value.
#[test]
fn what_the_example_leaves_out_are_the_defaults() {
    // These fields have no default.
    let bare = [
        "directory = \"/etc",
        "otlp_",
        "service_namespace",
        "probes",
        "retention",
        "endpoint",
        "ca = ",
        "certificate = \"/etc/airlock/db",
        "key = \"/etc/airlock/db",
    ];
    for (example, least) in [(EXAMPLE, 50), (FLEET, 15)] {
        let is_known = |line: &&str| {
            example.contains(&format!("\n{line}\n")) || !bare.iter().any(|bare| line.starts_with(bare))
        };
        // The sections `peers` and `hooks` are optional and have no defaults.
        let written = written_out(example);
        let text = match written.split_once("[peers]") {
            Some((before, rest)) => {
                let (peers, after) = rest.split_once("[hooks.guard]").unwrap();
                assert_eq!(peers.lines().filter(is_field).count(), 8);
                let (hook, after) = after.split_once("[telemetry]").unwrap();
                assert_eq!(hook.lines().filter(is_field).count(), 9);
                format!("{before}[telemetry]{after}")
            }
            None => written,
        };
        let text: String = text.lines().filter(is_known).flat_map(|line| [line, "\n"]).collect();
        let written = Config::parse(&text, "written out").unwrap();
        let left_out = Config::parse(example, "left out").unwrap();
        assert_ne!(text, example);
        assert_eq!(format!("{written:?}"), format!("{left_out:?}"));
        let shown = text.lines().filter(is_field).count();
        assert!(shown > least, "only {shown} fields are shown");
    }
}

/// Returns the configuration of one of several servers.
fn peer(advertise: &str) -> Result<Config, Vec<Problem>> {
    let more = "[peers]\nserver_name = \"s\"\nca = \"c\"\ncertificate = \"c\"\nkey = \"k\"\n";
    let tls = "[listen.tls]\ncertificate = \"c\"\nkey = \"k\"\nclient_ca = \"c\"\n";
    let identity = "[[identity]]\nname = \"servers\"\ntenant = \"system\"\nroles = [\"server\"]\n\
                    match = { dns = \"s\" }\n";
    let text = GOOD.replace("insecure_loopback = true\n", tls).replace("127.0.0.1:0", "[::]:7443");
    let named = vec![(ADVERTISE, "peers.advertise", advertise.to_owned())];
    let overrides = Overrides { named, ..Overrides::default() };
    Config::parse_with(&format!("{text}{more}{identity}"), "server.toml", &overrides)
        .map_err(|error| error.problems)
}

#[test]
fn other_servers_are_told_an_address_of_either_family() {
    for (told, reached) in [
        ("10.0.0.1", "https://10.0.0.1:7443"),
        ("fd00::1", "https://[fd00::1]:7443"),
        ("https://[fd00::1]:1", "https://[fd00::1]:1"),
        ("https://server-1.airlock:7443", "https://server-1.airlock:7443"),
    ] {
        let config = peer(told).unwrap();
        assert_eq!(config.peers.unwrap().advertise.as_deref(), Some(reached));
    }
    for wrong in ["https://fd00::1:7443", "https://10.0.0.1", "10.0.0.1:7443", ""] {
        let found = peer(wrong).unwrap_err();
        assert_eq!(found.len(), 1, "{wrong}: {found:?}");
        assert_eq!(found[0].origin, Some(Origin::Variable(ADVERTISE.to_owned())));
        assert!(found[0].field == "peers.advertise" && found[0].cure.contains("[fd00::1]"), "{found:?}");
    }
    // Without the table, the variable has no effect.
    let named = vec![(ADVERTISE, "peers.advertise", "10.0.0.1".to_owned())];
    let alone = Overrides { named, ..Overrides::default() };
    assert!(Config::parse_with(GOOD, "server.toml", &alone).unwrap().peers.is_none());
}

/// Returns a configuration with another store or output storage.
fn elsewhere(store: &str, outputs: &str) -> String {
    let text = GOOD.replace("[store]\npath = \"/tmp/airlock/airlock.db\"\n", store);
    let text = text.replace("[outputs]\ndirectory = \"/tmp/airlock/outputs\"\n", outputs);
    assert!(text != GOOD);
    text
}

const DATABASE: &str = "[store.postgres]\nurl = \"postgres://airlock@db:5432/airlock\"\n";
const BUCKET: &str = "[outputs.s3]\nbucket = \"airlock\"\n";
const FILE: &str = "[store]\npath = \"/tmp/airlock.db\"\n";
const FOLDER: &str = "[outputs]\ndirectory = \"/tmp/outputs\"\n";

#[test]
fn store_and_outputs_are_in_one_place_each_that_fits() {
    Config::parse(&elsewhere(DATABASE, BUCKET), "server.toml").unwrap();
    Config::parse(&elsewhere(FILE, BUCKET), "server.toml").unwrap();
    Config::parse(&elsewhere(DATABASE, FOLDER), "server.toml").unwrap();
    let database = |more: &str| elsewhere(&format!("{DATABASE}{more}\n"), FOLDER);
    let url = |url: &str| elsewhere(&format!("[store.postgres]\nurl = \"{url}\"\n"), FOLDER);
    let bucket = |more: &str| elsewhere(FILE, &format!("{BUCKET}{more}\n"));
    for (text, field, what) in [
        (elsewhere("[store]\n", FOLDER), "store", "no location"),
        (elsewhere(FILE, "[outputs]\n"), "outputs", "no location"),
        (elsewhere(&format!("{FILE}{DATABASE}"), FOLDER), "store.path", "conflicts"),
        (elsewhere(FILE, &format!("{FOLDER}{BUCKET}")), "outputs.directory", "conflicts"),
        (
            elsewhere(&format!("[store]\ndurability = \"disk\"\n{DATABASE}"), FOLDER),
            "store.durability",
            "SQLite",
        ),
        (url("postgres://airlock:hidden@db/airlock"), "store.postgres.url", "password"),
        (url("postgres://airlock@db/airlock?sslmode=disable"), "store.postgres.url", "parameters"),
        (url("postgres://airlock@/airlock"), "store.postgres.url", "not postgres"),
        (url("mysql://airlock@db/airlock"), "store.postgres.url", "not postgres"),
        (url("postgres://db/airlock"), "store.postgres.url", "not postgres"),
        (url("postgres://airlock@db"), "store.postgres.url", "not postgres"),
        (url("db"), "store.postgres.url", "not postgres"),
        (database("certificate = \"c\""), "store.postgres.certificate", "only one of"),
        (database("sslmode = \"require\"\nca = \"ca\""), "store.postgres.ca", "does not verify"),
        (database("lock_timeout = \"11s\""), "store.postgres.lock_timeout", "statement_timeout"),
        (bucket("secret_access_key_file = \"x\""), "outputs.s3.access_key_id_file", "only one of"),
        (bucket("prefix = \"a//b\""), "outputs.s3.prefix", "prefix of an object"),
        (bucket("endpoint = \"http://s3:9000\""), "outputs.s3.endpoint", "not encrypted"),
        (bucket("endpoint = \"s3:9000\""), "outputs.s3.endpoint", "not the address"),
        (bucket("endpoint = \"ftp://s3\"\ninsecure_http = true"), "outputs.s3.endpoint", "not the address"),
    ] {
        let found = problems(&text);
        let fits = |p: &Problem| p.field == field && p.what.contains(what) && !p.cure.is_empty();
        assert!(found.iter().any(fits), "{text} gave {found:#?}");
        assert!(!format!("{found:?}").contains("hidden"), "{found:?}");
    }
    Config::parse(&bucket("endpoint = \"http://s3:9000\"\ninsecure_http = true"), "server.toml").unwrap();
}

#[test]
fn the_address_of_a_database_is_taken_apart() {
    let parsed = |url: &str| url.parse::<DatabaseUrl>().unwrap();
    let wanted = |host: &str, port, user: &str, database: &str| DatabaseUrl {
        host: host.to_owned(),
        port,
        user: user.to_owned(),
        database: database.to_owned(),
    };
    assert_eq!(parsed("postgres://a@db.example.org:6543/b"), wanted("db.example.org", 6543, "a", "b"));
    assert_eq!(parsed("postgres://a@[::1]/b"), wanted("::1", 5432, "a", "b"));
    assert_eq!(parsed("postgresql://a%40b@127.0.0.1/c%20d"), wanted("127.0.0.1", 5432, "a@b", "c d"));
    assert_eq!(parsed("postgres://a@%2Frun%2Fpostgresql/b"), wanted("/run/postgresql", 5432, "a", "b"));
}
