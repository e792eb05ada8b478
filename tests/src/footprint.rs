//! The resources of a runner on its host for its sessions and commands: processes, mounts, loop devices, sockets,
//! cgroups, descriptors, files. Snapshots before and after a test must be equal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{leftovers::Leftovers, process::Process, site::Site};

/// A snapshot of these resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Processes with the uids of the runner's sessions, or with the site's directory in their details.
    pub processes: BTreeSet<String>,
    /// Mounts in the view of any process.
    pub mounts: BTreeSet<String>,
    /// Loop devices backed by a file of the site.
    pub loops: BTreeSet<String>,
    /// UNIX sockets at a path of the site.
    pub sockets: BTreeSet<String>,
    /// Cgroups below the launcher's.
    pub cgroups: BTreeSet<PathBuf>,
    /// All files in the runner's state directory except its journal.
    pub files: BTreeSet<PathBuf>,
    /// The runner's open descriptors by type; a held namespace is one of them. Sockets are excluded, because
    /// connections to servers may change at any time. Empty if the runner has ended.
    pub descriptors: BTreeMap<String, usize>,
}

impl Footprint {
    /// Takes a snapshot of the site's running runner.
    ///
    /// # Panics
    /// If it does not run.
    #[must_use]
    pub fn of(site: &Site, runner: &Process) -> Self {
        Self { descriptors: descriptors(runner.pid()), ..Self::without_runner(site) }
    }

    /// Takes a snapshot of the site after its runner has ended.
    #[must_use]
    pub fn without_runner(site: &Site) -> Self {
        let seen = Leftovers::look(&site.mark());
        let own = ["airlock-server", "airlock-runner"];
        let marked = seen.processes.into_iter().filter(|line| own.iter().all(|name| !line.contains(name)));
        let state = site.path().join("runner-1");
        let mut files = BTreeSet::new();
        walk(&state, &mut files);
        files.retain(|path| !path.to_string_lossy().contains("journal"));
        Self {
            processes: marked.chain(of_users(&site.uids())).collect(),
            mounts: seen.mounts,
            loops: loops(&site.mark()),
            sockets: seen.sockets,
            cgroups: cgroups(&state),
            files,
            descriptors: BTreeMap::new(),
        }
    }
}

/// Returns the processes with one of these uids.
fn of_users(uids: &std::ops::Range<u32>) -> Vec<String> {
    let directories = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    let of_user = |directory: &PathBuf| {
        let status = fs::read_to_string(directory.join("status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("Uid:")).unwrap_or_default();
        line.split_whitespace().skip(1).any(|uid| uid.parse().is_ok_and(|uid| uids.contains(&uid)))
    };
    directories.filter(of_user).map(|directory| directory.display().to_string()).collect()
}

/// Returns the open descriptors without the numbers that distinguish sockets, pipes or namespaces.
fn descriptors(pid: u32) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default().to_string_lossy().into_owned();
        let kind = target.split_once(":[").map_or(target.as_str(), |(kind, _)| kind);
        if kind != "socket" {
            *found.entry(kind.to_owned()).or_default() += 1;
        }
    }
    found
}

fn loops(mark: &str) -> BTreeSet<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten().map(|entry| entry.path());
    let backing = |device: PathBuf| fs::read_to_string(device.join("loop/backing_file")).ok();
    devices.filter_map(backing).filter(|file| file.contains(mark)).collect()
}

fn cgroups(state: &Path) -> BTreeSet<PathBuf> {
    let Ok(launcher) = fs::read_to_string(state.join("launcher/cgroup")) else { return BTreeSet::new() };
    let entries = fs::read_dir(launcher).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).collect()
}

fn walk(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            walk(&path, found);
        }
        found.insert(path);
    }
}
