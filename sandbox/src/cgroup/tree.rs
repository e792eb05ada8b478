//! A launcher's cgroup, its record in the state directory, and the controllers that it has.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, AtFlags, CWD, accessat, statfs};

use super::limits::{LIMITS, NotEnforced, cause};
use crate::runtime::random_name;

/// The cgroup into which the runner moves out of its own. A cgroup with processes cannot give controllers to its
/// children.
const LEAF: &str = "airlock-runner";
/// The controllers that are enabled if available.
const CONTROLLERS: [&str; 4] = ["memory", "pids", "cpu", "io"];

/// A launcher's cgroup. It is removed with the last sandbox in it.
#[derive(Debug)]
pub(super) struct Tree {
    state: PathBuf,
    directory: PathBuf,
    missing: Vec<NotEnforced>,
    made: AtomicU64,
}

impl Tree {
    /// Creates a cgroup in `parent` or in the runner's own, and enables the available controllers.
    pub(super) fn make(parent: Option<&Path>, state: &Path) -> Result<Self, String> {
        let own = own_cgroup();
        let base = match (parent, &own) {
            (Some(parent), _) => parent.to_owned(),
            (None, Ok(own)) => divided(own).to_owned(),
            (None, Err(why)) => return Err(why.clone()),
        };
        if !is_cgroup(&base) {
            return Err(format!("`{}` is not a cgroup of version 2", base.display()));
        }
        if let Ok(own) = &own {
            may_move(own, &base)?;
        }
        let name = random_name().map_err(|error| error.to_string())?;
        let directory = base.join(format!("{PREFIX}{name}"));
        write_record(state, &directory).map_err(|error| format!("`{}`: {error}", state.display()))?;
        let failed = |error: io::Error| format!("cannot create a cgroup in `{}`: {error}", base.display());
        fs::create_dir(&directory).map_err(failed)?;
        let mut tree =
            Self { state: state.to_owned(), directory, missing: Vec::new(), made: AtomicU64::new(0) };
        if !tree.directory.join("cgroup.kill").exists() {
            return Err("`cgroup.kill` needs Linux 5.14".to_owned());
        }
        give_controllers(&base, own.ok().as_deref());
        enable(&tree.directory);
        tree.missing = missing(&base, &tree.directory);
        Ok(tree)
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn missing(&self) -> &[NotEnforced] {
        &self.missing
    }

    pub(super) fn has(&self, limit: &str) -> bool {
        !self.missing.iter().any(|gap| gap.limit == limit)
    }

    /// Creates the directory of a new sandbox's cgroup.
    pub(super) fn make_child(&self) -> io::Result<PathBuf> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let directory = self.directory.join(number.to_string());
        fs::create_dir(&directory)?;
        Ok(directory)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // If the removal fails, the next start repeats it from the record.
        if fs::remove_dir(&self.directory).is_ok() {
            let _ = remove_record(&self.state, &self.directory);
        }
    }
}

/// Returns the cgroup that the runner may divide if it is in `own`. This is the parent of `own` if an earlier
/// launcher has moved the runner into the leaf, and otherwise `own` itself.
fn divided(own: &Path) -> &Path {
    match own.parent() {
        Some(above) if own.file_name().is_some_and(|name| name == LEAF) => above,
        _ => own,
    }
}

/// Checks for write access to the nearest common parent of both cgroups, which a move requires.
fn may_move(from: &Path, to: &Path) -> Result<(), String> {
    let common: PathBuf = from
        .components()
        .zip(to.components())
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one)
        .collect();
    let file = common.join("cgroup.procs");
    accessat(CWD, &file, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
}

/// Enables the controllers for the children of `base`. If processes prevent this and the runner is one of them, it
/// moves into a leaf. If other processes still prevent it, the runner moves back.
fn give_controllers(base: &Path, own: Option<&Path>) {
    if enable(base) || own != Some(base) {
        return;
    }
    let leaf = base.join(LEAF);
    let into = |directory: &Path| fs::write(directory.join("cgroup.procs"), std::process::id().to_string());
    let made = match fs::create_dir(&leaf) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return,
        _ => into(&leaf).is_ok(),
    };
    if made && !enable(base) && into(base).is_ok() {
        // The leaf may contain another process.
        let _ = fs::remove_dir(&leaf);
    }
}

