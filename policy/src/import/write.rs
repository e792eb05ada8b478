//! Writes the profile as TOML. Each entry has a comment with its origin.

use std::fmt::Write as _;

use super::draft::{Draft, Entry};
use crate::decision::Verdict;

pub(super) fn profile(draft: &Draft, source: &str, name: &str) -> String {
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
