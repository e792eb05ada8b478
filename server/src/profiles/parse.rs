//! From the text of profile files to resolved profiles. Every error names file, place, key, what is wrong and
//! the cure; all of one file come at once. Opens no file.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_config::{ConfigError, Problem};
use airlock_policy::{Profile, Rule, limits::MAX_EXTENDS};
use airlock_proto::domain::Bind;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{ProfileFile, ProfilesError, ResolvedProfile, schema::SCHEMA};

type ByName = BTreeMap<String, Arc<ResolvedProfile>>;

/// The whole file. What the policy has to say of its own part it says itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    name: String,
    extends: Option<String>,
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(default)]
    policy: toml::Table,
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
    root_binds: Vec<RootBind>,
    path: Option<String>,
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
    set: BTreeMap<String, String>,
    #[serde(default)]
    allowed: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Limits {
    open_files: Option<u32>,
    processes: Option<u32>,
    file_size: Option<u64>,
    output_bytes: Option<u64>,
    private_tmp_bytes: Option<u64>,
    grace: Option<Time>,
    timeout_default: Option<Time>,
    timeout_max: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Approvals {
    self_approval: Option<bool>,
    valid_for: Option<Time>,
}

/// A time with its unit, such as `5s` or `30m`.
#[derive(Clone, Copy)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        humantime::parse_duration(&text).map(Self).map_err(D::Error::custom)
    }
}

/// One file, parsed as far as the server goes.
struct Parsed<'a> {
    from: &'a ProfileFile,
    file: File,
}

impl Parsed<'_> {
    fn error(&self, field: &str, what: String, cure: &str) -> ProfilesError {
        refused(&self.from.path, &self.from.text, vec![problem(field, what, cure)])
    }
}

fn problem(field: &str, what: String, cure: &str) -> Problem {
    Problem { place: None, field: field.to_owned(), what, cure: cure.to_owned() }
}

fn refused(path: &str, text: &str, problems: Vec<Problem>) -> ProfilesError {
    match ConfigError::unless_right(path, Some(text), problems) {
        Err(error) => error.into(),
        Ok(()) => ConfigError::whole(path, "it is refused", "correct it").into(),
    }
}

/// Everything that can be said of a profile's text by itself.
pub(super) fn file(text: &str, path: &str) -> Result<File, ConfigError> {
    let file: File = airlock_config::parse(text, path, SCHEMA)?;
    let mut problems = Vec::new();
    rules(&file.policy, "policy", &mut problems);
    if let Some(shadow) = file.policy.get("shadow").and_then(toml::Value::as_table) {
        rules(shadow, "policy.shadow", &mut problems);
    }
    environment(&file.env, &mut problems);
    ConfigError::unless_right(path, Some(text), problems)?;
    Ok(file)
}

fn rules(table: &toml::Table, path: &str, problems: &mut Vec<Problem>) {
    for kind in ["allow", "ask", "deny"] {
        let list = table.get(kind).and_then(toml::Value::as_array);
        for (index, rule) in list.into_iter().flatten().enumerate() {
            if let Some(Err(error)) = rule.as_str().map(Rule::parse) {
                let field = format!("{path}.{kind}[{index}]");
                problems.push(problem(&field, error.to_string(), "correct or remove the rule"));
            }
        }
    }
}

fn environment(env: &Env, problems: &mut Vec<Problem>) {
    const CURE: &str = "use letters, digits and `_`, a digit not first";
    let wrong = |name: &str| format!("`{}` is not the name of a variable", name.escape_debug());
    for (name, value) in &env.set {
        let field = format!("env.set.{name}");
        if !is_variable(name) {
            problems.push(problem(&field, wrong(name), CURE));
        }
        if value.contains('\0') {
            problems.push(problem(&field, "its value has a NUL".to_owned(), "remove it"));
        }
    }
    for (index, name) in env.allowed.iter().enumerate().filter(|(_, name)| !is_variable(name)) {
        problems.push(problem(&format!("env.allowed[{index}]"), wrong(name), CURE));
    }
}

fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Resolves every file against the others and `known`.
pub(super) fn resolve_all(files: &[ProfileFile], known: &ByName) -> Result<ByName, ProfilesError> {
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

fn parse<'a>(from: &'a ProfileFile, known: &ByName) -> Result<Parsed<'a>, ProfilesError> {
    let parsed = Parsed { from, file: file(&from.text, &from.path)? };
    let name = &parsed.file.name;
    if *name != from.stem {
        let what = format!("the profile `{name}` is in `{}.toml`", from.stem);
        return Err(parsed.error("name", what, "give file and profile one name"));
    }
    if known.contains_key(name) {
        let what = format!("`{name}` is a built-in profile");
        return Err(parsed.error("name", what, "choose another name, and extend it"));
    }
    Ok(parsed)
}

fn resolve(
    name: &str,
    parsed: &BTreeMap<String, Parsed<'_>>,
    known: &ByName,
    done: &mut ByName,
    depth: usize,
) -> Result<Option<Arc<ResolvedProfile>>, ProfilesError> {
    if let Some(ready) = done.get(name).or_else(|| known.get(name)) {
        return Ok(Some(ready.clone()));
    }
    let Some(one) = parsed.get(name) else { return Ok(None) };
    let parent = match &one.file.extends {
        Some(_) if depth == MAX_EXTENDS => {
            let what = format!("profiles extend one another more than {MAX_EXTENDS} deep, or in a circle");
            return Err(one.error("extends", what, "shorten or break the chain"));
        }
        Some(extends) => resolve(extends, parsed, known, done, depth + 1)?,
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

fn apply(one: &Parsed<'_>, mut profile: ResolvedProfile) -> Result<ResolvedProfile, ProfilesError> {
    let File { name, sandbox, env, limits, approvals, .. } = &one.file;
    profile.sandbox.name.clone_from(name);
    for RootBind { source, target } in &sandbox.root_binds {
        let target = target.as_ref().unwrap_or(source);
        profile.sandbox.root_binds.retain(|known| known.target != *target);
        profile.sandbox.root_binds.push(Bind { source: source.clone(), target: target.clone() });
    }
    if let Some(path) = &sandbox.path {
        profile.sandbox.path.clone_from(path);
    }
    for (name, value) in &env.set {
        profile.sandbox.env.insert(name.clone(), value.clone().into_bytes());
    }
    let allowed = &mut profile.sandbox.allowed_env;
    allowed.extend(env.allowed.iter().cloned());
    allowed.sort();
    allowed.dedup();
    apply_limits(limits, &mut profile);
    if profile.timeout_default > profile.timeout_max {
        let field = if limits.timeout_default.is_some() { "timeout_default" } else { "timeout_max" };
        let what = "`timeout_default` is more than `timeout_max`".to_owned();
        return Err(one.error(&format!("limits.{field}"), what, "lower one or raise the other"));
    }
    profile.self_approval = approvals.self_approval.unwrap_or(profile.self_approval);
    profile.approval_valid = approvals.valid_for.map(|time| time.0).or(profile.approval_valid);
    Ok(profile)
}

fn apply_limits(given: &Limits, profile: &mut ResolvedProfile) {
    let own = &mut profile.sandbox.limits;
    for (value, target) in [(given.open_files, &mut own.open_files), (given.processes, &mut own.processes)] {
        *target = value.unwrap_or(*target);
    }
    let sizes = [
        (given.file_size, &mut own.file_size),
        (given.output_bytes, &mut own.output_bytes),
        (given.private_tmp_bytes, &mut own.private_tmp_bytes),
    ];
    for (value, target) in sizes {
        *target = value.unwrap_or(*target);
    }
    let times = [
        (given.grace, &mut own.grace),
        (given.timeout_default, &mut profile.timeout_default),
        (given.timeout_max, &mut profile.timeout_max),
    ];
    for (value, target) in times {
        *target = value.map_or(*target, |time| time.0);
    }
}
