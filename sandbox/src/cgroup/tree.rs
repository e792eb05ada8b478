//! A launcher's cgroup, and the controllers that it has.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::limits::{LIMITS, NotEnforced, cause};
use super::place;
use super::record::{self, PREFIX};
use crate::random::random_name;

/// The cgroup into which the runner moves out of its own. A cgroup with processes cannot give controllers to its
/// children.
const LEAF: &str = "airlock-runner";
/// The controllers that are enabled if available.
const CONTROLLERS: [&str; 4] = ["memory", "pids", "cpu", "io"];

/// A launcher's cgroup. It is removed with the last sandbox in it.
#[derive(Debug)]
pub(super) struct Tree {
    state: PathBuf,
    directory: PathBuf,
    missing: Vec<NotEnforced>,
    made: AtomicU64,
}

impl Tree {
    /// Creates a cgroup in `parent` or in the runner's own, and enables the available controllers.
    pub(super) fn make(parent: Option<&Path>, state: &Path) -> Result<Self, String> {
        let own = place::own();
        let base = match (parent, &own) {
            (Some(parent), _) => parent.to_owned(),
            (None, Ok(own)) => divided(own).to_owned(),
            (None, Err(why)) => return Err(why.clone()),
        };
        if !place::is_cgroup(&base) {
            return Err(format!("`{}` is not a cgroup of version 2", base.display()));
        }
        if let Ok(own) = &own {
            may_move(own, &base)?;
        }
        let name = random_name().map_err(|error| error.to_string())?;
        let directory = base.join(format!("{PREFIX}{name}"));
        record::write(state, &directory).map_err(|error| format!("`{}`: {error}", state.display()))?;
        let failed = |error: io::Error| format!("cannot create a cgroup in `{}`: {error}", base.display());
        fs::create_dir(&directory).map_err(failed)?;
        let mut tree =
            Self { state: state.to_owned(), directory, missing: Vec::new(), made: AtomicU64::new(0) };
        if !tree.directory.join("cgroup.kill").exists() {
            return Err("`cgroup.kill` needs Linux 5.14".to_owned());
        }
        give_controllers(&base, own.ok().as_deref());
        enable(&tree.directory);
        tree.missing = missing(&base, &tree.directory);
        Ok(tree)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn missing(&self) -> &[NotEnforced] {
        &self.missing
    }

    pub(super) fn has(&self, limit: &str) -> bool {
        !self.missing.iter().any(|gap| gap.limit == limit)
    }

    /// Creates the directory of a new sandbox's cgroup.
    pub(super) fn make_child(&self) -> io::Result<PathBuf> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let directory = self.directory.join(number.to_string());
        fs::create_dir(&directory)?;
        Ok(directory)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // If the removal fails, the next start repeats it from the record.
        if fs::remove_dir(&self.directory).is_ok() {
            let _ = record::remove(&self.state, &self.directory);
        }
    }
}

/// Returns the cgroup that the runner may divide if it is in `own`. This is the parent of `own` if an earlier
/// launcher has moved the runner into the leaf, and otherwise `own` itself.
fn divided(own: &Path) -> &Path {
    match own.parent() {
        Some(above) if own.file_name().is_some_and(|name| name == LEAF) => above,
        _ => own,
    }
}

/// Checks for write access to the nearest common parent of both cgroups, which a move requires.
fn may_move(from: &Path, to: &Path) -> Result<(), String> {
    let common: PathBuf = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one)
        .collect();
    let file = common.join("cgroup.procs");
    accessat(CWD, &file, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
}

/// Enables the controllers for the children of `base`. If processes prevent this and the runner is one of them, it
/// moves into a leaf. If other processes still prevent it, the runner moves back.
fn give_controllers(base: &Path, own: Option<&Path>) {
    if enable(base) || own != Some(base) {
        return;
    }
    let leaf = base.join(LEAF);
    let into = |directory: &Path| fs::write(directory.join("cgroup.procs"), std::process::id().to_string());
    let made = match fs::create_dir(&leaf) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return,
        _ => into(&leaf).is_ok(),
    };
    if made && !enable(base) && into(base).is_ok() {
        // The leaf may contain another process.
        let _ = fs::remove_dir(&leaf);
    }
}

/// Enables the available controllers that are not enabled yet. Returns false if a process prevents it. Uses one
/// write: if `pids` and `cpu` are enabled separately while a process is present, they become threaded, and the
/// children cannot hold processes.
fn enable(directory: &Path) -> bool {
    let control = directory.join("cgroup.subtree_control");
    let given = words(&control);
    let there = words(&directory.join("cgroup.controllers"));
    let wanted: Vec<String> = CONTROLLERS
        .into_iter()
        .filter(|name| there.iter().any(|one| one == name) && !given.iter().any(|one| one == name))
        .map(|name| format!("+{name}"))
        .collect();
    match fs::write(&control, wanted.join(" ")) {
        Ok(()) => true,
        Err(error) => error.kind() != ErrorKind::ResourceBusy,
    }
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the limits for which `directory` has no file, with the reasons.
fn missing(base: &Path, directory: &Path) -> Vec<NotEnforced> {
    let there = words(&base.join("cgroup.controllers"));
    let given = words(&base.join("cgroup.subtree_control"));
    let gap = |limit: &'static str| {
        let (controller, file) = match limit {
            "memory" => ("memory", "memory.max"),
            "swap" => ("memory", "memory.swap.max"),
            "pids" => ("pids", "pids.max"),
            "cpu" => ("cpu", "cpu.max"),
            _ => ("io", "io.stat"),
        };
        if directory.join(file).exists() {
            return None;
        }
        let shown = base.display();
        let why = if !there.iter().any(|one| one == controller) {
            format!("`{shown}` has no controller `{controller}`")
        } else if !given.iter().any(|one| one == controller) {
            format!("`{shown}` cannot delegate its controller `{controller}`: it contains other processes")
        } else {
            format!("this kernel has no `{file}`")
        };
        Some(NotEnforced { limit, cause: cause(limit, &why) })
    };
    LIMITS.into_iter().filter_map(gap).collect()
}
