//! The floor: the limits that this runner enforces on every grant, and the sandbox profile that a grant gets within
//! them.
//!
//! Every check compares with the runner's own configuration. Nothing that a server sends can widen the floor.

mod network;
mod outside;
mod refusal;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use airlock_domain::{
    Bind, Grant, NetworkMode, PathRules, Requirement, SandboxProfile, Sockets, limits as contract,
};
use airlock_sandbox as sandbox;

use crate::config::{FloorConfig, RunnerConfig};
use refusal::{floor, is_plain};

pub(crate) use network::Network;
pub(crate) use outside::{NO_USER, NO_USER_REMEDY, Outside};
pub(crate) use refusal::Refusal;

/// The layers that the check of this host did not find enforced. While there is one, no command runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Below(Option<String>);

impl Below {
    /// Compares the report with the mandatory layers and with the layers that the configuration requires.
    pub(crate) fn of(report: &sandbox::CapabilityReport, require: &[String]) -> Self {
        let missing: Vec<&str> = report.below_floor(require).map(|check| check.name).collect();
        let said = || {
            format!(
                "this host is below the floor: {}; run `airlock-runner doctor` for the causes and remedies",
                missing.join(", ")
            )
        };
        Self((!missing.is_empty()).then(said))
    }

    /// Returns the problem in one line, or `None` if no layer is missing.
    pub(crate) fn as_text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Refuses every start if a layer is missing.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.0.as_ref().map_or(Ok(()), |said| Err(floor(said)))
    }
}

/// Paths that belong to the sandbox or the session. A bind may not target them, their children or their parents.
const RESERVED_TARGETS: [&str; 8] =
    ["/proc", "/dev", "/sys", "/run", "/workspace", sandbox::HOME, "/tmp", "/var/tmp"];

/// Checks a grant against the floor. [`Outside`] decides whether the grant may run outside the sandbox.
pub(crate) fn check(grant: &Grant, allowed: &FloorConfig) -> Result<(), Refusal> {
    form(grant)?;
    let network = grant.profile.network;
    if !allowed.networks.iter().any(|name| name.names(network)) {
        return Err(floor("this runner does not permit that network"));
    }
    limits(grant, allowed)?;
    for bind in &grant.profile.root_binds {
        bind_source(&bind.source, allowed)?;
        target(bind)?;
    }
    sockets(&grant.profile.sockets, allowed)?;
    if let Some(directory) = &grant.profile.rootfs {
        host_root(directory, allowed)?;
    }
    pass_env(&grant.profile.pass_env, allowed)?;
    requirements(grant)
}

/// Refuses a profile that passes a variable of the runner's environment unless the runner's configuration names it.
/// Servers write profiles, and must not be able to read this host's secrets with one.
fn pass_env(asked: &[String], allowed: &FloorConfig) -> Result<(), Refusal> {
    match asked.iter().find(|name| !allowed.pass_env.contains(name)) {
        Some(name) => Err(floor(format!(
            "the profile passes `{}` of the runner's environment, which `floor.pass_env` does not name",
            name.escape_debug()
        ))),
        None => Ok(()),
    }
}

fn form(grant: &Grant) -> Result<(), Refusal> {
    let bytes: usize = grant.command.env.iter().map(|(name, value)| name.len() + value.len()).sum();
    let fits = grant.command.text.len() <= contract::COMMAND_BYTES
        && !grant.command.text.contains(&0)
        && grant.command.directory.len() <= contract::DIRECTORY_BYTES
        && !grant.command.directory.contains(&0)
        && grant.command.env.len() <= contract::ENV_ENTRIES
        && bytes <= contract::ENV_BYTES;
    if !fits {
        return Err(Refusal::new(
            "malformed_grant",
            "the command, its directory or its environment is too large or contains a NUL byte",
        ));
    }
    let sources = !grant.read_only && !grant.unsandboxed;
    if !grant.snapshot_digest.is_empty() && !sources {
        let message = "only a sandboxed command that can write can use a shell snapshot";
        return Err(Refusal::new("no_snapshot", message));
    }
    let prefix = &grant.profile.shell_prefix;
    let plain_words = prefix.iter().all(|word| !word.contains('\0'));
    let by_path = prefix.first().is_none_or(|program| program.starts_with('/'));
    if prefix.len() > contract::SHELL_PREFIX_WORDS || !plain_words || !by_path {
        let message = "the prefix of the shell is not a program path with arguments";
        return Err(Refusal::new("malformed_grant", message));
    }
    Ok(())
}

