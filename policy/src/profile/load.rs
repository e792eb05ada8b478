//! From TOML to a profile. Every error names file, line, what is wrong and the cure.

use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use super::{Profile, ProfileError, builtin, selftest};
use crate::request::Mode;
use crate::rules::{Rule, Rules};

/// The top level. A key that nobody knows is a mistake, and may be a misspelt rule's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    extends: Option<Spanned<String>>,
    description: Option<String>,
    policy: Option<Section>,
    // The rest of a profile is read by others.
    #[serde(rename = "sandbox")]
    _sandbox: Option<IgnoredAny>,
    #[serde(rename = "env")]
    _env: Option<IgnoredAny>,
    #[serde(rename = "limits")]
    _limits: Option<IgnoredAny>,
    #[serde(rename = "approvals")]
    _approvals: Option<IgnoredAny>,
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
    shadow: Option<Shadow>,
    auto_allow_if_sandboxed: Option<bool>,
    allow_unsandboxed: Option<bool>,
    unsandboxed_without_asking: Option<bool>,
    #[serde(default)]
    additional_directories: Vec<Spanned<String>>,
    #[serde(default)]
    test: Vec<Spanned<selftest::Case>>,
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

/// The text being read, to turn offsets into lines.
struct Source<'a> {
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn error(&self, offset: usize, what: String, cure: &str) -> ProfileError {
        let before = self.text.as_bytes().iter().take(offset);
        ProfileError {
            file: self.file.to_owned(),
            line: 1 + before.filter(|byte| **byte == b'\n').count(),
            what,
            cure: cure.to_owned(),
        }
    }

    fn rules(&self, list: &[Spanned<String>]) -> Result<Vec<Rule>, ProfileError> {
        list.iter()
            .map(|item| {
                Rule::parse(item.get_ref()).map_err(|error| {
                    self.error(item.span().start, error.to_string(), "correct or remove the rule")
                })
            })
            .collect()
    }
}

pub(super) fn from_toml(
    text: &str,
    file: &str,
    lookup_parent: &dyn Fn(&str) -> Option<Profile>,
) -> Result<Profile, ProfileError> {
    let source = Source { text, file };
    let parsed: File = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let what = error.message().replace('\n', " ");
        source.error(offset, what, "see the profile's reference for the keys and their values")
    })?;
    let mut profile = parent(&source, &parsed, lookup_parent)?;
    profile.name = parsed.name.get_ref().clone();
    if let Some(description) = parsed.description {
        profile.description = description;
    }
    let section = parsed.policy.unwrap_or_default();
    apply(&source, &mut profile, &section)?;
    let profile = profile.seal();
    for case in &section.test {
        if let Some(what) = selftest::fails(&profile, case.get_ref()) {
            let cure = "change the rules, or the expectation if it is wrong";
            return Err(source.error(case.span().start, what, cure));
        }
    }
    Ok(profile)
}

fn parent(
    source: &Source<'_>,
    parsed: &File,
    lookup_parent: &dyn Fn(&str) -> Option<Profile>,
) -> Result<Profile, ProfileError> {
    let Some(name) = &parsed.extends else {
        return Ok(builtin::blank(parsed.name.get_ref(), ""));
    };
    if name.get_ref() == parsed.name.get_ref() {
        let what = format!("the profile `{}` extends itself", name.get_ref());
        return Err(source.error(name.span().start, what, "name another profile or none"));
    }
    lookup_parent(name.get_ref()).or_else(|| Profile::builtin(name.get_ref())).ok_or_else(|| {
        let what = format!("`extends` names `{}`, which is not loaded", name.get_ref());
        let cure = "name a loaded profile or one of strict, sandboxed, demo, read_only";
        source.error(name.span().start, what, cure)
    })
}

fn apply(source: &Source<'_>, profile: &mut Profile, section: &Section) -> Result<(), ProfileError> {
    profile.rules.extend(&Rules {
        allow: source.rules(&section.allow)?,
        ask: source.rules(&section.ask)?,
        deny: source.rules(&section.deny)?,
    });
    if let Some(shadow) = &section.shadow {
        profile.shadow.extend(&Rules {
            allow: source.rules(&shadow.allow)?,
            ask: source.rules(&shadow.ask)?,
            deny: source.rules(&shadow.deny)?,
        });
    }
    for directory in &section.additional_directories {
        if !directory.get_ref().starts_with('/') {
            let what = format!("`{}` is not an absolute path", directory.get_ref());
            let cure = "write it as the sandbox sees it, from `/`";
            return Err(source.error(directory.span().start, what, cure));
        }
        profile.additional_directories.push(directory.get_ref().clone());
    }
    let set = |target: &mut bool, value: Option<bool>| *target = value.unwrap_or(*target);
    set(&mut profile.auto_allow, section.auto_allow_if_sandboxed);
    set(&mut profile.allow_unsandboxed, section.allow_unsandboxed);
    set(&mut profile.unsandboxed_without_asking, section.unsandboxed_without_asking);
    apply_modes(source, profile, section)
}

fn apply_modes(source: &Source<'_>, profile: &mut Profile, section: &Section) -> Result<(), ProfileError> {
    let mut offset = 0;
    if let Some(modes) = &section.modes {
        offset = modes.first().map_or(0, |mode| mode.span().start);
        profile.modes = modes.iter().map(|mode| *mode.get_ref()).collect();
        profile.modes.sort_unstable();
        profile.modes.dedup();
    }
    if let Some(mode) = &section.default_mode {
        offset = mode.span().start;
        profile.default_mode = *mode.get_ref();
    }
    if profile.modes.contains(&profile.default_mode) {
        return Ok(());
    }
    let what = "the default mode is not among the modes the profile permits".to_owned();
    Err(source.error(offset, what, "add it to `modes` or set `default_mode` to one of them"))
}
