//! Converts `permissions`: rules, the mode and additional directories.

use serde_json::{Map, Value};

use super::draft::{Draft, Entry, ImportedRule, texts, unknown};
use super::{command, network};
use crate::decision::Verdict;
use crate::profile::breadth::lifted;
use crate::rules::{Rule, Tool};
use crate::tables::names::protected_names;

const KNOWN: &[&str] =
    &["allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"];

pub(super) fn read(draft: &mut Draft, permissions: &Map<String, Value>) {
    for (key, verdict) in [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)] {
        for (place, value, text) in texts(draft, &format!("permissions.{key}"), permissions.get(key)) {
            if !network::of_rule(draft, verdict, &place, value, text) {
                draft.carry(verdict, &place, value, rule(text, verdict));
            }
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
            "the only valid value is \"disable\"",
        );
    }
    for (key, value) in unknown(permissions, KNOWN) {
        draft.leave_out(&format!("permissions.{key}"), value, "Airlock has no equivalent setting");
    }
}

/// Converts one rule, or returns the reason why it cannot be converted.
fn rule(text: &str, verdict: Verdict) -> Result<Vec<String>, String> {
    let text = text.trim();
    let (tool, body) = match text.split_once('(') {
        Some((tool, rest)) => {
            let body = rest.strip_suffix(')').ok_or("the rule has no closing parenthesis")?;
            (tool.trim(), Some(body.trim()).filter(|body| !body.is_empty()))
        }
        None => (text, None),
    };
    let rules = match tool {
        "Bash" | "PowerShell" => command::rules(tool, body, verdict)?,
        "Read" => path_rules("Read", body, verdict)?,
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => path_rules("Edit", body, verdict)?,
        "WebFetch" | "WebSearch" => {
            return Err("the rule is about a tool of the agent, and names no host for commands".to_owned());
        }
        name if name.starts_with("mcp__") => {
            return Err("Airlock does not control the tools of MCP servers".to_owned());
        }
        "" => return Err("the rule contains no tool".to_owned()),
        _ => return Err("the rule is about a tool of the agent, not about a command".to_owned()),
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
            let why = "a profile requires an absolute path without `..`, as seen in the sandbox";
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
            let why =
                "Airlock has no such mode; the `on_ask` of a request determines whether a person is asked";
            return draft.leave_out(place, value, why);
        }
        Some("auto") => {
            return draft.leave_out(place, value, "Airlock never decides by a model; the mode is `default`");
        }
        _ => return draft.leave_out(place, value, "Airlock does not know this mode"),
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
            let why = "`permissions.disableBypassPermissionsMode` disables this mode; the mode is `default`";
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
    let Some(from) = lifting.map(|carried| format!("protected names that {} does not contain", carried.from))
    else {
        return;
    };
    draft.rules.extend(protected_names().map(|name| ImportedRule {
        verdict: Verdict::Ask,
        rule: format!("Edit({name})"),
        from: from.clone(),
    }));
}

/// Returns the rules for `tool`, which is `Read` or `Edit`.
fn path_rules(tool: &str, body: Option<&str>, verdict: Verdict) -> Result<Vec<String>, String> {
    let Some(glob) = body else {
        // All paths; but an allow rule for edits covers the workspace only.
        let inside = tool == "Edit" && verdict == Verdict::Allow;
        return Ok(vec![if inside { format!("{tool}(/**)") } else { format!("{tool}(//**)") }]);
    };
    check_path(glob)?;
    Ok(vec![format!("{tool}({glob})")])
}

/// Converts a path of `sandbox.filesystem`, in which a single `/` starts an absolute path.
pub(super) fn of_sandbox(tool: &str, glob: &str) -> Result<Vec<String>, String> {
    check_path(glob)?;
    let absolute = glob.starts_with('/') && !glob.starts_with("//");
    Ok(vec![if absolute { format!("{tool}(/{glob})") } else { format!("{tool}({glob})") }])
}

fn check_path(glob: &str) -> Result<(), String> {
    if glob.trim().is_empty() {
        return Err("the path is empty".to_owned());
    }
    if glob.starts_with('!') {
        return Err("Airlock does not support exceptions with `!`".to_owned());
    }
    if glob.split('/').any(|part| part == "..") {
        return Err(
            "the path leaves the workspace by `..`; write an absolute path that starts with `//`".to_owned()
        );
    }
    if glob.contains(":\\") || glob.contains("\\\\") {
        return Err("the path is a Windows path".to_owned());
    }
    if glob.starts_with('~') && !glob.starts_with("~/") {
        return Err("Airlock supports only `~/`, the session's HOME".to_owned());
    }
    Ok(())
}
