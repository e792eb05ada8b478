//! The built-in profiles.

use super::deny::BuiltinDenyRules;
use super::network::Network;
use super::resolved::Profile;
use crate::decision::PolicyVersion;
use crate::request::Mode;
use crate::rules::Rules;

pub(super) const NAMES: &[&str] = &["strict", "agent", "sandboxed", "demo", "read_only"];

pub(super) fn profile(name: &str) -> Option<Profile> {
    let strict = blank(
        "strict",
        "runs commands that are proven read-only or that a rule allows, and asks about all others",
    );
    let profile = match name {
        "strict" => strict,
        "agent" => Profile {
            name: "agent".to_owned(),
            description: "runs commands that stay inside the sandbox, and asks about commands that destroy a person's work"
                .to_owned(),
            allow_confined: true,
            ..strict
        },
        "sandboxed" => sandboxed(strict),
        "demo" => demo(sandboxed(strict)),
        "read_only" => Profile {
            name: "read_only".to_owned(),
            description: "runs only commands that are proven read-only".to_owned(),
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
        description: "like `strict`, and runs sandboxed commands without asking".to_owned(),
        modes: vec![Mode::Bypass, Mode::AcceptEdits, Mode::Default, Mode::Plan],
        auto_allow: true,
        ..base
    }
}

fn demo(base: Profile) -> Profile {
    let none: &[&str] = &[];
    Profile {
        name: "demo".to_owned(),
        description: "like `sandboxed`, with a few deny and ask rules".to_owned(),
        rules: Rules::parse(
            none,
            &["Bash(make:*)", "PowerShell(Remove-Item -Recurse:*)"],
            &["Bash(git push:*)"],
        )
        .unwrap_or_default(),
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
        builtin_deny: BuiltinDenyRules::default(),
        auto_allow: false,
        allow_confined: false,
        allow_unsandboxed: false,
        unsandboxed_without_asking: false,
        excluded_commands: Vec::new(),
        additional_directories: Vec::new(),
        readable_roots: Vec::new(),
        network: Network::default(),
        warnings: Vec::new(),
        version: PolicyVersion([0; 32]),
    }
}
