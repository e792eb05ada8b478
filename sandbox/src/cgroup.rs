//! Control groups, version 2: they limit whole sandboxes, end them with one write, and measure their usage.
//!
//! A launcher has one cgroup, below the runner's own or a configured one, and in it one cgroup per sandbox. Must not
//! touch a cgroup that the state directory does not name. Must not report a limit as enforced if its controller is
//! missing.

mod limits;
mod one;
mod tree;

use std::path::Path;
use std::sync::Arc;
use std::{fs, io, time::Duration};

use crate::error::LaunchError;
use crate::spec::Limits;

pub use limits::{CgroupConfig, CgroupMode, NotEnforced};
use limits::{LIMITS, cause};
pub(crate) use one::{Cgroup, Usage};
use one::{kill, wait_until_empty};
use tree::{PREFIX, RECORD, Tree, is_cgroup};

/// The controllers that `Require` needs.
const REQUIRED: [&str; 3] = ["memory", "pids", "cpu"];

/// A launcher's part of the host's cgroups.
#[derive(Debug)]
pub(crate) struct Cgroups {
    tree: Result<Arc<Tree>, NotEnforced>,
}

impl Cgroups {
    /// Ends and removes the cgroups of an earlier process, and creates the launcher's own.
    pub(crate) fn new(config: &CgroupConfig, state: &Path) -> Result<Self, LaunchError> {
        sweep(state)?;
        let tree = match config.mode {
            CgroupMode::Off => Err("switched off".to_owned()),
            CgroupMode::Auto | CgroupMode::Require => Tree::make(config.parent.as_deref(), state),
        };
        let tree = tree.map(Arc::new).map_err(|cause| NotEnforced { limit: "cgroup", cause });
        let cgroups = Self { tree };
        let missing = cgroups.not_enforced();
        let missed = missing.iter().find(|gap| REQUIRED.contains(&gap.limit));
        match (config.mode, missed) {
            (CgroupMode::Require, Some(gap)) => Err(LaunchError::CgroupMissing { gap: gap.clone() }),
            _ => Ok(cgroups),
        }
    }

    /// Returns the directory of the launcher's cgroup.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.tree.as_ref().ok().map(|tree| tree.directory())
    }

    /// Creates a cgroup for one sandbox, with its limits. `None` if this host has no cgroups.
    pub(crate) fn enter(&self, limits: &Limits) -> Result<Option<Cgroup>, LaunchError> {
        self.tree.as_ref().ok().map(|tree| Cgroup::make(tree, limits)).transpose()
    }

    /// Returns the number by which RLIMIT_NPROC can exceed the limit of processes, because the cgroup enforces it.
    pub(crate) fn beyond_processes(&self) -> u64 {
        self.tree.as_ref().is_ok_and(|tree| tree.has("pids")).into()
    }

    pub(crate) fn not_enforced(&self) -> Vec<NotEnforced> {
        match &self.tree {
            Ok(tree) => tree.missing().to_vec(),
            Err(all) => {
                let each = LIMITS.map(|limit| NotEnforced { limit, cause: cause(limit, &all.cause) });
                [all.clone()].into_iter().chain(each).collect()
            }
        }
    }
}

/// The time for the remaining processes to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ends and removes the cgroup that a launcher with this state directory left, with all its processes. The next
/// launcher does the same. Must not be called while a launcher is active.
///
/// # Errors
///
/// If the record cannot be read, or if the cgroup cannot be ended within ten seconds or removed.
pub fn sweep(state: &Path) -> Result<(), LaunchError> {
    let record = state.join(RECORD);
    let Some(directory) =
        tree::read_record(state).map_err(|source| LaunchError::Runtime { path: record.clone(), source })?
    else {
        return Ok(());
    };
    let ours =
        directory.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    if ours && is_cgroup(&directory) {
        let removed = kill(&directory)
            .and_then(|()| wait_until_empty(&directory, PATIENCE))
            .and_then(|()| remove_with_children(&directory));
        removed.map_err(|source| LaunchError::Cgroup { path: directory, source })?;
    }
    fs::remove_file(&record).map_err(|source| LaunchError::Runtime { path: record, source })
}

/// Removes a cgroup and its children. The children have no children, because a sandbox has no cgroup file system.
fn remove_with_children(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())?;
        }
    }
    fs::remove_dir(directory)
}

#[cfg(test)]
mod tests;
