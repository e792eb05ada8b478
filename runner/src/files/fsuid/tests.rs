//! Tests of a fault in file work, simulated by reads that follow names. They check which files it can reach, and that a
//! thread keeps no rights of a session.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Barrier,
};

use super::*;

const ONE: (u32, u32) = (41_000_001, 41_000_001);
const OTHER: (u32, u32) = (41_000_002, 41_000_002);

/// A file of the runner, and the workspaces of two sessions with links to it.
struct Host {
    dir: tempfile::TempDir,
    secret: PathBuf,
}

impl Host {
    fn new() -> Self {
        assert!(geteuid().is_root(), "only a runner with root has a user per session");
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "of the runner").unwrap();
        fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
        let host = Self { dir, secret };
        for (uid, gid) in [ONE, OTHER] {
            let workspace = host.workspace((uid, gid));
            fs::create_dir(&workspace).unwrap();
            chown(&workspace, Some(uid), Some(gid)).unwrap();
            fs::set_permissions(&workspace, PermissionsExt::from_mode(0o700)).unwrap();
            symlink(&host.secret, workspace.join("link")).unwrap();
        }
        host
    }

    fn workspace(&self, owner: (u32, u32)) -> PathBuf {
        self.dir.path().join(owner.0.to_string())
    }
}

fn is_denied(path: &Path) -> bool {
    fs::read(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

/// The control of each attack: outside a section the thread can read the file.
fn assert_is_runner(host: &Host, before: &Rights) {
    assert_eq!(&Rights::now().unwrap(), before);
    assert_eq!(fs::read(&host.secret).unwrap(), b"of the runner");
    assert_eq!(fs::read(host.workspace(ONE).join("link")).unwrap(), b"of the runner");
}

#[test]
fn work_for_a_session_has_the_rights_of_its_user() {
    let host = Host::new();
    let before = Rights::now().unwrap();
    assert_is_runner(&host, &before);
    let own = host.workspace(ONE).join("own");
    let attack = || {
        assert!(is_denied(&host.secret));
        assert!(is_denied(&host.workspace(ONE).join("link")), "a planted link, opened without the check");
        assert!(is_denied(&host.workspace(OTHER).join("link")));
        assert!(fs::write(&host.secret, "changed").is_err());
        assert!(fs::rename(&host.secret, &own).is_err());
        assert!(fs::set_permissions(&host.secret, PermissionsExt::from_mode(0o644)).is_err());
        fs::write(&own, "of the session").unwrap();
        assert!(chown(&own, Some(0), Some(0)).is_err());
        // A file that the session's user cannot read is unreadable here too.
        fs::set_permissions(&own, PermissionsExt::from_mode(0o000)).unwrap();
        assert!(is_denied(&own));
    };
    as_session(Some(ONE), attack).unwrap();
    assert_is_runner(&host, &before);
    let made = fs::metadata(&own).unwrap();
    assert_eq!((made.uid(), made.gid()), ONE, "a new file belongs to the session from its creation");
    assert_eq!(fs::read(&own).unwrap(), b"of the session");
}

#[test]
fn groups_of_the_runner_give_no_rights_to_a_sessions_work() {
    let host = Host::new();
    fs::set_permissions(&host.secret, PermissionsExt::from_mode(0o640)).unwrap();
    chown(&host.secret, None, Some(4)).unwrap();
    let member = Rights { groups: vec![Gid::from_raw(4)], ..Rights::now().unwrap() };
    let held = hold(Rights::now().unwrap(), &member).unwrap();
    // The control: if only the uid changes, the group still grants access.
    let uid_only = Rights { uid: Uid::from_raw(ONE.0), ..member.clone() };
    let half = hold(member.clone(), &uid_only).unwrap();
    assert!(fs::read(&host.secret).is_ok());
    drop(half);
    as_session(Some(ONE), || assert!(is_denied(&host.secret))).unwrap();
    assert_eq!(Rights::now().unwrap(), member);
    drop(held);
}

#[test]
fn work_for_a_session_may_not_pass_over_limits_of_the_disk_and_what_protects_names_may() {
    let before = Rights::now().unwrap();
    let may = || Rights::now().unwrap().over_limits;
    assert!(!as_session(Some(ONE), may).unwrap());
    // A process that was started without the right does not gain it.
    assert_eq!(as_session_over_limits(Some(ONE), may).unwrap(), before.over_limits);
    assert_eq!(as_session(Some(ONE), || as_runner(may).unwrap()).unwrap(), before.over_limits);
    assert_eq!(Rights::now().unwrap(), before);
}

#[test]
fn a_panic_leaves_nothing_of_the_session_on_its_thread() {
    let host = Host::new();
    let before = Rights::now().unwrap();
    let broken = catch_unwind(AssertUnwindSafe(|| {
        as_session(Some(ONE), || {
            as_runner(|| assert!(!is_denied(&host.secret))).unwrap();
            panic!("a bug in file operations");
        })
        .unwrap();
    }));
    assert!(broken.is_err());
    assert_is_runner(&host, &before);
}

#[test]
fn the_runners_own_files_are_reached_in_between_and_no_second_session() {
    let host = Host::new();
    let before = Rights::now().unwrap();
    let work = || {
        let inside = Rights::now().unwrap();
        assert_eq!(as_runner(|| fs::read(&host.secret).unwrap()).unwrap(), b"of the runner");
        assert_eq!(Rights::now().unwrap(), inside);
        assert!(is_denied(&host.secret));
        assert!(matches!(as_session(Some(OTHER), || ()), Err(FsuidError::Entered)));
        assert_eq!(Rights::now().unwrap(), inside);
    };
    as_session(Some(ONE), work).unwrap();
    as_runner(|| assert_is_runner(&host, &before)).unwrap();
    as_session(None, || assert_is_runner(&host, &before)).unwrap();
    assert_is_runner(&host, &before);
}

#[test]
fn sessions_at_work_at_once_do_not_get_each_others_rights() {
    let host = Host::new();
    let before = Rights::now().unwrap();
    let turns = Barrier::new(3);
    let work = |owner: (u32, u32), other: (u32, u32)| {
        for round in 0..200 {
            as_session(Some(owner), || {
                turns.wait();
                let file = host.workspace(owner).join(round.to_string());
                fs::write(&file, "own").unwrap();
                assert_eq!(fs::metadata(&file).unwrap().uid(), owner.0);
                turns.wait();
                assert!(is_denied(&host.workspace(other).join(round.to_string())));
                assert!(is_denied(&host.secret));
            })
            .unwrap();
            assert_eq!(Rights::now().unwrap(), before);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| work(ONE, OTHER));
        scope.spawn(|| work(OTHER, ONE));
        // The control, on a separate thread at the same time.
        for round in 0..200 {
            turns.wait();
            turns.wait();
            assert_is_runner(&host, &before);
            assert!(!is_denied(&host.workspace(ONE).join(round.to_string())));
        }
    });
}
