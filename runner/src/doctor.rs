//! What stands between a host and commands that run on it: looked at one by one, each with a cure.
//!
//! Changes nothing that outlives it, registers nowhere, and says only what it has seen.

mod configured;
mod host;
mod reach;

use std::fmt::Write as _;

use serde_json::{Value, json};

pub use configured::configured;
pub use host::{Probe, host};
pub use reach::{Target, Trust, reach};

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Ok,
    /// It works, with something to know.
    Warning,
    /// It does not work.
    Failed,
}

impl Health {
    /// As it is shown and written to JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub name: String,
    /// How it is.
    pub health: Health,
    /// What was seen, in one line.
    pub what: String,
    /// What to do; empty where there is nothing to do.
    pub cure: String,
}

impl Finding {
    /// Something that is as it should be.
    #[must_use]
    pub fn ok(name: &str, what: impl AsRef<str>) -> Self {
        Self::new(name, Health::Ok, what, "")
    }

    /// Something to know, and what to do about it.
    #[must_use]
    pub fn warning(name: &str, what: impl AsRef<str>, cure: impl AsRef<str>) -> Self {
        Self::new(name, Health::Warning, what, cure)
    }

    /// Something that does not work, and what to do about it.
    #[must_use]
    pub fn failed(name: &str, what: impl AsRef<str>, cure: impl AsRef<str>) -> Self {
        Self::new(name, Health::Failed, what, cure)
    }

    fn new(name: &str, health: Health, what: impl AsRef<str>, cure: impl AsRef<str>) -> Self {
        Self { name: line(name), health, what: line(what.as_ref()), cure: line(cure.as_ref()) }
    }
}

/// One line without controls: some of it was said by other hosts.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// For people: a line each, its cure below it, and how many there are of which.
#[must_use]
pub fn render(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { name, health, what, cure } in findings {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{:<8} {name:<width$}  {what}", health.as_str());
        if !cure.is_empty() {
            let _ = writeln!(text, "{:<8} {:<width$}  -> {cure}", "", "");
        }
    }
    let count = |health| findings.iter().filter(|finding| finding.health == health).count();
    let [ok, warning, failed] = [Health::Ok, Health::Warning, Health::Failed].map(count);
    let _ = writeln!(text, "\n{ok} ok, {warning} to know about, {failed} failed");
    text
}

/// For programs: `{"ok": bool, "checks": [{"name", "health", "what", "cure"}]}`.
#[must_use]
pub fn to_json(findings: &[Finding]) -> Value {
    let check = |finding: &Finding| {
        let Finding { name, health, what, cure } = finding;
        json!({ "name": name, "health": health.as_str(), "what": what, "cure": cure })
    };
    json!({ "ok": is_well(findings), "checks": findings.iter().map(check).collect::<Vec<_>>() })
}

/// Whether nothing failed.
#[must_use]
pub fn is_well(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.health != Health::Failed)
}

#[cfg(test)]
mod tests;
