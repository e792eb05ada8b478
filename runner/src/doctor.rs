//! The checks of a host: each problem that keeps commands from running there, with a remedy.
//!
//! The checks leave no change, register with no server, and report only observations.

mod configured;
mod finding;
mod host;
mod reach;
mod secrets;

use std::fmt::Write as _;

use serde_json::{Value, json};

use finding::FAILED;

pub use configured::configured;
pub use finding::Finding;
pub use host::{Probe, host};
pub use reach::{Target, Trust, reach};

/// Renders the findings for people: one line each, the consequence and the remedy below it, and a summary.
#[must_use]
pub fn render(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let Finding { name, seen, lost, remedy, .. } = finding;
        // Writing to a `String` does not fail.
        let _ = writeln!(text, "{:<8} {name:<width$}  {seen}", finding.shown());
        for (mark, said) in [("effect:", lost), ("->", remedy)] {
            if !said.is_empty() {
                let _ = writeln!(text, "{:<8} {:<width$}  {mark} {said}", "", "");
            }
        }
    }
    let count = |shown: &str| findings.iter().filter(|finding| finding.shown() == shown).count();
    let [ok, degraded, missing, failed] = ["ok", "degraded", "missing", FAILED].map(count);
    let _ = writeln!(text, "\n{ok} ok, {degraded} degraded, {missing} missing, {failed} failed");
    airlock_escape::guard(&text).into_owned()
}

/// Renders the findings for programs: `{"ok": bool, "checks": [{"name", "state", "needed", "seen", "lost", "remedy"}]}`.
/// The state is `ok`, `degraded` or `missing`.
#[must_use]
pub fn to_json(findings: &[Finding]) -> Value {
    json!({ "ok": is_well(findings), "checks": findings })
}

/// Reports whether everything that commands need works.
#[must_use]
pub fn is_well(findings: &[Finding]) -> bool {
    !findings.iter().any(Finding::is_failure)
}

#[cfg(test)]
mod tests;