fn limits(grant: &Grant, allowed: &FloorConfig) -> Result<(), Refusal> {
    let asked = &grant.profile.limits;
    let beyond =
        |asked: Option<u64>, most: Option<u64>| asked.zip(most).is_some_and(|(asked, most)| asked > most);
    let over = [
        ("max_timeout", grant.command.timeout > allowed.max_timeout),
        ("max_grace", asked.grace > allowed.max_grace),
        ("max_open_files", asked.open_files > allowed.max_open_files),
        ("max_processes", asked.processes > allowed.max_processes),
        ("max_file_bytes", asked.file_size > allowed.max_file_bytes),
        ("max_output_bytes", asked.output_bytes > allowed.max_output_bytes),
        ("max_private_tmp_bytes", asked.private_tmp_bytes > allowed.max_private_tmp_bytes),
        ("max_memory_bytes", beyond(asked.memory_bytes, allowed.max_memory_bytes)),
        ("max_cpu_millis", beyond(asked.cpu_millis, allowed.max_cpu_millis)),
    ];
    match over.iter().find(|(_, over)| *over) {
        Some((name, _)) => Err(floor(format!("the grant asks for more than `floor.{name}`"))),
        None => Ok(()),
    }
}

fn sockets(asked: &Sockets, allowed: &FloorConfig) -> Result<(), Refusal> {
    asked.allowed_unix.iter().try_for_each(|path| socket(path, allowed).map(drop))?;
    if !asked.allowed_unix.is_empty() && !asked.unix {
        return Err(floor("the profile lists sockets of the host, but does not permit Unix sockets"));
    }
    Ok(())
}

fn target(bind: &Bind) -> Result<(), Refusal> {
    let path = Path::new(&bind.target);
    let reserved = path == Path::new("/etc")
        || RESERVED_TARGETS.iter().any(|own| path.starts_with(own) || Path::new(own).starts_with(path));
    if is_plain(path) && !reserved {
        return Ok(());
    }
    Err(floor("the target of a bind is reserved for the sandbox"))
}

/// Checks that a grant that requires read-only mounts is read-only. Module `trust` checks the trusted path, which
/// depends on the session's files.
fn requirements(grant: &Grant) -> Result<(), Refusal> {
    if grant.requires.contains(&Requirement::ReadOnlyMount) && !grant.read_only {
        let message = "the grant requires read-only mounts, but is not read-only";
        return Err(Refusal::new("read_only_mount", message));
    }
    Ok(())
}

fn search_path(profile: &SandboxProfile) -> &str {
    if profile.path.is_empty() { sandbox_path() } else { &profile.path }
}

/// The search path for a profile without one.
fn sandbox_path() -> &'static str {
    "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
}

