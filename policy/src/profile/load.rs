//! Reads a profile from TOML. All problems are reported at once. The profile's own test cases are
//! not run here.

use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use super::builtin;
use super::case::{self, Case};
use super::deny;
use super::network;
use super::problem::{ProblemCollector, ProfileError};
use super::resolved::Profile;
use crate::limits;
use crate::request::Mode;
use crate::rules::{Rule, Rules};

/// The top level. An unknown key is an error, because it may be a misspelt key of a rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    extends: Option<Spanned<String>>,
    description: Option<String>,
    policy: Option<Section>,
    network: Option<network::Given>,
    // Other crates read the rest of a profile.
    #[serde(rename = "hooks")]
    _hooks: Option<IgnoredAny>,
    #[serde(rename = "secrets")]
    _secrets: Option<IgnoredAny>,
    #[serde(rename = "sandbox")]
    _sandbox: Option<IgnoredAny>,
    #[serde(rename = "env")]
    _env: Option<IgnoredAny>,
    #[serde(rename = "limits")]
    _limits: Option<IgnoredAny>,
    #[serde(rename = "protect")]
    _protect: Option<IgnoredAny>,
    #[serde(rename = "port_forward")]
    _port_forward: Option<IgnoredAny>,
    #[serde(rename = "commands")]
    _commands: Option<IgnoredAny>,
    #[serde(rename = "approvals")]
    _approvals: Option<IgnoredAny>,
    #[serde(rename = "shell")]
    _shell: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Section {
    modes: Option<Vec<Spanned<Mode>>>,
    default_mode: Option<Spanned<Mode>>,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    ask: Vec<Spanned<String>>,
    #[serde(default)]
    deny: Vec<Spanned<String>>,
    #[serde(default)]
    shadow: Shadow,
    #[serde(default)]
    powershell: deny::Given,
    auto_allow_if_sandboxed: Option<bool>,
    allow_confined: Option<bool>,
    allow_unsandboxed: Option<bool>,
    unsandboxed_without_asking: Option<bool>,
    #[serde(default)]
    excluded_commands: Vec<Spanned<String>>,
    #[serde(default)]
    additional_directories: Vec<Spanned<String>>,
    #[serde(default)]
    readable_roots: Vec<Spanned<String>>,
    #[serde(default)]
    test: Vec<Spanned<case::CaseTable>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Shadow {
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    ask: Vec<Spanned<String>>,
    #[serde(default)]
    deny: Vec<Spanned<String>>,
}

/// Returns the name in `extends`, if the text can be parsed that far and has one.
pub(super) fn extends(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Head {
        extends: Option<String>,
    }
    toml::from_str::<Head>(text).ok()?.extends
}

/// Returns the error for a profile with an invalid chain of parents.
pub(super) fn refuse_extends(text: &str, file: &str, what: String, remedy: &str) -> ProfileError {
    let parsed = toml::from_str::<File>(text).ok();
    let at = parsed.and_then(|parsed| parsed.extends.map(|name| name.span().start)).unwrap_or_default();
    ProblemCollector::new(text, file).refusal(at, "extends", what, remedy)
}

/// Reads the profile and its own cases, which are not run.
pub(super) fn read(
    text: &str,
    file: &str,
    lookup_parent: &dyn Fn(&str) -> Option<Profile>,
) -> Result<(Profile, Vec<Case>), ProfileError> {
    let mut source = ProblemCollector::new(text, file);
    let parsed: File = match toml::from_str(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let remedy = "see the profile reference for the valid keys and values";
            return Err(source.no_toml(&error, remedy));
        }
    };
    let mut profile = parent(&mut source, &parsed, lookup_parent);
    profile.name = parsed.name.get_ref().clone();
    if let Some(description) = parsed.description {
        profile.description = description;
    }
    let section = parsed.policy.unwrap_or_default();
    profile.network.apply(parsed.network);
    apply(&mut source, &mut profile, &section);
    let cases = case::placed(&mut source, "policy.test", section.test);
    source.finish()?;
    Ok((profile.seal(), cases))
}

fn parent(
    source: &mut ProblemCollector<'_>,
    parsed: &File,
    lookup_parent: &dyn Fn(&str) -> Option<Profile>,
) -> Profile {
    let blank = || builtin::blank(parsed.name.get_ref(), "");
    let Some(name) = &parsed.extends else {
        return blank();
    };
    let at = name.span().start;
    if name.get_ref() == parsed.name.get_ref() {
        let what = format!("the profile `{}` extends itself", name.get_ref());
        source.add(at, "extends", what, "name another profile or none");
        return blank();
    }
    lookup_parent(name.get_ref()).or_else(|| builtin::profile(name.get_ref())).unwrap_or_else(|| {
        let what = format!("the profile `{}` is not loaded", name.get_ref());
        let remedy = "name a loaded profile or one of strict, agent, sandboxed, demo, read_only";
        source.add(at, "extends", what, remedy);
        blank()
    })
}

