//! The resources of a runner on its host for its sessions and commands: processes, mounts, loop devices, sockets,
//! cgroups, descriptors, files. Also those that any program could leave on this host. Snapshots before and after a test
//! must be equal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{process::Process, site::Site};

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

/// A snapshot of resources with `mark` in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftovers {
    /// Other processes with the mark in their command line, environment or working directory.
    pub processes: BTreeSet<String>,
    /// Mounts with the mark in the view of any process.
    pub mounts: BTreeSet<String>,
    /// Network namespaces that processes or descriptors hold; only their number is known, because they
    /// have no names.
    pub sockets: BTreeSet<String>,
    /// Cgroups with `airlock` in their path.
    pub cgroups: BTreeSet<PathBuf>,
    /// Files in the directories for temporary files.
    pub temporary: BTreeSet<PathBuf>,
}

impl Leftovers {
    /// Takes a snapshot.
    #[must_use]
    pub fn look(mark: &str) -> Self {
        let mut found = Self {
            processes: BTreeSet::new(),
            mounts: BTreeSet::new(),
            sockets: BTreeSet::new(),
            cgroups: BTreeSet::new(),
            temporary: BTreeSet::new(),
        };
        for directory in entries("/proc") {
            let number = directory.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
            if number.is_some_and(|pid| pid != std::process::id()) {
                found.process(&directory, mark);
            }
        }
        for line in read("/proc/net/unix").lines().filter(|line| line.contains(mark)) {
            found.sockets.insert(line.split_whitespace().last().unwrap_or_default().to_owned());
        }
        cgroups_of_host(Path::new("/sys/fs/cgroup"), 0, &mut found.cgroups);
        for directory in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
            found.temporary.extend(entries(directory).into_iter().filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().to_lowercase().contains("airlock"))
            }));
        }
        found
    }

    fn process(&mut self, directory: &Path, mark: &str) {
        let text = |name: &str| read(directory.join(name)).replace('\0', " ");
        let line = text("cmdline");
        let current = fs::read_link(directory.join("cwd")).unwrap_or_default();
        if line.contains(mark) || text("environ").contains(mark) || current.to_string_lossy().contains(mark) {
            self.processes.insert(format!("{}: {line}", directory.display()));
        }
        for mount in text("mountinfo").lines().filter(|mount| mount.contains(mark)) {
            self.mounts.insert(mount.to_owned());
        }
    }
}

/// Returns the network namespaces of all processes.
#[must_use]
pub fn network_namespaces() -> BTreeSet<PathBuf> {
    entries("/proc").iter().filter_map(|directory| fs::read_link(directory.join("ns/net")).ok()).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

fn entries(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    fs::read_dir(directory).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

fn cgroups_of_host(directory: &Path, depth: u32, found: &mut BTreeSet<PathBuf>) {
    for path in entries(directory).into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains("airlock")) {
            found.insert(path.clone());
        }
        if depth < 4 {
            cgroups_of_host(&path, depth + 1, found);
        }
    }
}
