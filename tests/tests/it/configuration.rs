//! Compares the reference page and the chart's schema with the types of the configurations. `UPDATE_EXPECT=1` writes
//! both files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, fs};

use airlock_config::reference::{chart, page};
use airlock_tests::source;
use serde_json::Value;

/// The line before the generated part of the page.
const MARK: &str = "<!-- The rest is generated from the types. UPDATE_EXPECT=1 updates it. -->\n";
const PAGE: &str = "docs/configuration.md";
const CHART: &str = "helm/airlock/values.schema.json";
/// The lines around the generated part of the chart's schema.
const BEGIN: &str = "\n    \"generated\": {\n";
const END: &str = "\n    },\n    \"serverConfig\": {\n";

/// The keys of `[telemetry]` that the chart writes from `telemetry`.
const COLLECTOR: &[&str] = &["otlp_endpoint", "otlp_ca", "otlp_certificate", "otlp_key", "service_namespace"];

/// The name of each part of the chart's schema, the table in the program's schema, and its keys that the chart sets
/// itself, that a pod cannot have, or that need no change there.
const SERVER: &[(&str, &str, &[&str])] = &[
    ("serverHook", "/properties/hooks/additionalProperties", &[]),
    ("serverLimits", "/properties/limits", &[]),
    ("serverLink", "/properties/link", &[]),
    ("serverPeers", "/properties/peers", &["advertise", "server_name", "ca", "certificate", "key"]),
    (
        "serverPostgres",
        "/properties/store/properties/postgres",
        &["url", "password_file", "sslmode", "ca", "certificate", "key"],
    ),
    (
        "serverS3",
        "/properties/outputs/properties/s3",
        &["bucket", "region", "endpoint", "prefix", "ca", "access_key_id_file", "secret_access_key_file"],
    ),
    ("serverTelemetry", "/properties/telemetry", COLLECTOR),
    ("serverTenant", "/properties/tenant/items", &[]),
];
const RUNNER: &[(&str, &str, &[&str])] = &[
    (
        "runnerFloor",
        "/properties/floor",
        &["servers", "bind_sources", "rootfs", "unix_sockets", "networks", "unsandboxed"],
    ),
    ("runnerLimits", "/properties/limits", &[]),
    ("runnerSlots", "/properties/slots", &[]),
    ("runnerSpool", "/properties/spool", &[]),
    ("runnerTelemetry", "/properties/telemetry", COLLECTOR),
    ("runnerTransfers", "/properties/transfers", &[]),
    (
        "runnerVault",
        "/properties/egress/properties/vault",
        &[
            "address",
            "insecure_loopback",
            "token_file",
            "kubernetes_role",
            "kubernetes_mount",
            "namespace",
            "ca",
        ],
    ),
    ("runnerWorkspace", "/properties/workspace", &[]),
];

/// Compares a generated text with the file, or writes it.
fn compare(path: &str, text: &str) {
    let file = source::root().join(path);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, text).unwrap();
        return;
    }
    let now = fs::read_to_string(&file).unwrap();
    let differs = now.lines().zip(text.lines()).find(|(now, text)| now != text);
    assert!(now == text, "{path} is not up to date; set UPDATE_EXPECT=1 to write it: {differs:?}");
}

#[test]
fn the_reference_page_is_generated_from_the_types() {
    let now = fs::read_to_string(source::root().join(PAGE)).unwrap();
    let (written, _) = now.split_once(MARK).expect("the page has the mark");
    let server = page(airlock_server::config::schema());
    let runner = page(airlock_runner::config_schema());
    let text = format!("{written}{MARK}\n## airlock-server\n\n{server}\n## airlock-runner\n\n{runner}");
    compare(PAGE, &text);
}

#[test]
fn the_charts_schema_is_generated_from_the_types() {
    let now = fs::read_to_string(source::root().join(CHART)).unwrap();
    let (before, rest) = now.split_once(BEGIN).expect("the schema has a generated part");
    let (_, after) = rest.split_once(END).expect("the generated part has an end");
    let mut parts = BTreeMap::new();
    for (schema, tables) in
        [(airlock_server::config::schema(), SERVER), (airlock_runner::config_schema(), RUNNER)]
    {
        parts.extend(tables.iter().map(|(name, pointer, own)| (*name, chart(schema, pointer, own))));
    }
    let parts: Vec<String> =
        parts.iter().map(|(name, part)| format!("      \"{name}\": {}", formatted(part, 6))).collect();
    compare(CHART, &format!("{before}{BEGIN}{}{END}{after}", parts.join(",\n")));
    // Each part is used, and each key that the chart sets itself exists.
    for (name, pointer, own) in SERVER.iter().chain(RUNNER) {
        assert!(now.contains(&format!("\"#/definitions/generated/{name}\"")), "{name} is not used");
        let schema = match name.starts_with("server") {
            true => airlock_server::config::schema(),
            false => airlock_runner::config_schema(),
        };
        let table = schema.json().pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
        let unknown = own.iter().find(|key| table["properties"].get(key).is_none());
        assert_eq!(unknown, None, "{name}");
    }
}

/// Formats JSON as the rest of the file: what fits is on one line.
fn formatted(value: &Value, indent: usize) -> String {
    const WIDTH: usize = 100;
    let line = one_line(value);
    let pad = " ".repeat(indent + 2);
    match value {
        Value::Object(map) if line.len() > WIDTH || map.contains_key("properties") => {
            let lines: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{pad}\"{key}\": {}", formatted(value, indent + 2)))
                .collect();
            format!("{{\n{}\n{}}}", lines.join(",\n"), " ".repeat(indent))
        }
        _ => line,
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> =
                map.iter().map(|(key, value)| format!("\"{key}\": {}", one_line(value))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
