//! Tests of sessions with their own file system: created, restored, lost, and removed without leftovers. Each test has
//! private mounts, which end with its thread.

use airlock_mounts::{PrivateMounts, ScratchDir};
use airlock_sandbox::DiskBackend;

use super::*;

const MIB: u64 = 1 << 20;

fn apart(test: impl FnOnce(&PrivateMounts, &Path) + Send) {
    let dir = ScratchDir::new();
    PrivateMounts::run(|private| test(private, dir.path()));
}

fn restore(state: &Path, backend: DiskBackend) -> Result<SessionTable, SessionError> {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(16 * MIB), inodes: Some(500) };
    let range = UidRange::new(40_000_000, 64);
    SessionTable::restore(state, UidIsolation::detect(), range, 8, COPY, disk)
}

/// Returns the number of mounts below the sessions directory, and of its images that a loop device holds.
fn left(state: &Path) -> (usize, usize) {
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo").unwrap();
    let sessions = format!("{}/sessions", state.display());
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    let backing = devices.filter_map(|one| fs::read_to_string(one.path().join("loop/backing_file")).ok());
    let images = backing.filter(|file| file.contains(&*state.to_string_lossy())).count();
    (mounts.lines().filter(|line| line.contains(&sessions)).count(), images)
}

fn lives(backend: DiskBackend) {
    apart(|_, state| {
        let base = state.join("base");
        fs::create_dir(&base).unwrap();
        fs::write(base.join("file"), "of the base").unwrap();
        let before = restore(state, backend).unwrap();
        let session = open(&before, Some(&base)).unwrap();
        assert_eq!(fs::metadata(&session.directories().root).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::read(session.directories().workspace.join("file")).unwrap(), b"of the base");
        fs::create_dir(session.directories().workspace.join("deep")).unwrap();
        // The runner can store the current directory even if the session's disk is full.
        let full = fs::write(session.directories().home.join("big"), vec![1; 17 << 20]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
        assert!(session.disk().full().unwrap().is_some());
        assert_eq!(session.keep_directory(b"/workspace/deep"), DirectoryReport::Reported);
        drop(before);
        assert_eq!(left(state).1, 0, "a normal end leaves no loop device");

        let after = restore(state, backend).unwrap();
        let again = after.get(&session.id).unwrap();
        assert_eq!(again.directory(), b"/workspace/deep");
        assert_eq!(fs::read(again.directories().workspace.join("file")).unwrap(), b"of the base");
        // As after a kill: the existing mount is found.
        std::mem::forget(after);
        let third = restore(state, backend).unwrap();
        let again = third.get(&session.id).unwrap();
        assert_eq!(fs::read(again.directories().workspace.join("file")).unwrap(), b"of the base");
        close(&third, &again);
        assert_eq!((entries(&state.join("sessions")), entries(&state.join("trash"))), (0, 0));

        // A creation that is cancelled, one with a failing base, and one that a killed runner left incomplete.
        let Opening::Reserved(reserved) = third.reserve(SessionId::new()) else {
            panic!("the session is new")
        };
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
fn a_session_in_an_image_survives_a_restart_and_leaves_nothing() {
    lives(DiskBackend::Loop);
}

#[test]
fn a_session_in_memory_lives_on_and_leaves_nothing() {
    lives(DiskBackend::Tmpfs);
}

#[test]
fn a_session_whose_memory_is_gone_is_lost_with_its_reason() {
    apart(|private, state| {
        let before = restore(state, DiskBackend::Tmpfs).unwrap();
        let session = open(&before, None).unwrap();
        let kept = open(&before, None).unwrap();
        drop(before);
        private.unmount(&session.directories().root);
        let after = restore(state, DiskBackend::Watch).unwrap();
        assert!(after.get(&session.id).is_none());
        let [(lost, why)] = after.lost() else { panic!("{:?}", after.lost()) };
        assert_eq!(*lost, session.id);
        assert!(why.contains("were in memory"), "{why}");
        // The other session keeps its mechanism, although new sessions use another.
        let again = after.get(&kept.id).unwrap();
        assert_eq!(again.disk().backend(), DiskBackend::Tmpfs);
        assert_eq!(open(&after, None).unwrap().disk().backend(), DiskBackend::Watch);
        close(&after, &again);
    });
}

#[test]
fn a_session_in_which_something_is_mounted_is_not_removed_and_loses_nothing() {
    apart(|private, state| {
        let elsewhere = state.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("precious"), "kept").unwrap();
        let sessions = restore(state, DiskBackend::Watch).unwrap();
        let session = open(&sessions, None).unwrap();
        let place = session.directories().workspace.join("place");
        fs::create_dir(&place).unwrap();
        fs::write(session.directories().home.join("own"), "").unwrap();
        private.assert();
        // On the same file system, so that the device number cannot reveal the mount.
        let mounted = private.bind(&elsewhere, &place);
        assert!(matches!(sessions.begin_close(&session.id), Closing::Begun(_)));
        let said = sessions.remove(&session).unwrap_err().to_string();
        let trashed = state.join("trash").join(session.place.file_name().unwrap());
        let place_of = format!("{}/", trashed.display());
        assert!(said.contains(&place_of) && said.contains("is a mount point"), "{said}");
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"kept");
        drop(sessions);
        let said = restore(state, DiskBackend::Watch).unwrap_err().to_string();
        assert!(said.contains("empty the trash") && said.contains("unmount it"), "{said}");
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"kept");
        let moved = trashed.join(place.strip_prefix(&session.place).unwrap());
        std::mem::forget(mounted);
        private.unmount(moved);
        let sessions = restore(state, DiskBackend::Watch).unwrap();
        assert_eq!((entries(&state.join("sessions")), entries(&state.join("trash"))), (0, 0), "the control");
        assert_eq!(fs::read(elsewhere.join("precious")).unwrap(), b"kept");
        drop(sessions);
    });
}

#[test]
fn a_base_that_does_not_fit_is_told_as_that() {
    apart(|_, state| {
        let base = state.join("base");
        fs::create_dir(&base).unwrap();
        for number in 0..600 {
            fs::write(base.join(number.to_string()), "").unwrap();
        }
        let sessions = restore(state, DiskBackend::Tmpfs).unwrap();
        let said = open(&sessions, Some(&base)).unwrap_err().to_string();
        assert!(
            said.contains("files and directories is reached") && said.contains("raise `workspace.bytes`"),
            "{said}"
        );
        assert_eq!(entries(&state.join("sessions")), 0);
    });
}
