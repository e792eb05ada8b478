//! From the `settings.json` of Claude Code to a profile: `permissions` and `sandbox`. What
//! has no equal here is not bent until it fits: it is told, with the reason. It opens no
//! file, and answers for any text.

mod command;
mod path;
mod permissions;
mod sandbox;
mod write;

use serde_json::{Map, Value};

use crate::decision::Verdict;
use crate::profile::{Profile, ProfileError};

/// A profile, and what it does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The profile's TOML. It loads.
    pub toml: String,
    /// What was not carried over, in the order of the settings.
    pub left_out: Vec<LeftOut>,
}

/// An entry of the settings that was not carried over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its place, such as `permissions.allow[2]`.
    pub place: String,
    /// What it says, as JSON.
    pub value: String,
    /// Why, and what to do instead where there is something.
    pub why: String,
}

/// Why nothing could be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The text is not JSON.
    #[error("{line}:{column}: it is not JSON: {what}; name a settings.json")]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser said.
        what: String,
    },
    /// The text is JSON, and no object.
    #[error("it is no JSON object; name a settings.json")]
    NoObject,
    /// The profile would not load, as with more rules than the limit.
    #[error("the profile that it makes does not load: {0}")]
    Profile(#[from] ProfileError),
}

/// What is collected for the profile.
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

/// A value of the profile, and where in the settings it comes from.
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

    /// Carries a rule over in one or several of Airlock's.
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

/// Reads settings and makes a profile called `name` of them. `source` is what its
/// comments call the settings.
///
/// # Errors
///
/// A text that is no JSON object, and settings of which no profile can be made.
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

/// Why a key beside `permissions` and `sandbox` has no place in a profile's rules.
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

/// Such values may be long, and may hold what is nobody's business.
fn brief(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(object.keys().map(|key| (key.clone(), Value::Null)).collect()),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::String(_) => Value::String("...".to_owned()),
        other => other.clone(),
    }
}

/// The keys of an object that are not `known`.
fn unknown<'a>(
    object: &'a Map<String, Value>,
    known: &'a [&str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.iter().filter(|(key, _)| !known.contains(&key.as_str()))
}

/// The texts of a list with their places; all else is left out.
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
