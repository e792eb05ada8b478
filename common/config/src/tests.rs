//! Tests of texts and assignments that do not match, and their messages.

mod layers;
mod odd;

use std::{collections::BTreeMap, fs, sync::LazyLock, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

type Wait = Time<100, 60_000>;
type Keep = Time<0, YEAR>;
text_form!(Pair, "^[^:]+:[^:]+$", "`a:b`");

/// Only for tests.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    id: String,
    listen: Listen,
    #[serde(default)]
    identity: Vec<Identity>,
    #[serde(default)]
    bases: BTreeMap<String, String>,
    #[serde(default)]
    limits: Limits,
    /// The keys that the environment must not widen.
    #[serde(default)]
    #[schemars(extend("x-guarded" = true))]
    floor: Floor,
    #[schemars(extend("x-secret" = true))]
    password: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Listen {
    #[schemars(with = "Pair")]
    address: String,
    plain: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Identity {
    name: String,
    roles: Vec<Role>,
    #[schemars(extend("x-secret" = true))]
    r#match: Match,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    Executor,
    Approver,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Match {
    Dns(String),
    Token(String),
    Loopback,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    #[schemars(range(min = 1))]
    queue: u32,
    #[schemars(range(min = 0.0, max = 1.0))]
    share: f64,
    #[serde(with = "Wait")]
    wait: Duration,
    #[serde(with = "Keep")]
    keep: Option<Duration>,
    level: Option<Level>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// Little.
    Low,
    /// Much.
    High,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Floor {
    max_wait: u32,
    names: Vec<String>,
    network: OrNone<Network>,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Network {
    any: bool,
    allow: Vec<String>,
}

fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<Config>);
    &SCHEMA
}

const FULL: &str = r#"id = "one"
bases = { a = "/a" }
password = "s3cret"

[listen]
address = "a:b"
plain = true

[[identity]]
name = "x"
roles = ["executor"]
match = { dns = "x.example" }

[[identity]]
name = "y"
roles = ["approver", "executor"]
match = { token = "t" }

[[identity]]
name = "z"
roles = []
match = "loopback"

[limits]
queue = 3
share = 0.5
wait = "1s"
keep = "0s"
level = "low"

[floor]
max_wait = 3
names = ["a"]
network = { any = false, allow = ["b"] }
"#;

fn load(text: &str, overrides: &Overrides) -> Result<Loaded<Config>, ConfigError> {
    Loaded::parse(text, "f.toml", overrides, schema())
}

fn said_with(text: &str, overrides: &Overrides) -> String {
    load(text, overrides).map_or_else(|error| error.to_string(), |_| String::new())
}

fn said(text: &str) -> String {
    said_with(text, &Overrides::default())
}

#[test]
fn what_fits_is_taken() {
    assert_eq!(said(FULL), "");
}

#[test]
fn every_key_has_its_cases_and_each_is_told() {
    let refuse =
        |text: &str, overrides: &Overrides| Some(said_with(text, overrides)).filter(|said| !said.is_empty());
    let told = cases::assert_told(FULL, "f.toml", (schema(), Some("AIRLOCK_TEST")), refuse);
    assert!(told.len() > 200, "{}", told.len());
}

#[test]
#[should_panic(expected = "limits.level")]
fn a_key_without_a_case_fails() {
    let _ = cases::all(&FULL.replace("level = \"low\"\n", ""), schema(), None);
}

#[test]
fn each_kind_of_mistake_has_its_words() {
    for (from, to, expected) in [
        ("queue", "queu", "f.toml:25:1: `limits.queu`: there is no such key; did you mean `queue`?"),
        (
            "id =",
            "wait = \"1s\"\nid =",
            "f.toml:1:1: `wait`: there is no such key; did you mean `limits.wait`?",
        ),
        (
            "plain",
            "zzzzzz",
            "f.toml:7:1: `listen.zzzzzz`: there is no such key; write one of `address`, `plain`, or remove it",
        ),
        ("address = \"a:b\"\n", "", "f.toml:5:2: `listen.address`: it is missing; add it; write `a:b`"),
        (
            "queue = 3",
            "queue = \"3\"",
            "f.toml:25:9: `limits.queue`: it is the text `3`; write a whole number from 1 to 4294967295, without quotes",
        ),
        ("queue = 3", "queue = 0", "f.toml:25:9: `limits.queue`: it is the whole number 0; write a whole"),
        (
            "\"1s\"",
            "\"2m\"",
            "f.toml:27:8: `limits.wait`: it is the text `2m`; write a time with its unit in quotes, such as \"500ms\", \"30s\" or \"4m\", from 100ms to 1m",
        ),
        ("\"1s\"", "5", "f.toml:27:8: `limits.wait`: it is the whole number 5; write a time with its unit"),
        (
            "[\"executor\"]",
            "[\"execute\"]",
            "f.toml:11:10: `identity[0].roles[0]`: it is the text `execute`; did you mean \"executor\"?",
        ),
        (
            "\"loopback\"",
            "\"lopback\"",
            "f.toml:22:1: `identity[2].match`: this value is not one of the allowed values; did you mean \
             \"loopback\"?",
        ),
        (
            "{ dns = \"x.example\" }",
            "{ dns = \"x\", token = \"y\" }",
            "f.toml:12:1: `identity[0].match`: 2 alternatives are given; give exactly one of `dns`, `token`",
        ),
        (
            "{ any = false, allow = [\"b\"] }",
            "\"non\"",
            "f.toml:34:1: `floor.network`: it is the text `non`; did you mean \"none\"?",
        ),
        (
            "{ any = false, allow = [\"b\"] }",
            "\"everything\"",
            "f.toml:34:1: `floor.network`: it is the text `everything`; write \"none\" or a table with `allow`, `any`",
        ),
        (
            "id = \"one\"",
            "id = \"one\"\nid = \"two\"",
            "f.toml:2:1: `id`: it is set twice; keep one of the two",
        ),
        ("id = \"one\"", "id = one", "f.toml:1:"),
    ] {
        let said = said(&FULL.replacen(from, to, 1));
        assert!(said.lines().count() == 1 && said.starts_with(expected), "{to}: {said}");
    }
}

#[test]
fn a_word_can_replace_a_table() {
    let network = |value: &str| {
        let text = FULL.replacen("{ any = false, allow = [\"b\"] }", value, 1);
        load(&text, &Overrides::default()).unwrap().config.floor.network
    };
    assert_eq!(network("\"none\""), OrNone(None));
    assert_eq!(network("{ any = true }"), OrNone(Some(Network { any: true, allow: Vec::new() })));
    assert_eq!(network("{}"), OrNone(Some(Network::default())));
    assert_eq!(serde_json::to_string(&network("\"none\"")).unwrap(), "\"none\"");
    assert_eq!(serde_json::to_string(&network("{}")).unwrap(), "{\"any\":false,\"allow\":[]}");
}

#[test]
fn everything_is_told_at_once_in_order() {
    let text = FULL.replace("queue", "queu").replace("\"one\"", "1").replace("plain = true", "plain = 1");
    let said = said(&text);
    let starts: Vec<&str> = said.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(starts, ["f.toml:1:6", "f.toml:7:9", "f.toml:25:1"], "{said}");
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    for wrong in ["\"s3cret\"", "{ tokn = \"s3cret\" }"] {
        let said = said(&FULL.replacen("{ token = \"t\" }", wrong, 1));
        assert!(!said.is_empty() && !said.contains("s3cret"), "{said}");
    }
}

#[test]
fn files_that_cannot_be_one_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("latin1"), b"id = \"one\"\n# caf\xe9\n").unwrap();
    fs::write(at("long"), vec![b'#'; usize::try_from(FILE_BYTES).unwrap() + 1]).unwrap();
    fs::write(at("empty"), " \n").unwrap();
    for (name, expected) in [
        ("latin1", ":2:6: this byte is not UTF-8; save"),
        ("long", ": it is longer than 1048576 bytes; check the path"),
        ("nowhere", ": there is no such file; correct the path"),
        (".", ": it is a directory, not a file; correct the path"),
    ] {
        let said = read(&at(name)).unwrap_err().to_string();
        assert!(said.contains(&format!("{name}{expected}")), "{name}: {said}");
    }
    let text = read(&at("empty")).unwrap();
    assert_eq!(said(&text), "f.toml:1:1: the file is empty; it must contain `id`, `listen`");
    assert_eq!(said("# nothing\n").lines().count(), 2, "the missing keys");
}
