//! Resources that a program could leave on this host: processes, mounts, namespaces, cgroups, sockets
//! and files. Snapshots before and after a test must be equal.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

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
        cgroups(Path::new("/sys/fs/cgroup"), 0, &mut found.cgroups);
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

fn cgroups(directory: &Path, depth: u32, found: &mut BTreeSet<PathBuf>) {
    for path in entries(directory).into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().contains("airlock")) {
            found.insert(path.clone());
        }
        if depth < 4 {
            cgroups(&path, depth + 1, found);
        }
    }
}
