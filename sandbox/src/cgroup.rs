//! Control groups, version 2: they limit whole sandboxes, end them with one write, and measure their usage.
//!
//! A launcher has one cgroup, below the runner's own or a configured one, and in it one cgroup per sandbox. Must not
//! touch a cgroup that the state directory does not name. Must not report a limit as enforced if its controller is
//! missing.

mod one;
mod place;
mod sweep;
mod tree;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::LaunchError;
use crate::spec::Limits;

pub(crate) use one::{Cgroup, Usage};
pub use sweep::sweep;
use tree::Tree;

/// Whether cgroups are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CgroupMode {
    /// Uses a cgroup if one can be created, with the available controllers.
    #[default]
    Auto,
    /// Refuses to start a launcher without the controllers `memory`, `pids` and `cpu`.
    Require,
    /// Uses no cgroup.
    Off,
}

/// The configuration of cgroups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CgroupConfig {
    /// Whether cgroups are used.
    pub mode: CgroupMode,
    /// The directory of a cgroup that the runner may divide. `None` means the runner's own cgroup.
    pub parent: Option<PathBuf>,
}

/// A limit that is not enforced on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotEnforced {
    /// The limit: `memory`, `swap`, `pids`, `cpu` or `io`. `cgroup` means all of them and the end by `cgroup.kill`.
    pub limit: &'static str,
    /// The reason, and the limit that applies instead, in one line.
    pub cause: String,
}

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
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.tree.as_ref().ok().map(|tree| tree.folder())
    }

    /// Creates a cgroup for one sandbox, with its limits. `None` if this host has no cgroups.
    pub(crate) fn enter(&self, limits: &Limits) -> Result<Option<Cgroup>, LaunchError> {
        self.tree.as_ref().ok().map(|tree| Cgroup::make(tree, limits)).transpose()
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

const LIMITS: [&str; 5] = ["memory", "swap", "pids", "cpu", "io"];

/// Returns the reason why a limit is not enforced, and the limit that applies instead.
fn cause(limit: &str, why: &str) -> String {
    match limit {
        "pids" => format!("{why}; RLIMIT_NPROC applies instead"),
        _ => why.to_owned(),
    }
}

#[cfg(test)]
mod tests;
