//! Parsing of a profile file and its resolution against the parent. Every error contains file, position, key,
//! problem and remedy. All errors of a file are reported together. This module opens no file.

mod confine;
pub(super) mod hooks;
pub(super) mod keys;
mod names;
pub(super) mod network;
mod policy;
mod problem;

use std::sync::LazyLock;

use airlock_config::{ConfigError, Problem, Schema};
use airlock_domain::limits::{CONNECTION_WAIT_MAX, SECRETS, SHELL_INIT_BYTES, SHELL_PREFIX_WORDS};
use airlock_policy::Profile;

pub(super) use self::network::effective as effective_network;
pub(super) use self::problem::{policy_problems, problem};
use self::{
    keys::{Env, File, Limits, Shell, ShellKeys},
    names::{is_secret, is_variable},
};
use super::{network::ProfileNetwork, resolve::ResolvedProfile};

/// Returns the schema of a profile file.
pub(super) fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::of::<File>);
    &SCHEMA
}

/// Parses the whole file and checks its keys and their types.
pub(super) fn file(text: &str, path: &str) -> Result<File, ConfigError> {
    airlock_config::parse(text, path, schema())
}

pub(super) fn environment(env: &Env, problems: &mut Vec<Problem>) {
    const CURE: &str = "use letters, digits and `_`, and do not begin with a digit";
    let wrong = |name: &str| format!("`{}` is not the name of a variable", name.escape_debug());
    for (name, value) in &env.set {
        let field = format!("env.set.{name}");
        if !is_variable(name) {
            problems.push(problem(&field, wrong(name), CURE));
        }
        if value.contains('\0') {
            problems.push(problem(&field, "the value has a NUL byte".to_owned(), "remove it"));
        }
    }
    for (list, names) in [("allowed", &env.allowed), ("pass", &env.pass)] {
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_variable(name)) {
            problems.push(problem(&format!("env.{list}[{index}]"), wrong(name), CURE));
        }
    }
}

fn secrets(names: &[String], problems: &mut Vec<Problem>) {
    for (index, name) in names.iter().enumerate() {
        if !is_secret(name) {
            let what = format!("`{}` is not the name of a secret", name.escape_debug());
            let cure = "use 1 to 128 letters, digits and `_`, and do not begin with a digit";
            problems.push(problem(&format!("secrets[{index}]"), what, cure));
        }
    }
}

/// Resolves a profile against its parent. `found` contains the problems that are already known.
///
/// # Errors
/// Returns all problems of the file.
pub(super) fn resolve(
    text: &str,
    path: &str,
    file: &File,
    parent: Option<&ResolvedProfile>,
    mut found: Vec<Problem>,
) -> Result<ResolvedProfile, ConfigError> {
    environment(&file.env, &mut found);
    secrets(&file.secrets, &mut found);
    network::check(file.network.as_ref(), &mut found);
    let lookup = |_: &str| parent.map(|parent| parent.policy.clone());
    let policy = match Profile::from_toml(text, path, &lookup) {
        Ok(policy) => Some(policy),
        Err(error) => {
            found.extend(policy_problems(error));
            None
        }
    };
    let base = match (policy, parent) {
        (Some(policy), Some(parent)) => ResolvedProfile { policy, ..parent.clone() },
        (Some(policy), None) => ResolvedProfile::builtin(policy),
        // The result is discarded. It only serves to find further problems.
        (None, Some(parent)) => parent.clone(),
        (None, None) => ResolvedProfile::builtin(Profile::blank(&file.name)),
    };
    let profile = apply(file, base, &mut found);
    ConfigError::unless_right(path, Some(text), found)?;
    Ok(profile)
}

