//! Control groups, version 2: limits of whole sandboxes, their end by one write,
//! and what they used.
//!
//! One cgroup per launcher, in the runner's own or in a given one, and in it one
//! per sandbox. Must not touch a cgroup that the state folder does not name, and
//! must not say that a limit holds whose controller is not there.

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
    /// Where one can be made, with the controllers that are there.
    #[default]
    Auto,
    /// A launcher without the controllers `memory`, `pids` and `cpu` is refused.
    Require,
    /// No.
    Off,
}

/// Where cgroups are made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CgroupConfig {
    /// Whether any are.
    pub mode: CgroupMode,
    /// The folder of a cgroup that is the runner's to divide; `None`: its own.
    pub parent: Option<PathBuf>,
}

/// A limit that is not enforced on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotEnforced {
    /// The limit: `memory`, `swap`, `pids`, `cpu`, `io`, or `cgroup` for all of
    /// them and the end by `cgroup.kill`.
    pub limit: &'static str,
    /// Why, and what holds in its place, in one line.
    pub cause: String,
}

/// The controllers that `Require` does not do without.
const REQUIRED: [&str; 3] = ["memory", "pids", "cpu"];

/// A launcher's part of the host's cgroups.
#[derive(Debug)]
pub(crate) struct Cgroups {
    tree: Result<Arc<Tree>, NotEnforced>,
}

impl Cgroups {
    /// Ends and removes what an earlier process has left, then makes the
    /// launcher's own.
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

    /// Where the launcher's cgroup is.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.tree.as_ref().ok().map(|tree| tree.folder())
    }

    /// A cgroup for one sandbox, with its limits set; `None` where there are
    /// none on this host.
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

/// Why a limit does not hold, and what holds in its place.
fn cause(limit: &str, why: &str) -> String {
    match limit {
        "pids" => format!("{why}; RLIMIT_NPROC holds in its place"),
        _ => why.to_owned(),
    }
}

#[cfg(test)]
mod tests;
