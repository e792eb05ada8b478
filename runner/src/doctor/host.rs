//! Checks of this host: bubblewrap, user namespaces, and each layer as observed from inside a real sandbox.

use std::path::PathBuf;

use airlock_mounts::TemporaryDir;
use airlock_sandbox::{
    CapabilityReport, CgroupConfig, Check, Config, DiskConfig, HostIds, InstalledShell, Launcher, Profile,
    UidIsolation, disk_check, unusable,
};

use super::finding::Finding;

/// The parameters of a check of the host.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The absolute path of bubblewrap.
    pub bwrap: PathBuf,
    /// A directory of the caller. The check leaves nothing in it.
    pub scratch: PathBuf,
    /// A host uid, with a gid of the same number, that no other process uses. Used only as root.
    pub uid: Option<u32>,
    /// Layers that are required in addition to the sandbox's own floor.
    pub require: Vec<String>,
    /// The place for cgroups.
    pub cgroup: CgroupConfig,
    /// The disk limits of sessions.
    pub disk: DiskConfig,
    /// A directory on the disk of sessions, for temporary files. `None` means `scratch`.
    pub disk_directory: Option<PathBuf>,
}

/// Starts two sandboxes, tries to escape from them, and returns the layers that hold. Blocks for some tens of
/// milliseconds.
#[must_use]
pub fn host(probe: &Probe) -> Vec<Finding> {
    let (disk, usable) = disk(probe);
    let disk_line = disk.name;
    let report = look(probe).with_disk(disk);
    let mut below: Vec<&str> = report.below_floor(&probe.require).map(|check| check.name).collect();
    below.extend((!usable).then_some(disk_line));
    let layers = report.checks.iter().map(|check| Finding::of(check, below.contains(&check.name)));
    layers.chain(shells(&report)).collect()
}

/// Returns the shells found inside the sandbox. `None` if no sandbox could be started.
fn shells(report: &CapabilityReport) -> Option<Finding> {
    let name = |shell: &InstalledShell| format!("{} {}", shell.name, shell.version).trim().to_owned();
    let names: Vec<String> = report.shells.iter().map(name).collect();
    (!names.is_empty()).then(|| Finding::ok("shells", names.join(", ")))
}

/// Checks how the disk usage of sessions would be limited. The second value states whether a runner would start.
fn disk(probe: &Probe) -> (Check, bool) {
    let directory = probe.disk_directory.as_ref().unwrap_or(&probe.scratch);
    let scratch = TemporaryDir::new_in(".airlock-doctor-", directory);
    // If no directory can be created, another finding reports the cause. This check reports the rest.
    let path = scratch.as_ref().map_or(directory.as_path(), |scratch| scratch.path());
    disk_check(probe.disk, path, ids(probe).map(|ids| ids.uid))
}

fn ids(probe: &Probe) -> Option<HostIds> {
    match UidIsolation::detect() {
        UidIsolation::PerSession => probe.uid.map(|uid| HostIds { uid, gid: uid }),
        UidIsolation::None => None,
    }
}

fn look(probe: &Probe) -> CapabilityReport {
    let isolation = UidIsolation::detect();
    let launcher = Launcher::new(Config {
        bwrap: probe.bwrap.clone(),
        state: probe.scratch.join("launcher"),
        uid_isolation: isolation,
        cgroup: probe.cgroup.clone(),
    });
    match launcher {
        Ok(launcher) => launcher.report(&Profile::minimal(), &probe.scratch, ids(probe)),
        Err(error) => unusable(&error),
    }
}
