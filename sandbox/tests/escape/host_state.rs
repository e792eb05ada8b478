//! The state of the host before and after a test: its clock, mounts, processes, control groups, settings and files.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::support::eventually;

/// Files that determine permissions, running programs and their configuration.
const FILES: [&str; 20] = [
    "/bin/bash",
    "/etc/crontab",
    "/etc/environment",
    "/etc/group",
    "/etc/gshadow",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/passwd",
    "/etc/profile",
    "/etc/resolv.conf",
    "/etc/shadow",
    "/etc/sudoers",
    "/root/.bashrc",
    "/root/.profile",
    "/root/.ssh/authorized_keys",
    "/usr/bin/bwrap",
    "/usr/bin/env",
    "/usr/bin/setpriv",
];
const SETTINGS: [&str; 9] = [
    "/proc/modules",
    "/proc/swaps",
    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/domainname",
    "/proc/sys/kernel/hostname",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/vm/overcommit_memory",
];
/// The maximum drift between the wall clock and the monotonic clock during a test.
const DRIFT: Duration = Duration::from_secs(1);

/// The state that must not change.
pub(crate) struct HostState {
    clock: RangeInclusive<Duration>,
    facts: BTreeSet<String>,
}

impl HostState {
    pub(crate) fn now() -> Self {
        Self { clock: clock_offset(), facts: facts() }
    }

    /// Checks that the host is unchanged, and that no process of these uids remains.
    #[track_caller]
    pub(crate) fn assert_unchanged(&self, uids: &[u32]) {
        let (before, now) = (&self.clock, clock_offset());
        let earlier = before.start().saturating_sub(*now.end());
        let later = now.start().saturating_sub(*before.end());
        assert!(earlier.max(later) < DRIFT, "the clock of the host jumped from {before:?} to {now:?}");
        eventually("no process is left", || processes_of(uids).is_empty());
        assert_eq!(groups_of(uids), Vec::<PathBuf>::new());
        // Changes of concurrent tests disappear again, and do not count.
        let mut left: Option<BTreeSet<String>> = None;
        eventually("the host is as it was; the changes are printed above", || {
            let mut now: BTreeSet<String> = self.facts.symmetric_difference(&facts()).cloned().collect();
            if let Some(left) = &left {
                now.retain(|fact| left.contains(fact));
            }
            if left.as_ref() != Some(&now) {
                println!("changes of the host: {now:#?}");
            }
            left.insert(now).is_empty()
        });
    }
}

/// Returns the offset of the wall clock from the time since the host's boot, as a minimum and a maximum. The range
/// exists because this process may be delayed between two reads of a clock.
fn clock_offset() -> RangeInclusive<Duration> {
    let now = |clock| {
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
    };
    let (before, wall, after) = (now(ClockId::Boottime), now(ClockId::Realtime), now(ClockId::Boottime));
    wall - after..=wall - before
}

fn facts() -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for path in FILES {
        facts.insert(format!("file {path}: {}", file(Path::new(path))));
    }
    for path in SETTINGS {
        facts.insert(format!("setting {path}: {}", fs::read_to_string(path).unwrap_or_default()));
    }
    let mounts = fs::read_to_string("/proc/1/mountinfo").unwrap();
    // The image of the virtual machine may be built meanwhile.
    let mounts = mounts.lines().filter(|line| !line.contains("/airlock/vm/"));
    facts.extend(mounts.map(|line| format!("mount {line}")));
    let interfaces = fs::read_dir("/sys/class/net").unwrap().flatten();
    facts.extend(interfaces.map(|entry| format!("interface {:?}", entry.file_name())));
    for kind in ["shm", "sem", "msg"] {
        let list = fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        let ids = list.lines().skip(1).map(|line| line.split_whitespace().take(2).collect::<String>());
        facts.extend(ids.map(|id| format!("{kind} {id}")));
    }
    facts
}

fn file(path: &Path) -> String {
    let Ok(found) = fs::symlink_metadata(path) else {
        return "absent".to_owned();
    };
    let mut hash = DefaultHasher::new();
    fs::read(path).unwrap_or_default().hash(&mut hash);
    let (mode, uid, gid) = (found.mode(), found.uid(), found.gid());
    format!("{mode:o} {uid}:{gid} {} {:x}", found.mtime(), hash.finish())
}

/// Returns the control groups of these uids.
fn groups_of(uids: &[u32]) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::from("/sys/fs/cgroup")]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(seen) = entry.metadata() else { continue };
            if seen.is_dir() {
                found.extend(uids.contains(&seen.uid()).then(|| entry.path()));
                open.push(entry.path());
            }
        }
    }
    found
}

/// Returns the processes with one of these uids. Reads their status, because root can own the files below `/proc`.
pub(crate) fn processes_of(uids: &[u32]) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let of = |path: &PathBuf| {
        let status = fs::read_to_string(path.join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:\t"))?;
        line.split('\t').next()?.parse::<u32>().ok()
    };
    entries.filter(|path| of(path).is_some_and(|uid| uids.contains(&uid))).collect()
}
