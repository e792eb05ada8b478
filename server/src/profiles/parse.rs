//! From the text of profile files to resolved profiles. Every error names file, line, what is wrong
//! and the cure. Opens no file.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_policy::{Profile, ProfileError, limits::MAX_EXTENDS};
use airlock_proto::domain::Bind;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::Spanned;

use super::{ProfileFile, ResolvedProfile};

type ByName = BTreeMap<String, Arc<ResolvedProfile>>;

/// The whole file. The policy's own part is read by the policy.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    extends: Option<Spanned<String>>,
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(rename = "policy")]
    _policy: Option<toml::Table>,
    #[serde(default)]
    sandbox: Sandbox,
    #[serde(default)]
    env: Env,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    approvals: Approvals,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Sandbox {
    #[serde(default)]
    root_binds: Vec<Spanned<RootBind>>,
    path: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RootBind {
    source: String,
    target: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Env {
    #[serde(default)]
    set: BTreeMap<Spanned<String>, String>,
    #[serde(default)]
    allowed: Vec<Spanned<String>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Limits {
    open_files: Option<Spanned<u32>>,
    processes: Option<Spanned<u32>>,
    file_size: Option<Spanned<u64>>,
    output_bytes: Option<Spanned<u64>>,
    private_tmp_bytes: Option<Spanned<u64>>,
    grace: Option<Spanned<Time>>,
    timeout_default: Option<Spanned<Time>>,
    timeout_max: Option<Spanned<Time>>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Approvals {
    self_approval: Option<bool>,
    valid_for: Option<Spanned<Time>>,
}

/// A time with its unit, such as `5s` or `30m`.
#[derive(Clone, Copy)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let time = humantime::parse_duration(&text)
            .map_err(|error| D::Error::custom(format!("`{text}` is not a time such as `5s`: {error}")))?;
        if time.is_zero() {
            return Err(D::Error::custom("a time of 0 is no limit"));
        }
        Ok(Self(time))
    }
}

/// One file, parsed as far as the server goes.
struct Parsed<'a> {
    from: &'a ProfileFile,
    file: File,
}

impl Parsed<'_> {
    fn error(&self, offset: usize, what: String, cure: &str) -> ProfileError {
        error_at(self.from, offset, what, cure)
    }
}

fn error_at(from: &ProfileFile, offset: usize, what: String, cure: &str) -> ProfileError {
    let line = 1 + from.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
    ProfileError { file: from.path.clone(), line, what, cure: cure.to_owned() }
}

/// Resolves every file against the others and `known`.
pub(super) fn resolve_all(files: &[ProfileFile], known: &ByName) -> Result<ByName, ProfileError> {
    let mut parsed = BTreeMap::new();
    for from in files {
        let one = parse(from, known)?;
        parsed.insert(from.stem.clone(), one);
    }
    let mut done = ByName::new();
    for name in parsed.keys() {
        resolve(name, &parsed, known, &mut done, 0)?;
    }
    Ok(done)
}

fn parse<'a>(from: &'a ProfileFile, known: &ByName) -> Result<Parsed<'a>, ProfileError> {
    let file: File = toml::from_str(&from.text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let what = error.message().replace('\n', " ");
        error_at(from, offset, what, "see the profile's reference for the keys and their values")
    })?;
    let parsed = Parsed { from, file };
    let name = &parsed.file.name;
    let problem = if *name.get_ref() != from.stem {
        Some((
            format!("the profile `{}` is in `{}.toml`", name.get_ref(), from.stem),
            "give file and profile one name",
        ))
    } else if known.contains_key(name.get_ref()) {
        Some((format!("`{}` is a built-in profile", name.get_ref()), "choose another name, and extend it"))
    } else {
        None
    };
    match problem {
        Some((what, cure)) => Err(parsed.error(name.span().start, what, cure)),
        None => Ok(parsed),
    }
}

fn resolve(
    name: &str,
    parsed: &BTreeMap<String, Parsed<'_>>,
    known: &ByName,
    done: &mut ByName,
    depth: usize,
) -> Result<Option<Arc<ResolvedProfile>>, ProfileError> {
    if let Some(ready) = done.get(name).or_else(|| known.get(name)) {
        return Ok(Some(ready.clone()));
    }
    let Some(one) = parsed.get(name) else { return Ok(None) };
    let parent = match &one.file.extends {
        Some(extends) if depth == MAX_EXTENDS => {
            let what = format!("profiles extend one another more than {MAX_EXTENDS} deep, or in a circle");
            return Err(one.error(extends.span().start, what, "shorten or break the chain"));
        }
        Some(extends) => resolve(extends.get_ref(), parsed, known, done, depth + 1)?,
        None => None,
    };
    // A name that is not found is the policy's to complain about: it knows where it stands.
    let lookup = |_: &str| parent.as_ref().map(|parent| parent.policy.clone());
    let policy = Profile::from_toml(&one.from.text, &one.from.path, &lookup)?;
    let base = match &parent {
        Some(parent) => ResolvedProfile { policy, ..parent.as_ref().clone() },
        None => ResolvedProfile::builtin(policy),
    };
    let resolved = Arc::new(apply(one, base)?);
    done.insert(name.to_owned(), resolved.clone());
    Ok(Some(resolved))
}

