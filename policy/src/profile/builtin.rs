//! The built-in profiles, and which rules are too broad for any profile.

use super::Profile;
use crate::decision::PolicyVersion;
use crate::request::Mode;
use crate::rules::{Rule, Rules, Tool, matching::Piece};
use crate::tables::names::protected_names;

pub(super) const NAMES: &[&str] = &["strict", "sandboxed", "demo", "read_only"];

/// Programs that run whatever they are told: a prefix rule for one allows everything.
const RUN_ANYTHING: &[&str] = &[
    "sh", "bash", "zsh", "fish", "env", "sudo", "doas", "xargs", "eval", "exec", "python", "python3", "node",
    "deno", "tsx", "ruby", "perl", "php", "lua", "npx", "bunx", "ssh", "find", "awk", "sed",
];

pub(super) fn profile(name: &str) -> Option<Profile> {
    let strict = blank("strict", "what is proven read-only or allowed by a rule runs, the rest asks");
    let profile = match name {
        "strict" => strict,
        "sandboxed" => sandboxed(strict),
        "demo" => demo(sandboxed(strict)),
        "read_only" => Profile {
            name: "read_only".to_owned(),
            description: "only what is proven read-only runs".to_owned(),
            modes: vec![Mode::Plan],
            default_mode: Mode::Plan,
            ..strict
        },
        _ => return None,
    };
    Some(profile.seal())
}

fn sandboxed(base: Profile) -> Profile {
    Profile {
        name: "sandboxed".to_owned(),
        description: "as strict, and what is sandboxed runs without asking".to_owned(),
        modes: vec![Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Plan],
        auto_allow: true,
        ..base
    }
}

fn demo(base: Profile) -> Profile {
    let none: &[&str] = &[];
    Profile {
        name: "demo".to_owned(),
        description: "as sandboxed, with a rule that denies and one that asks".to_owned(),
        rules: Rules::parse(none, &["Bash(make:*)"], &["Bash(git push:*)"]).unwrap_or_default(),
        ..base
    }
}

/// A profile without rules that permits every mode but `bypass`.
pub(super) fn blank(name: &str, description: &str) -> Profile {
    Profile {
        name: name.to_owned(),
        description: description.to_owned(),
        modes: vec![Mode::AcceptEdits, Mode::Default, Mode::Plan],
        default_mode: Mode::Default,
        rules: Rules::default(),
        shadow: Rules::default(),
        auto_allow: false,
        allow_unsandboxed: false,
        unsandboxed_without_asking: false,
        excluded_commands: Vec::new(),
        additional_directories: Vec::new(),
        warnings: Vec::new(),
        version: PolicyVersion([0; 32]),
    }
}

/// Whether a prefix rule for this program would allow everything.
pub(crate) fn runs_anything(program: &[u8]) -> bool {
    RUN_ANYTHING.iter().any(|name| name.as_bytes() == program) || program.starts_with(b"python")
}

/// Remarks on allow rules that let more happen than they seem to.
pub(super) fn over_broad(rules: &Rules) -> Vec<String> {
    rules
        .allow
        .iter()
        .filter_map(|rule| match rule.tool() {
            Tool::Bash | Tool::PowerShell if is_over_broad(rule) => {
                Some(format!("the allow rule `{}` lets the program run anything", rule.text()))
            }
            Tool::Edit => lifted(rule).map(|name| {
                format!("the allow rule `{}` also covers `{name}`, which is protected else", rule.text())
            }),
            _ => None,
        })
        .collect()
}

fn is_over_broad(rule: &Rule) -> bool {
    let Some(pattern) = rule.words() else {
        return false;
    };
    match pattern.pieces() {
        [] | [Piece::AnyWords, ..] => true,
        [Piece::Word(program), rest @ ..] => {
            let literal: Vec<u8> = program.iter().copied().flatten().collect();
            let name = literal.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            let wild = literal.len() < program.len();
            (wild || runs_anything(name)) && rest.contains(&Piece::AnyWords)
        }
    }
}

/// A protected name that the rule covers and does not name.
pub(crate) fn lifted(rule: &Rule) -> Option<&'static str> {
    protected_names().find(|name| {
        let covers = |path: &str| {
            rule.path().is_some_and(|pattern| pattern.matches(path, "/workspace", "/home/agent"))
        };
        let named = rule.text().contains(name);
        !named && (covers(&format!("/workspace/{name}")) || covers(&format!("/workspace/sub/{name}")))
    })
}
