//! Converts `sandbox`. Airlock's sandbox is always on, so few of these settings apply; the others
//! are reported.

use serde_json::{Map, Value};

use super::draft::{Draft, Entry, texts, unknown};
use super::{command, network, permissions};
use crate::decision::Verdict;

const KNOWN: &[&str] = &[
    "enabled",
    "autoAllowBashIfSandboxed",
    "excludedCommands",
    "allowUnsandboxedCommands",
    "network",
    "filesystem",
];

pub(super) fn read(draft: &mut Draft, sandbox: &Map<String, Value>) {
    auto_allow(draft, sandbox);
    for (place, value, text) in texts(draft, "sandbox.excludedCommands", sandbox.get("excludedCommands")) {
        match command::first_words(text) {
            Ok(words) => draft.excluded.push(Entry { value: words, from: format!("{place}: {value}") }),
            Err(why) => draft.leave_out(&place, value, why),
        }
    }
    match sandbox.get("allowUnsandboxedCommands") {
        None => {}
        Some(Value::Bool(value)) => {
            let from = format!("sandbox.allowUnsandboxedCommands: {value}");
            draft.allow_unsandboxed = Some(Entry { value: *value, from });
        }
        Some(other) => {
            draft.leave_out("sandbox.allowUnsandboxedCommands", other, "the value is not `true` or `false`");
        }
    }
    match sandbox.get("network") {
        None => {}
        Some(Value::Object(object)) => network::read(draft, object),
        Some(other) => draft.leave_out("sandbox.network", other, "the value is not an object"),
    }
    match sandbox.get("filesystem") {
        None => {}
        Some(Value::Object(object)) => filesystem(draft, object),
        Some(other) => draft.leave_out("sandbox.filesystem", other, "the value is not an object"),
    }
    for (key, value) in unknown(sandbox, KNOWN) {
        draft.leave_out(&format!("sandbox.{key}"), value, "Airlock has no equivalent setting");
    }
}

/// Sets whether sandboxed commands run without asking, which is the default of the settings.
fn auto_allow(draft: &mut Draft, sandbox: &Map<String, Value>) {
    let enabled = sandbox.get("enabled");
    let auto = sandbox.get("autoAllowBashIfSandboxed");
    for (key, value) in [("enabled", enabled), ("autoAllowBashIfSandboxed", auto)] {
        if let Some(value) = value.filter(|value| !value.is_boolean()) {
            draft.leave_out(&format!("sandbox.{key}"), value, "the value is not `true` or `false`");
        }
    }
    match (enabled, auto) {
        (Some(Value::Bool(true)), auto) => {
            let value = auto.is_none_or(|auto| auto == &Value::Bool(true));
            let from = match auto {
                Some(auto) => format!("sandbox.enabled: true, sandbox.autoAllowBashIfSandboxed: {auto}"),
                None => "sandbox.enabled: true, and sandbox.autoAllowBashIfSandboxed is not false".to_owned(),
            };
            draft.auto_allow = Some(Entry { value, from });
        }
        (enabled, auto) => {
            if let Some(Value::Bool(false)) = enabled {
                draft.leave_out(
                    "sandbox.enabled",
                    &Value::Bool(false),
                    "Airlock runs every command in the sandbox",
                );
            }
            if let Some(Value::Bool(true)) = auto {
                let why = "without `sandbox.enabled` the setting has no effect";
                draft.leave_out("sandbox.autoAllowBashIfSandboxed", &Value::Bool(true), why);
            }
        }
    }
}

fn filesystem(draft: &mut Draft, object: &Map<String, Value>) {
    for (key, tool) in [("denyRead", "Read"), ("denyWrite", "Edit")] {
        for (place, value, text) in texts(draft, &format!("sandbox.filesystem.{key}"), object.get(key)) {
            draft.carry(Verdict::Deny, &place, value, permissions::of_sandbox(tool, text));
        }
    }
    for (key, value) in unknown(object, &["denyRead", "denyWrite"]) {
        let why =
            "commands can write the workspace, HOME and /tmp; `sandbox.root_binds` lists other visible paths";
        draft.leave_out(&format!("sandbox.filesystem.{key}"), value, why);
    }
}