fn apply(one: &Parsed<'_>, mut profile: ResolvedProfile) -> Result<ResolvedProfile, ProfileError> {
    profile.sandbox.name = one.file.name.get_ref().clone();
    apply_sandbox(one, &mut profile)?;
    apply_env(one, &mut profile)?;
    apply_limits(one, &mut profile)?;
    let approvals = &one.file.approvals;
    profile.self_approval = approvals.self_approval.unwrap_or(profile.self_approval);
    if let Some(valid) = &approvals.valid_for {
        profile.approval_valid = Some(valid.get_ref().0);
    }
    Ok(profile)
}

fn apply_sandbox(one: &Parsed<'_>, profile: &mut ResolvedProfile) -> Result<(), ProfileError> {
    let binds = &mut profile.sandbox.root_binds;
    for bind in &one.file.sandbox.root_binds {
        let RootBind { source, target } = bind.get_ref();
        let target = target.as_ref().unwrap_or(source);
        for path in [source, target] {
            if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
                let what = format!("`{path}` is not an absolute path without `..`");
                return Err(one.error(bind.span().start, what, "write it from `/`"));
            }
        }
        binds.retain(|known| known.target != *target);
        binds.push(Bind { source: source.clone(), target: target.clone() });
    }
    if let Some(path) = &one.file.sandbox.path {
        if path.get_ref().split(':').any(|folder| !folder.starts_with('/')) {
            let what = format!("`{}` has a folder that is not absolute", path.get_ref());
            return Err(one.error(
                path.span().start,
                what,
                "write each folder from `/`, with `:` between them",
            ));
        }
        profile.sandbox.path.clone_from(path.get_ref());
    }
    Ok(())
}

fn apply_env(one: &Parsed<'_>, profile: &mut ResolvedProfile) -> Result<(), ProfileError> {
    let names = one.file.env.set.keys().chain(&one.file.env.allowed);
    for name in names {
        if !is_variable(name.get_ref()) {
            let what = format!("`{}` is not the name of a variable", name.get_ref());
            return Err(one.error(name.span().start, what, "use letters, digits and `_`, a digit not first"));
        }
    }
    for (name, value) in &one.file.env.set {
        if value.contains('\0') {
            let what = format!("the value of `{}` has a NUL", name.get_ref());
            return Err(one.error(name.span().start, what, "remove it"));
        }
        profile.sandbox.env.insert(name.get_ref().clone(), value.clone().into_bytes());
    }
    let allowed = &mut profile.sandbox.allowed_env;
    allowed.extend(one.file.env.allowed.iter().map(|name| name.get_ref().clone()));
    allowed.sort();
    allowed.dedup();
    Ok(())
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn apply_limits(one: &Parsed<'_>, profile: &mut ResolvedProfile) -> Result<(), ProfileError> {
    let given = &one.file.limits;
    let own = &mut profile.sandbox.limits;
    for (value, target) in [(&given.open_files, &mut own.open_files), (&given.processes, &mut own.processes)]
    {
        if let Some(value) = value {
            not_zero(one, value.span().start, u64::from(*value.get_ref()))?;
            *target = *value.get_ref();
        }
    }
    let sizes = [
        (&given.file_size, &mut own.file_size),
        (&given.output_bytes, &mut own.output_bytes),
        (&given.private_tmp_bytes, &mut own.private_tmp_bytes),
    ];
    for (value, target) in sizes {
        if let Some(value) = value {
            not_zero(one, value.span().start, *value.get_ref())?;
            *target = *value.get_ref();
        }
    }
    let times = [
        (&given.grace, &mut own.grace),
        (&given.timeout_default, &mut profile.timeout_default),
        (&given.timeout_max, &mut profile.timeout_max),
    ];
    for (value, target) in times {
        if let Some(value) = value {
            *target = value.get_ref().0;
        }
    }
    if profile.timeout_default > profile.timeout_max {
        let at = given.timeout_default.as_ref().or(given.timeout_max.as_ref());
        let offset = at.map_or(0, |value| value.span().start);
        let what = "`timeout_default` is more than `timeout_max`".to_owned();
        return Err(one.error(offset, what, "lower one or raise the other"));
    }
    Ok(())
}

fn not_zero(one: &Parsed<'_>, offset: usize, value: u64) -> Result<(), ProfileError> {
    if value == 0 {
        return Err(one.error(offset, "a limit of 0 lets nothing run".to_owned(), "give a positive number"));
    }
    Ok(())
}
