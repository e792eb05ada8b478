//! The dashboards, the alerts and the collector's configuration name only existing series. They are compared with the
//! tables of metrics; the alerts are tested with series that fire them and series that do not, and each alert is in the
//! guide.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use airlock_telemetry::series_of;
use airlock_tests::{source, tools::tool};
use regex::Regex;
use serde_json::Value;

/// The largest picture in the repository, in bytes.
const PICTURE_BYTES: usize = 60_000;
const RULES: &str = "deploy/prometheus/airlock.rules.yaml";
/// A placeholder for the address at which an operator serves the documentation.
const DOCS: &str = "https://docs.airlock.example";
/// The label that distinguishes installations in alerts and dashboards.
const INSTALLATION: &str = "service_namespace";

fn page(path: &str) -> String {
    fs::read_to_string(source::root().join(path)).unwrap()
}

/// Returns every existing series with its labels.
fn known() -> BTreeMap<String, BTreeSet<String>> {
    let tables = airlock_server::telemetry::metrics::TABLE.iter().chain(airlock_runner::METRICS);
    tables.flat_map(series_of).map(|series| (series.name, series.labels)).collect()
}

/// Returns the series in a PromQL expression, each with the labels of its selector.
fn named(expression: &str) -> Vec<(String, Vec<String>)> {
    let series = Regex::new(r"\b((?:airlock|rpc|target|otel)_[a-z0-9_]+)\b(?:\{([^}]*)\})?").unwrap();
    let label = Regex::new(r#"([a-zA-Z_]+)\s*(?:=~|!~|!=|=)\s*""#).unwrap();
    let by = Regex::new(r"\b(?:by|without|on|ignoring)\s*\([^)]*\)").unwrap();
    let plain = by.replace_all(expression, "");
    series
        .captures_iter(&plain)
        .map(|found| {
            let picks = found.get(2).map_or("", |picks| picks.as_str());
            (found[1].to_owned(), label.captures_iter(picks).map(|found| found[1].to_owned()).collect())
        })
        .collect()
}

/// Returns the labels that an expression groups by.
fn grouped(expression: &str) -> BTreeSet<String> {
    let by = Regex::new(r"\bby\s*\(([^)]*)\)").unwrap();
    let lists = by.captures_iter(expression).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    let names = lists.iter().flat_map(|list| list.split(',')).map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns the unknown names in an expression.
fn unknown(expression: &str, known: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    let series = named(expression);
    let mut labels = BTreeSet::new();
    for (name, picks) in &series {
        let Some(has) = known.get(name) else {
            wrong.push(format!("no series `{name}` in `{expression}`"));
            continue;
        };
        labels.extend(has.iter().cloned());
        let picked = picks.iter().filter(|label| !has.contains(*label));
        wrong.extend(picked.map(|label| format!("`{name}` has no label `{label}`: `{expression}`")));
    }
    let by = grouped(expression);
    wrong.extend(
        by.difference(&labels).map(|label| format!("nothing has the label `{label}`: `{expression}`")),
    );
    if series.is_empty() {
        wrong.push(format!("no series at all in `{expression}`"));
    }
    wrong
}

/// Returns the title, expression and legend of every query in a dashboard.
fn queries(dashboard: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let panels = dashboard["panels"].as_array().unwrap();
    panels
        .iter()
        .flat_map(|panel| {
            let targets = panel["targets"].as_array().unwrap();
            targets.iter().map(|one| (text(&panel["title"]), text(&one["expr"]), text(&one["legendFormat"])))
        })
        .collect()
}

fn dashboards() -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = fs::read_dir(source::root().join("deploy/grafana"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path.file_stem().unwrap().to_string_lossy().into_owned(), value)
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// Returns the name and expression of every alert.
fn alerts() -> Vec<(String, String)> {
    let rules = page(RULES);
    let field =
        |line: &str, name: &str| line.trim_start().strip_prefix(name).map(|rest| rest.trim().to_owned());
    let names = rules.lines().filter_map(|line| field(line, "- alert:"));
    let expressions = rules.lines().filter_map(|line| field(line, "expr:"));
    let expressions = expressions.map(|text| text.trim_matches('\'').replace("''", "'"));
    names.zip(expressions).collect()
}

#[test]
fn what_is_not_there_is_found() {
    let known = known();
    assert!(known.len() > 60);
    for wrong in [
        "sum(airlock_nothing)",
        "sum(rate(airlock_executions[5m]))",
        "airlock_executions_total{verdict=\"ALLOW\"}",
        "sum by (verdict) (airlock_executions_total)",
        "airlock_queue_time_seconds",
        "up",
    ] {
        assert!(!unknown(wrong, &known).is_empty(), "{wrong}");
    }
    let right =
        "histogram_quantile(0.9, sum by (le, instance) (rate(airlock_queue_time_seconds_bucket[5m])))";
    assert_eq!(unknown(right, &known), Vec::<String>::new());
}

#[test]
fn dashboards_name_only_what_there_is_and_all_of_it() {
    let (known, all) = (known(), dashboards());
    assert_eq!(all.len(), 5);
    let mut wrong = Vec::new();
    let mut shown = BTreeSet::new();
    let legend = Regex::new(r"\{\{([a-z_]+)\}\}").unwrap();
    for (file, dashboard) in &all {
        assert_eq!(dashboard["uid"].as_str(), Some(file.as_str()), "its UID is its file's name");
        let ids: BTreeSet<i64> = dashboard["panels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|panel| panel["id"].as_i64().unwrap())
            .collect();
        assert_eq!(
            ids.len(),
            dashboard["panels"].as_array().unwrap().len(),
            "{file}: each panel has its number"
        );
        for (title, expression, format) in queries(dashboard) {
            wrong.extend(
                unknown(&expression, &known).into_iter().map(|what| format!("{file}, {title}: {what}")),
            );
            let by = grouped(&expression);
            let labels: BTreeSet<String> = named(&expression)
                .iter()
                .filter_map(|(name, _)| known.get(name))
                .flatten()
                .cloned()
                .collect();
            let gone = legend.captures_iter(&format).map(|found| found[1].to_owned());
            let gone = gone
                .filter(|label| if by.is_empty() { !labels.contains(label) } else { !by.contains(label) });
            wrong.extend(
                gone.map(|label| format!("{file}, {title}: the legend's `{label}` is not in the result")),
            );
            shown.extend(named(&expression).into_iter().map(|(name, _)| name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let tables = airlock_server::telemetry::metrics::TABLE.iter().chain(airlock_runner::METRICS);
    let hidden: Vec<&str> = tables
        .filter(|metric| series_of(metric).iter().all(|series| !shown.contains(&series.name)))
        .map(|metric| metric.name)
        .collect();
    assert_eq!(hidden, Vec::<&str>::new(), "every metric has its panel");
}

#[test]
fn each_dashboard_has_its_picture_which_the_guide_shows() {
    let guide = page("docs/operator.md");
    let names: BTreeSet<String> = dashboards().into_iter().map(|(name, _)| name).collect();
    let listed = fs::read_dir(source::root().join("docs/panels")).unwrap();
    let pictures: BTreeSet<String> =
        listed.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(
        pictures,
        names.iter().map(|name| format!("{name}.png")).collect(),
        "`make panels` draws them"
    );
    for name in pictures {
        let picture = fs::read(source::root().join("docs/panels").join(&name)).unwrap();
        assert!(picture.starts_with(b"\x89PNG\r\n"), "{name} is not an image");
        assert!(picture.len() < PICTURE_BYTES, "{name} has {} bytes", picture.len());
        assert!(guide.contains(&format!("](panels/{name})")), "the guide shows {name}");
    }
}

#[test]
fn alerts_name_only_what_there_is_and_have_their_place_in_the_guide() {
    let (known, alerts, guide) = (known(), alerts(), page("docs/operator.md"));
    assert!(alerts.len() > 15, "{alerts:?}");
    let wrong: Vec<String> = alerts.iter().flat_map(|(_, expression)| unknown(expression, &known)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let section = guide.split("\n## Alerts\n").nth(1).unwrap();
    let described: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let names: Vec<&str> = alerts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(described, names, "the guide has each alert, in the order of the file");
    let rules = page(RULES);
    for name in names {
        let part = section.split(&format!("### {name}\n")).nth(1).unwrap().split("\n### ").next().unwrap();
        assert!(
            part.contains("**Do**") || part.contains("**do**") || part.contains("Nothing brings"),
            "{name}: the required action"
        );
        assert!(
            rules.contains(&format!("runbook_url: {DOCS}/operator.md#{}\n", name.to_lowercase())),
            "{name}: the link to its section"
        );
        let severity = rules.split(&format!("- alert: {name}\n")).nth(1).unwrap();
        let severity = severity.lines().find_map(|line| line.trim().strip_prefix("severity: ")).unwrap();
        assert!(part.to_lowercase().trim_start().starts_with(severity), "{name} is {severity} in both");
    }
}

#[test]
fn alerts_and_dashboards_keep_installations_apart() {
    // Every aggregation of an alert is per installation.
    let aggregation =
        Regex::new(r"\b(?:sum|max|min|avg|count|group)\b(?:\s+by\s*\(([^)]*)\))?\s*\(").unwrap();
    let mut seen = 0;
    for (name, expression) in alerts() {
        for found in aggregation.captures_iter(&expression) {
            let by = found.get(1).map_or("", |list| list.as_str());
            assert!(by.split(", ").any(|label| label == INSTALLATION), "{name}: `{}`", &found[0]);
            seen += 1;
        }
        assert!(!expression.contains("on ()"), "{name} joins installations");
    }
    assert!(seen > 20, "{seen}");
    // Every series of a dashboard is limited to the selected installations.
    for (file, dashboard) in dashboards() {
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let variable = variables.iter().find(|one| one["name"] == "installation").unwrap();
        assert_eq!(variable["query"], format!("label_values(airlock_build_info, {INSTALLATION})"));
        for (title, expression, _) in queries(&dashboard) {
            let picked = expression.matches(&format!("{INSTALLATION}=~\"$installation\"")).count();
            assert_eq!(picked, named(&expression).len(), "{file}, {title}: {expression}");
        }
    }
    // The label comes from the resource of the sender.
    let collector = page("deploy/collector.yaml");
    assert!(
        collector
            .contains("set(attributes[\"service.namespace\"], resource.attributes[\"service.namespace\"])")
    );
}

/// Runs promtool, which must succeed.
fn promtool(arguments: &[&str]) {
    let output = Command::new(tool("promtool"))
        .args(arguments)
        .current_dir(source::root().join("deploy/prometheus"))
        .output();
    let output = output.unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
}

#[test]
fn each_alert_fires_when_it_should_and_is_silent_when_it_should_not() {
    promtool(&["check", "config", "prometheus.yaml"]);
    promtool(&["check", "rules", "airlock.rules.yaml"]);
    promtool(&["test", "rules", "airlock.rules.test.yaml"]);
    let cases = page("deploy/prometheus/airlock.rules.test.yaml");
    for (name, _) in alerts() {
        for case in ["fires", "is silent"] {
            assert!(cases.contains(&format!("- name: {name} {case}\n")), "a case in which {name} {case}");
        }
    }
}

/// Returns the names one level below a top-level key in a YAML file.
fn under(text: &str, key: &str) -> BTreeSet<String> {
    let after = text.split(&format!("\n{key}:\n")).nth(1).unwrap();
    let inside = after.lines().take_while(|line| line.starts_with(' ') || line.trim().is_empty());
    let names = inside.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| Some(line.trim().split_once(':')?.0.to_owned()))
        .filter(|name| !name.starts_with('#'))
        .collect()
}

#[test]
fn the_collectors_pipelines_use_what_is_configured_and_reach_prometheus() {
    let text = page("deploy/collector.yaml");
    let listed = |key: &str| {
        let list = Regex::new(&format!(r"(?m)^\s+{key}: \[([^\]]*)\]")).unwrap();
        let all = list.captures_iter(&text).map(|found| found[1].to_owned()).collect::<Vec<_>>();
        all.iter()
            .flat_map(|names| names.split(','))
            .map(|name| name.trim().to_owned())
            .collect::<BTreeSet<_>>()
    };
    for part in ["receivers", "processors", "exporters", "extensions"] {
        assert_eq!(listed(part), under(&text, part), "each configured {part} is used, and no other");
    }
    for signal in ["metrics", "traces", "logs"] {
        assert!(text.contains(&format!("\n    {signal}:\n")), "a pipeline of {signal}");
    }
    let port = |text: &str, after: &str| {
        let rest = text.split(after).nth(1).unwrap().split("endpoint: 0.0.0.0:").nth(1).unwrap();
        rest.lines().next().unwrap().to_owned()
    };
    let scraped = page("deploy/prometheus/prometheus.yaml");
    assert!(
        scraped.contains(&format!("127.0.0.1:{}\"", port(&text, "\n  prometheus:\n"))),
        "Prometheus scrapes the collector's endpoint"
    );
    assert!(scraped.contains("honor_labels: true"), "with the labels of the programs");
    let sent = page("deploy/server.toml");
    assert!(
        sent.contains(&format!("http://127.0.0.1:{}\"", port(&text, "\n  otlp:\n"))),
        "the collector receives the exported data"
    );
}
