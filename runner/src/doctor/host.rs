//! What this host can enforce: bubblewrap, user namespaces, and every layer as it is seen from inside a
//! sandbox that is really started.

use std::path::PathBuf;

use airlock_sandbox::{
    CapabilityReport, CgroupConfig, Config, HostIds, Launcher, Profile, UidIsolation, unusable,
};

use super::Finding;

/// How to look at a host.
#[derive(Debug, Clone)]
pub struct Probe {
    /// bubblewrap, as an absolute path.
    pub bwrap: PathBuf,
    /// A folder of the caller's own, in which nothing stays.
    pub scratch: PathBuf,
    /// A host uid, and gid of the same number, that nothing else runs under; used only by root.
    pub uid: Option<u32>,
    /// Layers that are needed besides those of the sandbox's own floor.
    pub require: Vec<String>,
    /// Where cgroups would be made.
    pub cgroup: CgroupConfig,
}

/// Starts two sandboxes, tries to get out of them, and says what holds. Blocks for some tens of milliseconds.
#[must_use]
pub fn host(probe: &Probe) -> Vec<Finding> {
    let report = look(probe);
    let below: Vec<&str> = report.below_floor(&probe.require).map(|check| check.name).collect();
    report.checks.iter().map(|check| Finding::of(check, below.contains(&check.name))).collect()
}

fn look(probe: &Probe) -> CapabilityReport {
    let isolation = UidIsolation::detect();
    let launcher = Launcher::new(Config {
        bwrap: probe.bwrap.clone(),
        state: probe.scratch.join("launcher"),
        uid_isolation: isolation,
        cgroup: probe.cgroup.clone(),
    });
    let ids = match isolation {
        UidIsolation::PerSession => probe.uid.map(|uid| HostIds { uid, gid: uid }),
        UidIsolation::None => None,
    };
    match launcher {
        Ok(launcher) => launcher.report(&Profile::minimal(), &probe.scratch, ids),
        Err(error) => unusable(&error),
    }
}
