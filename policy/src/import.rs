//! Converts the `settings.json` of Claude Code to a profile (`permissions` and `sandbox`), or a `.rules` file of Codex. A
//! setting without an exact equivalent is not approximated but reported with the reason. This module opens
//! no file and accepts every text.

mod codex;
mod command;
mod draft;
mod network;
mod permissions;
mod sandbox;

pub use draft::LeftOut;

use std::fmt::Write as _;

use serde_json::Value;

use draft::{Draft, Entry};

use crate::decision::Verdict;
use crate::profile::{Profile, ProfileError};

/// A profile, and the settings that it does not contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The profile as TOML. It is a valid profile.
    pub toml: String,
    /// The settings that were not converted, in their order.
    pub left_out: Vec<LeftOut>,
}

/// The reason why the import failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON.
    #[error("{line}:{column}: the file is not valid JSON: {what}; name a `settings.json`")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The parser's message.
        what: String,
    },
    /// The text is JSON but not an object.
    #[error("the file is not a JSON object; name a `settings.json`")]
    NoObject,
    /// The resulting profile is invalid, for example because it has too many rules.
    #[error("the resulting profile is invalid: {0}")]
    Profile(#[from] ProfileError),
}

/// Reads settings and converts them to a profile named `name`. Comments in the profile refer to the
/// settings as `source`.
///
/// # Errors
///
/// Fails if the text is not a JSON object, or if no valid profile results.
pub fn import(text: &str, source: &str, name: &str) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') && codex::is_rules(text) {
        let mut draft = Draft::default();
        codex::read(&mut draft, text);
        return finish(draft, source, name);
    }
    let value: Value = serde_json::from_str(text).map_err(|error| ImportError::Json {
        line: error.line(),
        column: error.column(),
        what: error.to_string(),
    })?;
    let Value::Object(settings) = value else {
        return Err(ImportError::NoObject);
    };
    let mut draft = Draft::default();
    for (key, value) in &settings {
        match (key.as_str(), value) {
            ("permissions", Value::Object(object)) => permissions::read(&mut draft, object),
            ("sandbox", Value::Object(object)) => sandbox::read(&mut draft, object),
            ("permissions" | "sandbox", other) => draft.leave_out(key, other, "the value is not an object"),
            ("$schema", _) => {}
            (other, value) => draft.leave_out(other, &brief(value), elsewhere(other)),
        }
    }
    permissions::settle(&mut draft, &settings);
    finish(draft, source, name)
}

fn finish(draft: Draft, source: &str, name: &str) -> Result<Imported, ImportError> {
    let toml = write_profile(&draft, source, name);
    Profile::from_toml(&toml, &format!("{name}.toml"), &|_| None)?;
    Ok(Imported { toml, left_out: draft.left_out })
}

/// Returns the reason why a key other than `permissions` and `sandbox` is not converted.
fn elsewhere(key: &str) -> &'static str {
    match key {
        "hooks" => "Airlock does not run the agent's hooks",
        "env" => "copy the variables by hand into the profile's `[env]`; they may contain secrets",
        "mcpServers" | "enableAllProjectMcpServers" | "enabledMcpjsonServers" | "disabledMcpjsonServers" => {
            "Airlock does not control the tools of MCP servers"
        }
        _ => "the setting does not affect the permissions of commands",
    }
}

/// Shortens a value that may be long or secret.
fn brief(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(object.keys().map(|key| (key.clone(), Value::Null)).collect()),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::String(_) => Value::String("...".to_owned()),
        other => other.clone(),
    }
}

fn write_profile(draft: &Draft, source: &str, name: &str) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# Created by `airlock policy import` from {}.", comment(source));
    if !draft.left_out.is_empty() {
        let _ = writeln!(out, "#\n# Not imported:");
        for one in &draft.left_out {
            let _ = writeln!(out, "#   {}: {}", comment(&format!("{}: {}", one.place, one.value)), one.why);
        }
    }
    let _ = writeln!(out, "name = {}", quoted(name));
    let _ = writeln!(out, "extends = \"strict\"");
    let _ = writeln!(out, "description = {}", quoted(&format!("imported from {source}")));
    let _ = writeln!(out, "\n[policy]");
    let modes: Vec<String> = draft.modes.iter().map(|mode| quoted(mode)).collect();
    let _ = writeln!(out, "modes = [{}]", modes.join(", "));
    let mode =
        draft.default_mode.as_ref().map(|mode| Entry { value: quoted(mode.value), from: mode.from.clone() });
    entry(&mut out, "default_mode", mode.as_ref());
    entry(&mut out, "auto_allow_if_sandboxed", draft.auto_allow.as_ref());
    entry(&mut out, "allow_unsandboxed", draft.allow_unsandboxed.as_ref());
    excluded(&mut out, draft);
    let directories = draft.directories.iter().map(|entry| (entry.value.as_str(), entry.from.as_str()));
    list(&mut out, "additional_directories", directories);
    for (key, verdict) in [("deny", Verdict::Deny), ("ask", Verdict::Ask), ("allow", Verdict::Allow)] {
        let rules = draft.rules.iter().filter(|carried| carried.verdict == verdict);
        list(&mut out, key, rules.map(|carried| (carried.rule.as_str(), carried.from.as_str())));
    }
    let network = [("allow", &draft.network.allow), ("deny", &draft.network.deny)];
    if network.iter().any(|(_, entries)| !entries.is_empty()) {
        let _ = writeln!(out, "\n[network]");
    }
    for (key, entries) in network {
        list(&mut out, key, entries.iter().map(|entry| (entry.value.as_str(), entry.from.as_str())));
    }
    out
}

/// Writes the excluded commands. In the settings, the name alone lets such a command run outside the sandbox. In
/// Airlock, the profile and the runner must permit it too.
fn excluded(out: &mut String, draft: &Draft) {
    let permitted = draft.allow_unsandboxed.as_ref().is_some_and(|entry| entry.value);
    if !draft.excluded.is_empty() && !permitted {
        let _ = writeln!(out, "# Without `allow_unsandboxed = true`, these commands run in the sandbox.");
    }
    let items = draft.excluded.iter().map(|entry| (entry.value.as_str(), entry.from.as_str()));
    list(out, "excluded_commands", items);
}

fn entry<T: std::fmt::Display>(out: &mut String, key: &str, entry: Option<&Entry<T>>) {
    if let Some(Entry { value, from }) = entry {
        let _ = writeln!(out, "{key} = {value}  # {}", comment(from));
    }
}

fn list<'a>(out: &mut String, key: &str, items: impl Iterator<Item = (&'a str, &'a str)>) {
    let lines: Vec<String> =
        items.map(|(value, from)| format!("  {},  # {}\n", quoted(value), comment(from))).collect();
    if !lines.is_empty() {
        let _ = writeln!(out, "{key} = [\n{}]", lines.concat());
    }
}

/// Formats a TOML string on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if airlock_escape::hides(c) => {
                let _ = match u32::from(c) {
                    code @ ..=0xffff => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Escapes a text so that it stays within its comment.
fn comment(text: &str) -> String {
    airlock_escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests;
