//! Tests with real disks, in a private mount namespace. Quotas need a kernel and a file system that support them, which
//! the virtual machine provides.

use std::fs;
use std::path::{Path, PathBuf};

use airlock_mounts::{PrivateMounts, ScratchDir, remove_tree};
use rustix::fs::CWD;
use rustix::io::Errno;

use super::disks::DISK;
use super::*;

const MIB: u64 = 1 << 20;

/// Runs `test` with private mounts, which end with its thread.
fn apart(test: impl FnOnce(&Path) + Send) {
    let directory = ScratchDir::new();
    PrivateMounts::run(|_| test(directory.path()));
}

fn place(sessions: &Path, name: &str) -> PathBuf {
    let place = sessions.join(name);
    fs::create_dir(&place).unwrap();
    place
}

fn config(backend: DiskBackend, bytes: u64, inodes: u64) -> DiskConfig {
    DiskConfig { backend: Some(backend), bytes: Some(bytes), inodes: Some(inodes) }
}

fn fill(root: &Path) -> (Errno, u64) {
    let mut written = 0;
    for number in 0.. {
        let failed = fs::write(root.join(number.to_string()), vec![1; 64 << 10]);
        let Err(error) = failed else {
            written += 64 << 10;
            continue;
        };
        return (Errno::from_io_error(&error).unwrap(), written);
    }
    unreachable!()
}

fn make_files(root: &Path) -> (Errno, u64) {
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::WRONLY;
    (0..)
        .find_map(|number: u64| {
            let path = root.join(format!("empty-{number}"));
            rustix::fs::openat(CWD, path, flags, rustix::fs::Mode::RUSR).err().map(|errno| (errno, number))
        })
        .unwrap()
}

