//! Parser cases on disk: `test_data/parser/ok.toml` contains texts that are understood completely, `err.toml` the
//! others. Each case contains the expected result.
//!
//! `UPDATE_EXPECT=1` writes the current results.

use airlock_policy::{Decision, Nesting};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

use crate::cases::{strict, test_data};

fn found(decision: &Decision) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "complete: {}", decision.parse_complete);
    for command in &decision.commands {
        let depth = command.nesting.len();
        let argv: Vec<String> = command
            .argv
            .iter()
            .map(|word| match &word.text {
                Some(text) => format!("{:?}", String::from_utf8_lossy(text)),
                None if word.exactly_one => "?".to_owned(),
                None => "?*".to_owned(),
            })
            .collect();
        let _ = write!(out, "{}[{}]", "  ".repeat(depth), argv.join(" "));
        for assignment in &command.assignments {
            let _ = write!(out, " {}={}", assignment.name, assignment.value.as_deref().unwrap_or("?"));
        }
        for redirect in &command.redirects {
            let target = redirect.target.as_deref().unwrap_or("?").replace('\n', "\\n");
            let descriptor = redirect.descriptor.map(|n| n.to_string()).unwrap_or_default();
            let _ = write!(out, " {descriptor}{}{target}", redirect.operator);
        }
        if let Some(nesting) = command.nesting.last() {
            let _ = write!(out, " ({})", name(*nesting));
        }
        out.push('\n');
    }
    if !decision.parse_complete {
        let codes: Vec<&str> = decision.reasons.iter().map(|reason| reason.code).collect();
        let _ = writeln!(out, "codes: {}", codes.join(" "));
    }
    out
}

fn name(nesting: Nesting) -> String {
    serde_json::to_value(nesting).unwrap().as_str().unwrap().to_owned()
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    case: Vec<Case>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    number: usize,
    name: String,
    command: String,
    found: String,
}

fn check(table: &str, complete: bool) {
    let path = test_data().join(format!("parser/{table}.toml"));
    let mut cases: Table = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(cases.case.len() >= 15, "{} cases in {table}", cases.case.len());
    let mut differences = Vec::new();
    for case in &mut cases.case {
        let decision = strict(&case.command);
        let name = format!("{table}, case {} {}", case.number, case.name);
        assert_eq!(decision.parse_complete, complete, "{name}: {:?}", decision.reasons);
        let found = found(&decision);
        if found != case.found {
            differences.push(format!("{name}: found\n{found}not\n{}", case.found));
        }
        case.found = found;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, toml::to_string_pretty(&cases).unwrap()).unwrap();
        return;
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_parsed_text_is_read_as_bash_reads_it() {
    check("ok", true);
}

#[test]
fn a_text_that_is_not_parsed_is_reported_and_searched() {
    check("err", false);
}
