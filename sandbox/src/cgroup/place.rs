//! The mount point of the version 2 hierarchy, and the position of this process in it.

use std::fs;
use std::path::{Component, Path, PathBuf};

use rustix::fs::statfs;

/// The magic number of a cgroup2 file system.
const MAGIC: u64 = 0x6367_7270;

/// Returns the directory of this process's own cgroup.
pub(super) fn own() -> Result<PathBuf, String> {
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
    // A path with `..` lies outside the runner's cgroup namespace.
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
