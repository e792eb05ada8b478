//! Parser cases on disk: `test_data/parser/ok` contains texts that are understood completely, `err`
//! the others. A file next to each text contains the expected result.
//!
//! `UPDATE_EXPECT=1` writes the current results.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use airlock_policy::{Decision, Nesting};

use crate::support::strict;

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

fn cases(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test_data/parser").join(folder);
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sh"))
        .collect();
    cases.sort();
    cases
}

fn check(folder: &str, complete: bool) {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let cases = cases(folder);
    assert!(cases.len() >= 15, "{} cases in {folder}", cases.len());
    for case in cases {
        let text = std::fs::read_to_string(&case).unwrap();
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let decision = strict(text);
        assert_eq!(decision.parse_complete, complete, "{}: {:?}", case.display(), decision.reasons);
        let found = found(&decision);
        let expected = case.with_extension("txt");
        if update {
            std::fs::write(&expected, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, wanted, "{}", case.display());
    }
}

#[test]
fn what_is_understood_is_understood_as_bash_does() {
    check("ok", true);
}

#[test]
fn what_is_not_understood_is_said_and_still_searched() {
    check("err", false);
}