/// Enables the available controllers that are not enabled yet. Returns false if a process prevents it. Uses one
/// write: if `pids` and `cpu` are enabled separately while a process is present, they become threaded, and the
/// children cannot hold processes.
fn enable(directory: &Path) -> bool {
    let control = directory.join("cgroup.subtree_control");
    let given = words(&control);
    let there = words(&directory.join("cgroup.controllers"));
    let wanted: Vec<String> = CONTROLLERS
        .into_iter()
        .filter(|name| there.iter().any(|one| one == name) && !given.iter().any(|one| one == name))
        .map(|name| format!("+{name}"))
        .collect();
    match fs::write(&control, wanted.join(" ")) {
        Ok(()) => true,
        Err(error) => error.kind() != ErrorKind::ResourceBusy,
    }
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns the limits for which `directory` has no file, with the reasons.
fn missing(base: &Path, directory: &Path) -> Vec<NotEnforced> {
    let there = words(&base.join("cgroup.controllers"));
    let given = words(&base.join("cgroup.subtree_control"));
    let gap = |limit: &'static str| {
        let (controller, file) = match limit {
            "memory" => ("memory", "memory.max"),
            "swap" => ("memory", "memory.swap.max"),
            "pids" => ("pids", "pids.max"),
            "cpu" => ("cpu", "cpu.max"),
            _ => ("io", "io.stat"),
        };
        if directory.join(file).exists() {
            return None;
        }
        let shown = base.display();
        let why = if !there.iter().any(|one| one == controller) {
            format!("`{shown}` has no controller `{controller}`")
        } else if !given.iter().any(|one| one == controller) {
            format!("`{shown}` cannot delegate its controller `{controller}`: it contains other processes")
        } else {
            format!("this kernel has no `{file}`")
        };
        Some(NotEnforced { limit, cause: cause(limit, &why) })
    };
    LIMITS.into_iter().filter_map(gap).collect()
}

/// The prefix of launchers' cgroups. 128 random bits follow.
pub(super) const PREFIX: &str = "airlock-";
/// The file in the state directory that records the launcher's cgroup.
pub(super) const RECORD: &str = "cgroup";

/// Records a launcher's cgroup, before it is created.
pub(super) fn write_record(state: &Path, directory: &Path) -> io::Result<()> {
    fs::write(state.join(RECORD), directory.as_os_str().as_encoded_bytes())
}

/// Removes the record, if it still names this cgroup.
fn remove_record(state: &Path, directory: &Path) -> io::Result<()> {
    match read_record(state)? {
        Some(recorded) if recorded == directory => fs::remove_file(state.join(RECORD)),
        _ => Ok(()),
    }
}

/// Returns the recorded cgroup.
pub(super) fn read_record(state: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_to_string(state.join(RECORD)) {
        Ok(text) => Ok(Some(text.into())),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The magic number of a cgroup2 file system.
const MAGIC: u64 = 0x6367_7270;

/// Returns the directory of this process's own cgroup.
pub(super) fn own_cgroup() -> Result<PathBuf, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let mounts = read("/proc/self/mountinfo")?;
    let own = read("/proc/self/cgroup")?;
    let own = own_path(&own).ok_or("no hierarchy of version 2")?;
    let mut directories = mount_points(&mounts).filter_map(|(root, point)| directory(root, point, own));
    let directory = directories.find(|directory| is_cgroup(directory));
    directory.ok_or_else(|| "no cgroup2 mount contains the runner's cgroup".to_owned())
}

/// Reports whether the directory is a cgroup of version 2.
pub(super) fn is_cgroup(directory: &Path) -> bool {
    statfs(directory).is_ok_and(|found| u64::try_from(found.f_type) == Ok(MAGIC))
}

/// Returns the path of the version 2 line, which has the number 0 and no controllers.
fn own_path(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Returns root and mount point of each cgroup2 mount.
fn mount_points(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // Space, tab and similar characters are written as octal numbers. Such paths are not supported.
        (kind.starts_with("cgroup2 ") && !point.contains('\\')).then_some((root, point))
    })
}

/// Returns the directory of the cgroup `own` below a mount of the cgroup `root`.
fn directory(root: &str, point: &str, own: &str) -> Option<PathBuf> {
    let below = Path::new(own).strip_prefix(root).ok()?;
    // A path with `..` is outside the runner's cgroup namespace.
    let inside = !below.components().any(|part| part == Component::ParentDir);
    inside.then(|| Path::new(point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURE: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const HYBRID: &str = "31 30 0:28 / /sys/fs/cgroup/unified rw,relatime shared:6 - cgroup2 cgroup2 rw\n\
                          32 30 0:29 / /sys/fs/cgroup/memory rw shared:7 - cgroup cgroup rw,memory\n";

    fn place(mounts: &str, own: &str) -> Option<PathBuf> {
        let own = own_path(own)?;
        mount_points(mounts).find_map(|(root, point)| directory(root, point, own))
    }

    #[test]
    fn pure_hybrid_and_none() {
        let service = "0::/system.slice/airlock-runner.service\n";
        let expected = "/sys/fs/cgroup/system.slice/airlock-runner.service";
        assert_eq!(place(PURE, service), Some(expected.into()));
        assert_eq!(place(HYBRID, "9:pids:/x\n0::/\n"), Some("/sys/fs/cgroup/unified/".into()));
        assert_eq!(place(HYBRID, "9:pids:/x\n"), None);
        assert_eq!(
            place("32 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "0::/\n"),
            None
        );
    }

    #[test]
    fn a_containers_part_of_the_hierarchy() {
        let bound = PURE.replace(" / /sys", " /docker/abc /sys");
        assert_eq!(place(&bound, "0::/docker/abc/x\n"), Some("/sys/fs/cgroup/x".into()));
        assert_eq!(place(&bound, "0::/elsewhere\n"), None);
        assert_eq!(place(PURE, "0::/../other\n"), None, "outside of the cgroup namespace");
    }
}
