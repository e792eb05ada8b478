//! The configuration of cgroups, and the limits that a host does not enforce.

use std::path::PathBuf;

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

/// The limits of a cgroup.
pub(super) const LIMITS: [&str; 5] = ["memory", "swap", "pids", "cpu", "io"];

/// Returns the reason why a limit is not enforced, and the limit that applies instead.
pub(super) fn cause(limit: &str, why: &str) -> String {
    match limit {
        "pids" => format!("{why}; RLIMIT_NPROC applies instead"),
        _ => why.to_owned(),
    }
}
