//! Converts the `settings.json` of Claude Code to a profile: `permissions` and `sandbox`. A setting
//! without an exact equivalent is not approximated but reported with the reason. This module opens
//! no file and accepts every text.

mod command;
mod path;
mod permissions;
mod sandbox;
mod write;

use serde_json::{Map, Value};

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

/// A setting that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its position, such as `permissions.allow[2]`.
    pub place: String,
    /// Its value as JSON.
    pub value: String,
    /// The reason, and an alternative if there is one.
    pub why: String,
}

/// The reason why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON.
    #[error("{line}:{column}: it is not JSON: {what}; name a settings.json")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// The parser's message.
        what: String,
    },
    /// The text is JSON but not an object.
    #[error("it is no JSON object; name a settings.json")]
    NoObject,
    /// The resulting profile is invalid, for example because it has too many rules.
    #[error("the profile that it makes does not load: {0}")]
    Profile(#[from] ProfileError),
}

/// The contents of the profile so far.
#[derive(Debug, Default)]
struct Draft {
    rules: Vec<Carried>,
    modes: Vec<&'static str>,
    default_mode: Option<Entry<&'static str>>,
    auto_allow: Option<Entry<bool>>,
    allow_unsandboxed: Option<Entry<bool>>,
    excluded: Vec<Entry<String>>,
    directories: Vec<Entry<String>>,
    left_out: Vec<LeftOut>,
}

/// A value of the profile, and the setting that it comes from.
#[derive(Debug)]
struct Entry<T> {
    value: T,
    from: String,
}

/// A rule of the profile.
#[derive(Debug)]
struct Carried {
    verdict: Verdict,
    rule: String,
    from: String,
}

impl Draft {
    fn leave_out(&mut self, place: &str, value: &Value, why: impl Into<String>) {
        self.left_out.push(LeftOut { place: place.to_owned(), value: value.to_string(), why: why.into() });
    }

    /// Adds the Airlock rules for one rule of the settings.
    fn carry(&mut self, verdict: Verdict, place: &str, value: &Value, rules: Result<Vec<String>, String>) {
        let from = format!("{place}: {value}");
        match rules {
            Ok(rules) => {
                let carried = rules.into_iter().map(|rule| Carried { verdict, rule, from: from.clone() });
                self.rules.extend(carried);
            }
            Err(why) => self.leave_out(place, value, why),
        }
    }
}

/// Reads settings and converts them to a profile named `name`. Comments in the profile refer to the
/// settings as `source`.
///
/// # Errors
///
/// Fails if the text is not a JSON object, or if no valid profile results.
pub fn import(text: &str, source: &str, name: &str) -> Result<Imported, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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
            ("permissions" | "sandbox", other) => draft.leave_out(key, other, "it is no object"),
            ("$schema", _) => {}
            (other, value) => draft.leave_out(other, &brief(value), elsewhere(other)),
        }
    }
    permissions::settle(&mut draft, &settings);
    let toml = write::profile(&draft, source, name);
    Profile::from_toml(&toml, &format!("{name}.toml"), &|_| None)?;
    Ok(Imported { toml, left_out: draft.left_out })
}

/// Returns the reason why a key other than `permissions` and `sandbox` is not converted.
fn elsewhere(key: &str) -> &'static str {
    match key {
        "hooks" => "the agent's hooks are its own; they do not run in Airlock",
        "env" => "variables of commands are set in the profile's `[env]`, and may hold secrets; copy by hand",
        "mcpServers" | "enableAllProjectMcpServers" | "enabledMcpjsonServers" | "disabledMcpjsonServers" => {
            "tools of MCP servers do not go through Airlock"
        }
        _ => "it says nothing of what commands may do",
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

/// Returns the keys of an object that are not in `known`.
fn unknown<'a>(
    object: &'a Map<String, Value>,
    known: &'a [&str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.iter().filter(|(key, _)| !known.contains(&key.as_str()))
}

/// Returns the strings of a list with their positions. Other elements are reported as left out.
fn texts<'a>(draft: &mut Draft, place: &str, value: Option<&'a Value>) -> Vec<(String, &'a Value, &'a str)> {
    let list = match value {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            draft.leave_out(place, other, "it is no list");
            return Vec::new();
        }
    };
    let mut texts = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let place = format!("{place}[{index}]");
        match item.as_str() {
            Some(text) => texts.push((place, item, text)),
            None => draft.leave_out(&place, item, "it is no text"),
        }
    }
    texts
}

#[cfg(test)]
mod tests;