fn apply(source: &mut ProblemCollector<'_>, profile: &mut Profile, section: &Section) {
    let own = Rules {
        allow: rules(source, "policy.allow", &section.allow),
        ask: rules(source, "policy.ask", &section.ask),
        deny: rules(source, "policy.deny", &section.deny),
    };
    profile.rules.extend(&own);
    let shadow = Rules {
        allow: rules(source, "policy.shadow.allow", &section.shadow.allow),
        ask: rules(source, "policy.shadow.ask", &section.shadow.ask),
        deny: rules(source, "policy.shadow.deny", &section.shadow.deny),
    };
    profile.shadow.extend(&shadow);
    profile.builtin_deny.apply(&section.powershell);
    too_many(source, "policy", &profile.rules);
    too_many(source, "policy.shadow", &profile.shadow);
    for (index, directory) in section.additional_directories.iter().enumerate() {
        if !directory.get_ref().starts_with('/') {
            let what = format!("`{}` is not an absolute path", directory.get_ref());
            let key = format!("policy.additional_directories[{index}]");
            source.add(
                directory.span().start,
                &key,
                what,
                "write the path as seen in the sandbox, starting with `/`",
            );
        }
        profile.additional_directories.push(directory.get_ref().clone());
    }
    apply_readable_roots(source, profile, &section.readable_roots);
    let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
    set(&mut profile.auto_allow, section.auto_allow_if_sandboxed);
    set(&mut profile.allow_confined, section.allow_confined);
    set(&mut profile.allow_unsandboxed, section.allow_unsandboxed);
    set(&mut profile.unsandboxed_without_asking, section.unsandboxed_without_asking);
    for (index, words) in section.excluded_commands.iter().enumerate() {
        if words.get_ref().trim().is_empty() {
            let key = format!("policy.excluded_commands[{index}]");
            source.add(
                words.span().start,
                &key,
                "the entry contains no command".to_owned(),
                "write a command, such as \"docker\"",
            );
        }
        profile.excluded_commands.push(words.get_ref().clone());
    }
    apply_modes(source, profile, section);
}

/// Checks and adds readable roots: absolute paths other than the root and the kernel's directories.
fn apply_readable_roots(source: &mut ProblemCollector<'_>, profile: &mut Profile, roots: &[Spanned<String>]) {
    for (index, root) in roots.iter().enumerate() {
        let text = root.get_ref();
        let parts = || text.split('/').skip(1);
        let plain = text.starts_with('/') && parts().all(|part| !matches!(part, "" | "." | ".."));
        let kernels = ["proc", "sys", "dev", "run"].iter().any(|name| parts().next() == Some(name));
        if !plain || kernels {
            let what = format!("`{text}` cannot be a readable root");
            let remedy = "write an absolute path without `.` and `..`, outside /proc, /sys, /dev and /run";
            source.add(root.span().start, &format!("policy.readable_roots[{index}]"), what, remedy);
        }
        if !profile.readable_roots.contains(text) {
            profile.readable_roots.push(text.clone());
        }
    }
    if profile.readable_roots.len() > limits::MAX_READABLE_ROOTS {
        let what = format!(
            "the profile has {} readable roots, including inherited ones",
            profile.readable_roots.len()
        );
        let at = roots.first().map_or(0, |root| root.span().start);
        let remedy = format!("name at most {}", limits::MAX_READABLE_ROOTS);
        source.add(at, "policy.readable_roots", what, &remedy);
    }
}

fn rules(source: &mut ProblemCollector<'_>, key: &str, list: &[Spanned<String>]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let parsed = Rule::parse(item.get_ref());
        let checked = if key.ends_with("allow") {
            parsed.and_then(|rule| rule.check_allowed().map(|()| rule))
        } else {
            parsed
        };
        match checked {
            Ok(rule) => rules.push(rule),
            Err(error) => source.add(
                item.span().start,
                &format!("{key}[{index}]"),
                error.to_string(),
                "correct or remove the rule",
            ),
        }
    }
    rules
}

/// Checks the number of rules including those of the parents, because every decision evaluates all
/// of them.
fn too_many(source: &mut ProblemCollector<'_>, key: &str, rules: &Rules) {
    for (kind, list) in [("allow", &rules.allow), ("ask", &rules.ask), ("deny", &rules.deny)] {
        if list.len() > limits::MAX_RULES {
            let what = format!(
                "the profile has {} rules, including inherited ones; the limit is {}",
                list.len(),
                limits::MAX_RULES
            );
            source.add(0, &format!("{key}.{kind}"), what, "combine rules with prefixes or stars");
        }
    }
}

fn apply_modes(source: &mut ProblemCollector<'_>, profile: &mut Profile, section: &Section) {
    let mut place = (0, "policy");
    if let Some(modes) = &section.modes {
        place = (modes.first().map_or(0, |mode| mode.span().start), "policy.modes");
        profile.modes = modes.iter().map(|mode| *mode.get_ref()).collect();
        profile.modes.sort_unstable();
        profile.modes.dedup();
    }
    if let Some(mode) = &section.default_mode {
        place = (mode.span().start, "policy.default_mode");
        profile.default_mode = *mode.get_ref();
    }
    if !profile.modes.contains(&profile.default_mode) {
        let what = "the default mode is not one of the permitted modes".to_owned();
        source.add(place.0, place.1, what, "add it to `modes` or set `default_mode` to one of them");
    }
}
