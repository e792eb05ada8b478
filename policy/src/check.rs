//! The pure part of `airlock check`: converts an input line to an output line, and formats a
//! decision. It prints nothing and opens no file.

mod render;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::decision::{Decision, Verdict};
use crate::profile::Profile;
use crate::request::{Mode, Request, Shell};
use crate::rules::Rules;

pub use render::{Style, render};

/// One line of `airlock check --jsonl`.
#[derive(Deserialize)]
struct Line {
    command: String,
    shell: Option<Shell>,
    rules: Option<LineRules>,
    cwd: Option<String>,
    mode: Option<Mode>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct LineRules {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// Returns the output line for an input line, without a line feed. For an invalid line, the output
/// has `error` and the decision `ask`.
#[must_use]
pub fn answer_line(line: &str, profile: &Profile) -> String {
    match answer(line, profile) {
        Ok(text) => text,
        Err(error) => json!({ "decision": "ask", "error": error }).to_string(),
    }
}

fn answer(line: &str, profile: &Profile) -> Result<String, String> {
    let input: Line =
        serde_json::from_str(line).map_err(|error| format!("the line is not a valid request: {error}"))?;
    let rules = match &input.rules {
        Some(rules) => {
            Some(Rules::parse(&rules.allow, &rules.ask, &rules.deny).map_err(|error| error.to_string())?)
        }
        None => None,
    };
    let env = input.env.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    let decision = crate::decide(
        &Request {
            shell: input.shell.unwrap_or(Shell::Bash),
            cwd: input.cwd.as_deref(),
            mode: input.mode,
            extra_rules: rules.as_ref(),
            env: Some(&env),
            ..Request::bash(input.command.as_bytes())
        },
        profile,
    );
    serde_json::to_string(&decision).map_err(|error| format!("the answer cannot be written as JSON: {error}"))
}

/// Returns the exit code of `airlock check` for one command: 0 for allow, 10 for ask, 11 for deny.
#[must_use]
pub fn exit_code(decision: &Decision) -> u8 {
    match decision.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
    }
}

#[cfg(test)]
mod tests;