fn apply(file: &File, mut profile: ResolvedProfile, problems: &mut Vec<Problem>) -> ResolvedProfile {
    let File {
        name, network, port_forward, sandbox, protect, env, limits, commands, approvals, shell, ..
    } = file;
    profile.sandbox.name.clone_from(name);
    confine::apply_sandbox(sandbox, &mut profile.sandbox);
    confine::show_readable_roots(&profile.policy, &mut profile.sandbox);
    confine::apply_protect(protect, &mut profile.sandbox.protect);
    confine::apply_denials(&profile.policy, &mut profile.sandbox.paths);
    for (name, value) in &env.set {
        profile.sandbox.env.insert(name.clone(), value.clone().into_bytes());
    }
    confine::extend(&mut profile.sandbox.allowed_env, &env.allowed);
    confine::extend(&mut profile.sandbox.pass_env, &env.pass);
    confine::extend(&mut profile.sandbox.secrets, &file.secrets);
    if profile.sandbox.secrets.len() > SECRETS {
        let what = format!("there are {} secrets, including inherited ones", profile.sandbox.secrets.len());
        problems.push(problem("secrets", what, "name at most 64"));
    }
    network::apply(network.as_ref(), &mut profile.own_network, &mut profile.sandbox.inspection);
    let rules = network::effective(&profile.own_network, profile.policy.rules());
    network::check_limits(&rules, &profile.sandbox.inspection, problems);
    profile.network = ProfileNetwork::new(rules);
    if let Some(ports) = port_forward {
        profile.port_forward.clone_from(ports);
    }
    hooks::apply(&file.hooks, &mut profile.hooks, problems);
    apply_limits(limits, &mut profile);
    apply_shell(shell, &mut profile, problems);
    if profile.command.timeout > profile.timeout_max {
        let field = if limits.timeout_default.is_some() { "timeout_default" } else { "timeout_max" };
        let what = "`timeout_default` is longer than `timeout_max`".to_owned();
        problems.push(problem(&format!("limits.{field}"), what, "lower one or raise the other"));
    }
    commands.apply(&mut profile);
    profile.self_approval = approvals.self_approval.unwrap_or(profile.self_approval);
    profile.remember = approvals.remember.map_or(profile.remember, Into::into);
    profile.connection_wait = approvals.connection_wait.map_or(profile.connection_wait, |time| time.0);
    if profile.connection_wait > CONNECTION_WAIT_MAX {
        let what = "a connection cannot wait for longer than 5 minutes".to_owned();
        problems.push(problem("approvals.connection_wait", what, "write at most \"5m\""));
    }
    profile.approval_valid = approvals.valid_for.map(|time| time.0).or(profile.approval_valid);
    profile
}

fn apply_shell(given: &ShellKeys, profile: &mut ResolvedProfile, problems: &mut Vec<Problem>) {
    if let Some(shell) = given.name {
        profile.command.shell = match shell {
            Shell::Bash => airlock_domain::Shell::Bash,
            Shell::Zsh => airlock_domain::Shell::Zsh,
            Shell::Pwsh => airlock_domain::Shell::Pwsh,
        };
    }
    if let Some(init) = &given.init {
        if init.len() > SHELL_INIT_BYTES || init.contains('\0') {
            let what = format!("it is longer than {SHELL_INIT_BYTES} bytes, or has a NUL byte");
            problems.push(problem("shell.init", what, "move the text to a file below `sandbox.root_binds`"));
        }
        profile.sandbox.shell_init.clone_from(init);
    }
    let Some(prefix) = &given.prefix else { return };
    if prefix.first().is_some_and(|program| !program.starts_with('/')) {
        let what = "its first word is not an absolute path".to_owned();
        problems.push(problem(
            "shell.prefix[0]",
            what,
            "write the absolute path of a program in the sandbox, such as \"/usr/bin/nice\"",
        ));
    }
    if prefix.len() > SHELL_PREFIX_WORDS {
        let what = format!("it has more than {SHELL_PREFIX_WORDS} words");
        problems.push(problem("shell.prefix", what, "put the words into a script, and name the script"));
    }
    profile.sandbox.shell_prefix.clone_from(prefix);
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
    profile.command.inline_limit = given.inline_bytes.unwrap_or(profile.command.inline_limit);
    own.memory_bytes = given.memory_bytes.or(own.memory_bytes);
    own.cpu_millis = given.cpu_millis.or(own.cpu_millis);
    let times = [
        (given.grace, &mut own.grace),
        (given.timeout_default, &mut profile.command.timeout),
        (given.timeout_max, &mut profile.timeout_max),
    ];
    for (value, target) in times {
        *target = value.map_or(*target, |time| time.0);
    }
}
