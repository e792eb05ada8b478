//! The built-in profiles, and the rules that are too broad for any profile.

use super::Profile;
use crate::decision::PolicyVersion;
use crate::launch::base_name;
use crate::request::Mode;
use crate::rules::{Rule, Rules, Tool, matching::Piece};
use crate::tables::interpreters::interpreter;
use crate::tables::names::protected_names;
use crate::tables::{self, Launcher};

pub(super) const NAMES: &[&str] = &["strict", "agent", "sandboxed", "demo", "read_only"];

pub(super) fn profile(name: &str) -> Option<Profile> {
    let strict = blank("strict", "what is proven read-only or allowed by a rule runs, the rest asks");
    let profile = match name {
        "strict" => strict,
        "agent" => Profile {
            name: "agent".to_owned(),
            description: "what stays inside the sandbox runs, but for what destroys a person's work"
                .to_owned(),
            allow_confined: true,
            ..strict
        },
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

/// Returns a profile without rules that permits every mode except `bypass`.
pub(super) fn blank(name: &str, description: &str) -> Profile {
    Profile {
        name: name.to_owned(),
        description: description.to_owned(),
        modes: vec![Mode::AcceptEdits, Mode::Default, Mode::Plan],
        default_mode: Mode::Default,
        rules: Rules::default(),
        shadow: Rules::default(),
        auto_allow: false,
        allow_confined: false,
        allow_unsandboxed: false,
        unsandboxed_without_asking: false,
        excluded_commands: Vec::new(),
        additional_directories: Vec::new(),
        readable_roots: Vec::new(),
        warnings: Vec::new(),
        version: PolicyVersion([0; 32]),
    }
}

/// Reports whether a prefix rule for this program would allow everything: it runs commands from its arguments, or
/// text in a programming language.
pub(crate) fn runs_anything(program: &[u8]) -> bool {
    let launches = tables::launcher(&[program]).is_some_and(Launcher::is_told);
    launches || interpreter(program).is_some_and(|language| !language.texts.is_empty())
}

/// Returns warnings about allow rules that permit more than they seem to.
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
    let pieces = rule.words().map_or(&[][..], |pattern| pattern.pieces());
    let open = pieces.contains(&Piece::AnyWords);
    let Some(Piece::Word(program)) = pieces.first() else {
        return rule.words().is_some();
    };
    let named: Vec<Vec<u8>> = pieces.iter().map_while(Piece::literal).collect();
    let Some((program, subcommands)) = named.split_first().filter(|_| !program.contains(&None)) else {
        return open;
    };
    let name = match rule.tool() {
        Tool::PowerShell => powershell_name(program),
        _ => base_name(program).to_vec(),
    };
    let mut full: Vec<&[u8]> = vec![&name];
    open && (runs_anything(&name)
        || subcommands.iter().any(|word| {
            full.push(word);
            tables::launcher(&full).is_some_and(Launcher::is_told)
        }))
}

/// Returns a program's name in PowerShell's form, which ignores case and the extension.
fn powershell_name(program: &[u8]) -> Vec<u8> {
    let name = base_name(program).to_ascii_lowercase();
    name.strip_suffix(b".exe").map(<[u8]>::to_vec).unwrap_or(name)
}

/// Returns a protected name that the rule covers without naming it.
pub(crate) fn lifted(rule: &Rule) -> Option<&'static str> {
    protected_names().find(|name| {
        let covers = |path: &str| {
            rule.path().is_some_and(|pattern| pattern.matches(path, "/workspace", "/home/agent"))
        };
        let named = rule.text().contains(name);
        !named && (covers(&format!("/workspace/{name}")) || covers(&format!("/workspace/sub/{name}")))
    })
}