/// Fills a disk, restarts with it, and removes it.
fn lives_and_goes(sessions: &Path, backend: DiskBackend) {
    let most = DiskUse { bytes: 24 * MIB, inodes: 400 };
    let disks = Disks::open(config(backend, most.bytes, most.inodes), sessions, None).unwrap();
    assert_eq!((disks.backend(), disks.check().is_enforced()), (backend, true));
    assert_eq!(fs::read_dir(sessions).unwrap().count(), 0, "the test directory was removed");
    let (own, other) = (place(sessions, "own"), place(sessions, "other"));
    let [disk, neighbour] = [&own, &other].map(|place| disks.make(place, None).unwrap());
    assert_eq!(disks.mount_root().as_deref(), Some(sessions));
    assert_eq!(disk.full().unwrap(), None);
    let (errno, written) = fill(disk.root());
    assert_eq!(errno, Errno::NOSPC);
    assert!((most.bytes / 2..=most.bytes).contains(&written), "{written}");
    assert!(disk.full().unwrap().is_some());
    assert_eq!(neighbour.full().unwrap(), None);
    fs::write(neighbour.root().join("file"), vec![1; 1 << 20]).unwrap();
    for number in 0..16 {
        fs::remove_file(disk.root().join(number.to_string())).unwrap();
    }
    assert_eq!(disk.full().unwrap(), None);
    let (errno, made) = make_files(disk.root());
    assert_eq!(errno, Errno::NOSPC);
    assert!(made <= most.inodes * 2, "{made}");
    assert!(disk.full().unwrap().unwrap().contains("files and directories is reached"));

    // An orderly stop of the process, and the next one.
    disks.unmount(&disk).unwrap();
    disks.unmount(&neighbour).unwrap();
    disks.leave();
    assert_eq!(disks.mount_root().is_some(), backend == DiskBackend::Tmpfs);
    let again = Disks::open(config(backend, most.bytes, most.inodes), sessions, None).unwrap();
    let taken = again.reopen(&other, None, backend).unwrap();
    assert_eq!(taken, neighbour);
    assert_eq!(fs::metadata(taken.root().join("file")).unwrap().len(), MIB);
    // The process was killed: its mounts still exist.
    assert_eq!(again.reopen(&other, None, backend).unwrap(), neighbour);
    let again_own = again.reopen(&own, None, backend).unwrap();
    let held = fs::File::open(again_own.root()).unwrap();
    for place in [&own, &other] {
        again.release(place, None).unwrap();
        assert_eq!(fs::read_dir(place.join(DISK)).unwrap().count(), 0, "there is no file below the mount");
        again.release(place, None).unwrap();
        remove_tree(place).unwrap();
    }
    drop(held);
    again.leave();
    assert_eq!(again.mount_root(), None);
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    assert!(!mounts.contains(sessions.to_str().unwrap()), "{mounts}");
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backing = devices.filter_map(|one| fs::read_to_string(one.path().join("loop/backing_file")).ok());
    let left: Vec<_> = backing.filter(|file| file.contains(sessions.to_str().unwrap())).collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn an_image_holds_lives_on_and_goes() {
    apart(|sessions| lives_and_goes(sessions, DiskBackend::Loop));
}

#[test]
fn memory_holds_lives_on_and_goes() {
    apart(|sessions| lives_and_goes(sessions, DiskBackend::Tmpfs));
}

#[test]
fn the_mount_of_disks_is_removed_while_another_process_uses_it() {
    apart(|sessions| {
        let disks = Disks::open(config(DiskBackend::Tmpfs, 16 * MIB, 100), sessions, None).unwrap();
        assert_eq!(disks.mount_root().as_deref(), Some(sessions));
        // As systemd does for a moment when the mount table changes: the kernel then answers EBUSY.
        let used = fs::File::open(sessions).unwrap();
        disks.leave();
        assert_eq!(disks.mount_root(), None);
        drop(used);
    });
}

#[test]
fn memory_that_is_gone_is_lost_and_not_empty() {
    apart(|sessions| {
        let disks = Disks::open(config(DiskBackend::Tmpfs, MIB, 100), sessions, None).unwrap();
        let place = place(sessions, "own");
        let disk = disks.make(&place, None).unwrap();
        mounts::unmount(disk.root()).unwrap();
        let lost = disks.reopen(&place, None, DiskBackend::Tmpfs).unwrap_err();
        assert!(matches!(lost, DiskError::Lost), "{lost}");
        assert!(lost.to_string().contains("were in memory"), "{lost}");
    });
}

#[test]
fn a_backend_that_cannot_work_says_why_and_auto_goes_on_without() {
    apart(|sessions| {
        let memory = sessions.join("memory");
        fs::create_dir(&memory).unwrap();
        // A file system in memory does not support projects.
        mounts::mount_memory(&memory, &config(DiskBackend::Tmpfs, MIB, 100)).unwrap();
        let asked = Disks::open(config(DiskBackend::Quota, MIB, 100), &memory, Some(40_000_063)).unwrap_err();
        let said = asked.to_string();
        assert!(said.starts_with("`workspace.backend` `quota` does not work here: "), "{said}");
        assert!(said.contains("prjquota"), "{said}");
        let auto = DiskConfig { backend: None, ..config(DiskBackend::Quota, MIB, 100) };
        let disks = Disks::open(auto, &memory, Some(40_000_063)).unwrap();
        assert_eq!(disks.backend(), DiskBackend::Watch);
        let check = disks.check();
        assert!(!check.is_enforced());
        assert!(check.seen.starts_with("watch: ") && check.seen.contains("; quota: "), "{}", check.seen);
        assert!(check.remedy.contains("prjquota"), "{}", check.remedy);
        assert_eq!(fs::read_dir(&memory).unwrap().count(), 0);
        let small = Disks::open(config(DiskBackend::Loop, MIB, 100), sessions, None).unwrap_err();
        assert!(small.to_string().contains("`workspace.bytes` must be 4194304 or more"), "{small}");
    });
}

#[test]
fn without_limits_nothing_is_tried_and_the_report_says_so() {
    let directory = ScratchDir::new();
    let disks = Disks::open(DiskConfig::default(), directory.path(), None).unwrap();
    let check = disks.check();
    assert_eq!((disks.backend(), check.is_enforced()), (DiskBackend::Watch, false));
    assert!(check.remedy.contains("workspace.bytes"), "{}", check.remedy);
    let place = place(directory.path(), "own");
    let disk = disks.make(&place, None).unwrap();
    assert_eq!((disk.used_and_left().unwrap(), disk.full().unwrap()), (None, None));
    disks.release(&place, None).unwrap();
}

#[test]
fn backends_have_their_names() {
    for name in ["quota", "loop", "tmpfs", "watch"] {
        assert_eq!(DiskBackend::named(name).unwrap().as_str(), name);
    }
    assert_eq!(DiskBackend::named("auto"), None);
}
