//! Sessions with a file system of their own: made, found again, lost, and nothing left, whatever way they go.
//! Each test has mounts of its own, which end with its thread.

use airlock_sandbox::DiskBackend;
use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};

use super::*;

const MIB: u64 = 1 << 20;

fn apart(test: impl FnOnce(&Path) + Send) {
    let dir = tempfile::tempdir().unwrap();
    let alone = || {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
        test(dir.path());
    };
    std::thread::scope(|scope| scope.spawn(alone).join().unwrap());
}

fn restore(state: &Path, backend: DiskBackend) -> Result<Sessions, SessionError> {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(16 * MIB), inodes: Some(500) };
    let range = UidRange::new(40_000_000, 64);
    Sessions::restore(state, UidIsolation::detect(), range, 8, COPY, disk)
}

/// Mounts below the folder of sessions, and images of it that a loop device holds.
fn left(state: &Path) -> (usize, usize) {
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let sessions = format!("{}/sessions", state.display());
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backing = devices.filter_map(|one| fs::read_to_string(one.path().join("loop/backing_file")).ok());
    let images = backing.filter(|file| file.contains(&*state.to_string_lossy())).count();
    (mounts.lines().filter(|line| line.contains(&sessions)).count(), images)
}

fn lives(backend: DiskBackend) {
    apart(|state| {
        let base = state.join("base");
        fs::create_dir(&base).unwrap();
        fs::write(base.join("file"), "of the base").unwrap();
        let before = restore(state, backend).unwrap();
        let session = open(&before, Some(&base)).unwrap();
        assert_eq!(fs::metadata(&session.folders.root).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read(session.folders.workspace.join("file")).unwrap(), b"of the base");
        fs::create_dir(session.folders.workspace.join("deep")).unwrap();
        // A full session does not keep the runner from noting where it is.
        let full = fs::write(session.folders.home.join("big"), vec![1; 17 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        assert!(session.disk().full().unwrap().is_some());
        assert_eq!(session.keep_directory(b"/workspace/deep"), DirectoryReport::Reported);
        drop(before);
        assert_eq!(left(state).1, 0, "an orderly end leaves no loop device");

        let after = restore(state, backend).unwrap();
        let again = after.get(&session.id).unwrap();
        assert_eq!(again.directory(), b"/workspace/deep");
        assert_eq!(fs::read(again.folders.workspace.join("file")).unwrap(), b"of the base");
        // As after a kill: what is mounted is found so.
        std::mem::forget(after);
        let third = restore(state, backend).unwrap();
        let again = third.get(&session.id).unwrap();
        assert_eq!(fs::read(again.folders.workspace.join("file")).unwrap(), b"of the base");
        close(&third, &again);
        assert_eq!((entries(&state.join("sessions")), entries(&state.join("trash"))), (0, 0));

        // One that is given up while it is made, one whose base fails, and one that a killed runner left half.
        let Opening::Reserved(reserved) = third.reserve(SessionId::new()) else { panic!("it is new") };
        third.begin_close(&reserved.id);
        assert!(matches!(third.make(&reserved, None, |_, _| {}), Err(SessionError::Cancelled)));
        fs::write(base.join("more"), vec![1; 2 << 20]).unwrap();
        assert_eq!(open(&third, Some(&base)).unwrap_err().reason(), "base");
        let half = open(&third, None).unwrap();
        fs::remove_file(half.place.join("session.json")).unwrap();
        drop(half);
        std::mem::forget(third);
        let last = restore(state, backend).unwrap();
        assert_eq!(last.all().len(), 0);
        assert_eq!((entries(&state.join("sessions")), entries(&state.join("trash"))), (0, 0));
        drop(last);
        assert_eq!(left(state), (0, 0));
    });
}

#[test]
fn a_session_in_an_image_lives_on_and_leaves_nothing() {
    lives(DiskBackend::Loop);
}

#[test]
fn a_session_in_memory_lives_on_and_leaves_nothing() {
    lives(DiskBackend::Tmpfs);
}

#[test]
fn a_session_whose_memory_is_gone_is_lost_with_its_reason() {
    apart(|state| {
        let before = restore(state, DiskBackend::Tmpfs).unwrap();
        let session = open(&before, None).unwrap();
        let kept = open(&before, None).unwrap();
        drop(before);
        unmount(&session.folders.root, UnmountFlags::DETACH).unwrap();
        let after = restore(state, DiskBackend::Watch).unwrap();
        assert!(after.get(&session.id).is_none());
        let [(lost, why)] = after.lost() else { panic!("{:?}", after.lost()) };
        assert_eq!(*lost, session.id);
        assert!(why.contains("kept in memory"), "{why}");
        // The other is as it was made, although new ones would be otherwise.
        let again = after.get(&kept.id).unwrap();
        assert_eq!(again.disk().backend(), DiskBackend::Tmpfs);
        assert_eq!(open(&after, None).unwrap().disk().backend(), DiskBackend::Watch);
        close(&after, &again);
    });
}

#[test]
fn a_base_that_does_not_fit_is_told_as_that() {
    apart(|state| {
        let base = state.join("base");
        fs::create_dir(&base).unwrap();
        for number in 0..600 {
            fs::write(base.join(number.to_string()), "").unwrap();
        }
        let sessions = restore(state, DiskBackend::Tmpfs).unwrap();
        let said = open(&sessions, Some(&base)).unwrap_err().to_string();
        assert!(said.contains("no more can be made") && said.contains("raise `workspace.bytes`"), "{said}");
        assert_eq!(entries(&state.join("sessions")), 0);
    });
}
