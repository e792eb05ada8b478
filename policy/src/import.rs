//! Converts the `settings.json` of Claude Code to a profile: `permissions` and `sandbox`. A setting
//! without an exact equivalent is not approximated but reported with the reason. This module opens
//! no file and accepts every text.

mod command;
mod draft;
mod permissions;
mod sandbox;
mod write;

pub use draft::LeftOut;

use serde_json::Value;

use draft::Draft;

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
    let toml = write::profile(&draft, source, name);
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

#[cfg(test)]
mod tests;
