//! What this host can enforce: bubblewrap, user namespaces, and every layer as it is seen from inside a
//! sandbox that is really started.

use std::path::PathBuf;

use airlock_mounts::TemporaryDir;
use airlock_sandbox::{
    CapabilityReport, CgroupConfig, Check, Config, DiskConfig, HostIds, InstalledShell, Launcher, Profile,
    UidIsolation, disk_check, unusable,
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
    /// What sessions may take of the disk.
    pub disk: DiskConfig,
    /// A folder on the disk of sessions, in which something can be made for a moment; none: `scratch`.
    pub disk_folder: Option<PathBuf>,
}

/// Starts two sandboxes, tries to get out of them, and says what holds. Blocks for some tens of milliseconds.
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

/// The shells that read commands; nothing where no sandbox was there to see them in.
fn shells(report: &CapabilityReport) -> Option<Finding> {
    let name = |shell: &InstalledShell| format!("{} {}", shell.name, shell.version).trim().to_owned();
    let names: Vec<String> = report.shells.iter().map(name).collect();
    (!names.is_empty()).then(|| Finding::ok("shells", names.join(", ")))
}

/// How sessions would be held to what they may take of the disk, and whether a runner would start.
fn disk(probe: &Probe) -> (Check, bool) {
    let folder = probe.disk_folder.as_ref().unwrap_or(&probe.scratch);
    let scratch = TemporaryDir::new_in(".airlock-doctor-", folder);
    // Where nothing can be made, there is more to mend first, and this line says the rest.
    let path = scratch.as_ref().map_or(folder.as_path(), |scratch| scratch.path());
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
