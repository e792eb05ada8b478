//! What stands between a host and commands that run on it: looked at one by one, each with a cure.
//!
//! Changes nothing that outlives it, registers nowhere, and says only what it has seen.

mod configured;
mod host;
mod reach;

use std::fmt::Write as _;

use airlock_sandbox::{Check, State};
use serde::Serialize;
use serde_json::{Value, json};

pub use configured::configured;
pub use host::{Probe, host};
pub use reach::{Target, Trust, reach};

/// How something is shown that commands need and that is not there.
const FAILED: &str = "failed";
/// What is lost while something does not work that every command needs.
const NO_COMMAND: &str = "no command runs before";

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub name: String,
    /// How much of it is there.
    pub state: State,
    /// Whether commands cannot run without it.
    pub needed: bool,
    /// What was seen, in one line.
    pub seen: String,
    /// What is lost without it; empty where nothing is.
    pub lost: String,
    /// What to do; empty where there is nothing to do.
    pub cure: String,
}

impl Finding {
    /// Something that is as it should be.
    #[must_use]
    pub fn ok(name: &str, seen: impl AsRef<str>) -> Self {
        Self::new(name, State::Ok, [seen.as_ref(), "", ""])
    }

    /// Something that works, with something to know, and what to do about it.
    #[must_use]
    pub fn degraded(name: &str, seen: impl AsRef<str>, lost: &str, cure: impl AsRef<str>) -> Self {
        Self::new(name, State::Degraded, [seen.as_ref(), lost, cure.as_ref()])
    }

    /// Something that is needed and does not work, and what to do about it.
    #[must_use]
    pub fn failed(name: &str, seen: impl AsRef<str>, cure: impl AsRef<str>) -> Self {
        Self { needed: true, ..Self::new(name, State::Missing, [seen.as_ref(), NO_COMMAND, cure.as_ref()]) }
    }

    /// What a sandbox's probe saw, and whether commands may run without it.
    #[must_use]
    pub fn of(check: &Check, needed: bool) -> Self {
        let Check { name, state, seen, lost, cure } = check;
        Self { needed, ..Self::new(name, *state, [seen, lost, cure]) }
    }

    fn new(name: &str, state: State, [seen, lost, cure]: [&str; 3]) -> Self {
        Self { name: line(name), state, needed: false, seen: line(seen), lost: line(lost), cure: line(cure) }
    }

    /// Whether it keeps commands from running.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.needed && self.state != State::Ok
    }

    fn shown(&self) -> &'static str {
        if self.is_failure() { FAILED } else { self.state.as_str() }
    }
}

/// One line without controls: some of it was said by other hosts.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// For people: a line each, what is lost and its cure below it, and how many there are of which.
#[must_use]
pub fn render(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let Finding { name, seen, lost, cure, .. } = finding;
        // Writing to a text does not fail.
        let _ = writeln!(text, "{:<8} {name:<width$}  {seen}", finding.shown());
        for (mark, said) in [("lost:", lost), ("->", cure)] {
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

/// For programs: `{"ok": bool, "checks": [{"name", "state", "needed", "seen", "lost", "cure"}]}`, where state is
/// `ok`, `degraded` or `missing`.
#[must_use]
pub fn to_json(findings: &[Finding]) -> Value {
    json!({ "ok": is_well(findings), "checks": findings })
}

/// Whether nothing is missing that commands need.
#[must_use]
pub fn is_well(findings: &[Finding]) -> bool {
    !findings.iter().any(Finding::is_failure)
}

#[cfg(test)]
mod tests;
