//! The parts of the host that a grant may show: bind sources, sockets, a root file system.
//!
//! Links are resolved before paths are compared, and the sandbox gets the compared path. Must not accept a path that
//! the configuration does not name, or a path that contains the runner's own files.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::refusal::{Refusal, floor, is_plain};
use crate::config::{FloorConfig, RunnerConfig};

/// Returns the real path of a bind's source.
pub(super) fn bind_source(source: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
    below(source, &allowed.bind_sources)
        .ok_or_else(|| floor("the source of a bind is not below `floor.bind_sources`"))
}

/// Returns the path of an allowed socket. It must equal a configured path exactly. The file is checked when a command
/// starts.
pub(super) fn socket(path: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
    let named = allowed.unix_sockets.iter().find(|socket| socket.as_os_str() == path);
    named.cloned().ok_or_else(|| floor("a socket of the host is not one of `floor.unix_sockets`"))
}

/// Returns the real path of a root file system.
pub(super) fn root(path: &str, allowed: &FloorConfig) -> Result<PathBuf, Refusal> {
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
pub(super) fn apart(directory: &Path, config: &RunnerConfig) -> Result<(), Refusal> {
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
