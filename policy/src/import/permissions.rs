//! Converts `permissions`: rules, the mode and additional directories.

use serde_json::{Map, Value};

use super::draft::{Carried, Draft, Entry, texts, unknown};
use super::{command, path};
use crate::decision::Verdict;
use crate::profile::breadth::lifted;
use crate::rules::{Rule, Tool};
use crate::tables::names::protected_names;

const KNOWN: &[&str] =
    &["allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"];

pub(super) fn read(draft: &mut Draft, permissions: &Map<String, Value>) {
    for (key, verdict) in [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)] {
        for (place, value, text) in texts(draft, &format!("permissions.{key}"), permissions.get(key)) {
            draft.carry(verdict, &place, value, rule(text, verdict));
        }
    }
    directories(draft, permissions.get("additionalDirectories"));
    mode(draft, permissions.get("defaultMode"));
    if let Some(value) = permissions.get("disableBypassPermissionsMode")
        && value.as_str() != Some("disable")
    {
        draft.leave_out(
            "permissions.disableBypassPermissionsMode",
            value,
            "only \"disable\" means something",
        );
    }
    for (key, value) in unknown(permissions, KNOWN) {
        draft.leave_out(&format!("permissions.{key}"), value, "Airlock has nothing like it");
    }
}

/// Converts one rule, or returns the reason why it cannot be converted.
fn rule(text: &str, verdict: Verdict) -> Result<Vec<String>, String> {
    let text = text.trim();
    let (tool, body) = match text.split_once('(') {
        Some((tool, rest)) => {
            let body = rest.strip_suffix(')').ok_or("it is no rule: the bracket does not close")?;
            (tool.trim(), Some(body.trim()).filter(|body| !body.is_empty()))
        }
        None => (text, None),
    };
    let rules = match tool {
        "Bash" | "PowerShell" => command::rules(tool, body, verdict)?,
        "Read" => path::rules("Read", body, verdict)?,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => path::rules("Edit", body, verdict)?,
        "WebFetch" | "WebSearch" => {
            return Err("it is a tool of the agent; commands have an empty network".to_owned());
        }
        name if name.starts_with("mcp__") => {
            return Err("tools of MCP servers do not go through Airlock".to_owned());
        }
        "" => return Err("it names no tool".to_owned()),
        _ => return Err("it is a tool of the agent, and no command".to_owned()),
    };
    for rule in &rules {
        Rule::parse(rule).map_err(|error| error.to_string())?;
    }
    Ok(rules)
}

fn directories(draft: &mut Draft, value: Option<&Value>) {
    for (place, value, text) in texts(draft, "permissions.additionalDirectories", value) {
        let inside = text.split('/').all(|part| part != "..");
        if text.starts_with('/') && inside {
            draft.directories.push(Entry { value: text.to_owned(), from: format!("{place}: {value}") });
        } else {
            let why = "a profile knows absolute folders without `..`, as the sandbox sees them";
            draft.leave_out(&place, value, why);
        }
    }
}

fn mode(draft: &mut Draft, value: Option<&Value>) {
    let Some(value) = value else { return };
    let place = "permissions.defaultMode";
    let mode = match value.as_str() {
        Some("default") => "default",
        Some("acceptEdits") => "accept_edits",
        Some("plan") => "plan",
        Some("bypassPermissions") => "bypass",
        Some("dontAsk") => {
            let why = "there is no such mode; a request's `on_ask` says whether anybody is asked at all";
            return draft.leave_out(place, value, why);
        }
        Some("auto") => return draft.leave_out(place, value, "no model decides here; the mode is `default`"),
        _ => return draft.leave_out(place, value, "it is no mode that Airlock knows"),
    };
    draft.default_mode = Some(Entry { value: mode, from: format!("{place}: {value}") });
}

/// Sets the values that depend on several entries: the modes and the protected names.
pub(super) fn settle(draft: &mut Draft, settings: &Map<String, Value>) {
    let disabled = settings
        .get("permissions")
        .and_then(|permissions| permissions.get("disableBypassPermissionsMode"))
        .and_then(Value::as_str)
        == Some("disable");
    draft.modes = vec!["accept_edits", "default", "plan"];
    if draft.default_mode.as_ref().is_some_and(|mode| mode.value == "bypass") {
        if disabled {
            draft.default_mode = None;
            let why = "`permissions.disableBypassPermissionsMode` takes it back; the mode is `default`";
            draft.leave_out("permissions.defaultMode", &Value::from("bypassPermissions"), why);
        } else {
            draft.modes.insert(0, "bypass");
        }
    }
    protect(draft);
}

/// Adds ask rules for all protected names if an allow rule for edits covers one of them without
/// naming it.
fn protect(draft: &mut Draft) {
    let lifting = draft.rules.iter().find(|carried| {
        carried.verdict == Verdict::Allow
            && Rule::parse(&carried.rule)
                .is_ok_and(|rule| rule.tool() == Tool::Edit && lifted(&rule).is_some())
    });
    let Some(from) = lifting.map(|carried| format!("what {} does not lift", carried.from)) else { return };
    draft.rules.extend(protected_names().map(|name| Carried {
        verdict: Verdict::Ask,
        rule: format!("Edit({name})"),
        from: from.clone(),
    }));
}