/// Builds the sandbox profile of a grant that passed [`check`]: the system's minimal root or the requested root
/// file system, plus the profile's additions.
pub(crate) fn profile(
    root: &sandbox::Profile,
    asked: &SandboxProfile,
    config: &RunnerConfig,
) -> Result<sandbox::Profile, Refusal> {
    let NetworkMode::Loopback = asked.network;
    let mut profile = match &asked.rootfs {
        None => root.clone(),
        Some(directory) => {
            let directory = host_root(directory, &config.floor)?;
            lies_apart(&directory, config)?;
            sandbox::Profile { root: sandbox::Root::Directory(directory), ..sandbox::Profile::default() }
        }
    };
    for bind in &asked.root_binds {
        profile = profile.with_bind(bind_source(&bind.source, &config.floor)?, &bind.target);
    }
    search_path(asked).clone_into(&mut profile.path);
    for (name, value) in &asked.env {
        let value = String::from_utf8(value.clone()).map_err(|_| {
            Refusal::new("malformed_grant", format!("the profile's variable `{name}` is not text"))
        })?;
        profile.env.push((name.clone(), value));
    }
    profile.allow_env.clone_from(&asked.allowed_env);
    profile.paths = path_rules(&asked.paths);
    let allowed_unix: Result<_, _> =
        asked.sockets.allowed_unix.iter().map(|path| socket(path, &config.floor)).collect();
    profile.sockets = sandbox::Sockets {
        unix: asked.sockets.unix,
        netlink_route: asked.sockets.netlink_route,
        allowed_unix: allowed_unix?,
    };
    Ok(profile)
}

fn path_rules(asked: &PathRules) -> sandbox::PathRules {
    let PathRules { deny_read, allow_read, allow_write, deny_write } = asked.clone();
    sandbox::PathRules { deny_read, allow_read, allow_write, deny_write }
}

#[cfg(test)]
pub(crate) mod tests;

/// Returns the real path of a bind's source.
///
/// The parts of the host that a grant may show: bind sources, sockets, a root file system.
///
/// Links are resolved before paths are compared, and the sandbox gets the compared path. Must not accept a path that
/// the configuration does not name, or a path that contains the runner's own files.
fn bind_source(source: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
    below(source, &allowed.bind_sources)
        .ok_or_else(|| floor("the source of a bind is not below `floor.bind_sources`"))
}

/// Returns the path of an allowed socket. It must equal a configured path exactly. The file is checked when a command
/// starts.
fn socket(path: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
    let named = allowed.unix_sockets.iter().find(|socket| socket.as_os_str() == path);
    named.cloned().ok_or_else(|| floor("a socket of the host is not one of `floor.unix_sockets`"))
}

/// Returns the real path of a root file system.
fn host_root(path: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
    let directory = below(path, &allowed.rootfs)
        .ok_or_else(|| floor("the root file system is not below `floor.rootfs`, or does not exist"))?;
    match is_hosts_root(&directory) {
        Ok(false) => Ok(directory),
        Ok(true) => Err(floor("the root file system is the host's own")),
        Err(_) => Err(floor("the root file system cannot be read")),
    }
}

/// Reports whether a directory is the host's root, under any name.
///
/// # Errors
/// If the directory cannot be read.
pub(crate) fn is_hosts_root(directory: &Path) -> std::io::Result<bool> {
    let (found, root) = (fs::metadata(directory)?, fs::metadata("/")?);
    Ok((found.dev(), found.ino()) == (root.dev(), root.ino()))
}

/// Refuses a root file system that contains the runner's state or one of its keys.
fn lies_apart(directory: &Path, config: &RunnerConfig) -> Result<(), Refusal> {
    let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let state = real(&config.state_dir);
    let keys = config.servers.iter().filter_map(|server| server.key.as_ref()).map(real);
    let holds = keys.chain([state.clone()]).any(|own| own.starts_with(directory));
    match holds || directory.starts_with(&state) {
        true => Err(floor("the root file system contains the runner's own files")),
        false => Ok(()),
    }
}

fn below(path: &str, allowed: &[PathBuf]) -> Option<PathBuf> {
    let path = Path::new(path);
    let real = fs::canonicalize(path).ok().filter(|_| is_plain(path))?;
    let permits = |prefix: &PathBuf| fs::canonicalize(prefix).is_ok_and(|prefix| real.starts_with(prefix));
    allowed.iter().any(permits).then_some(real)
}
