//! Builds the environment of a command from an empty one.
//!
//! Pure: must not read the environment of the process.

mod names;
mod scrub;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::layout::{HOME, USER};
use crate::runtime::git_overrides;
use crate::session::SessionDirectories;

use names::check;
pub use names::{
    EnvError, EnvRequest, MAX_NAME, MAX_TOTAL, MAX_VALUE, MAX_VARIABLES, Variable, VariableSource,
};
pub use scrub::{SECRETS, SHAPES, Scrubbed, is_scrubbed, scrub};

/// Returns the whole environment, sorted by name.
///
/// # Errors
///
/// Returns every variable that cannot be set, from the passed ones, the session or the request.
pub fn build_env(from: &EnvRequest<'_>) -> Result<Vec<(OsString, OsString)>, Vec<EnvError>> {
    let mut built: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        built.insert(name.as_bytes().to_vec(), value.as_bytes().to_vec());
    };
    for (name, value) in base(from) {
        set(name, value);
    }
    check(from)?;
    built.extend(from.passed.iter().cloned());
    for (name, value) in &from.profile.env {
        built.insert(name.as_bytes().to_vec(), value.as_bytes().to_vec());
    }
    for (name, value) in from.session.iter().chain(from.request) {
        built.insert(name.clone(), value.clone());
    }
    // Last, so that no other source can override them.
    let mut set = |name: String, value: &str| {
        built.insert(name.into_bytes(), value.as_bytes().to_vec());
    };
    for (name, value) in own(from) {
        set(name.to_owned(), value);
    }
    let overrides = git_overrides(from.read_only);
    set("GIT_CONFIG_COUNT".to_owned(), &overrides.len().to_string());
    for (index, (name, value)) in overrides.iter().enumerate() {
        set(format!("GIT_CONFIG_KEY_{index}"), name);
        set(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    let os = |bytes| OsString::from_vec(bytes);
    Ok(built.into_iter().map(|(name, value)| (os(name), os(value))).collect())
}

/// Adapts an environment to a command outside the sandbox, where the session's directories have other paths.
#[must_use]
pub fn outside(
    env: Vec<(OsString, OsString)>,
    directories: &SessionDirectories,
) -> Vec<(OsString, OsString)> {
    let moved = |(name, value): (OsString, OsString)| {
        let value = match name.as_bytes() {
            b"TMPDIR" => directories.tmp.clone().into_os_string(),
            b"HOME" if value == HOME => directories.home.clone().into_os_string(),
            _ => value,
        };
        (name, value)
    };
    env.into_iter().map(moved).collect()
}

/// Returns the variables that profile, session and request may override.
fn base<'a>(from: &EnvRequest<'a>) -> [(&'static str, &'a str); 7] {
    [
        ("HOME", HOME),
        ("LANG", "C.UTF-8"),
        ("LOGNAME", USER),
        ("PATH", &from.profile.path),
        ("SHELL", "/bin/bash"),
        ("TERM", "dumb"),
        ("USER", USER),
    ]
}

/// Returns the variables that cannot be overridden.
fn own<'a>(from: &EnvRequest<'a>) -> Vec<(&'static str, &'a str)> {
    let mut own = vec![
        ("AIRLOCK", "1"),
        ("AIRLOCK_SESSION_ID", from.session_id),
        ("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),
        ("GIT_EDITOR", "true"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("SHELL", "/bin/bash"),
        ("TMPDIR", if from.read_only { "/var/tmp" } else { "/tmp" }),
    ];
    if let Some(place) = from.traceparent {
        own.push(("TRACEPARENT", place));
    }
    if from.read_only {
        // Each variable set here is marked as overridden in `airlock_variables`, so that a request that sets it does
        // not affect the decision.
        own.extend([("GIT_PAGER", "cat"), ("HOME", HOME), ("PAGER", "cat"), ("PATH", &from.profile.path)]);
        // Otherwise a line of `go.mod` or a file in HOME selects the go program.
        own.push(("GOTOOLCHAIN", "local"));
        // npm writes a log of each run. Here it is deleted with the command.
        own.push(("npm_config_cache", "/var/tmp/npm"));
        // terraform checks for updates, and records the check in HOME.
        own.push(("CHECKPOINT_DISABLE", "1"));
    }
    own
}

#[cfg(test)]
mod tests;
