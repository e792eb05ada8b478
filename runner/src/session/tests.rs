//! Tests of sessions' directories: bases, restarts, and files of hostile commands.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::Path,
    sync::Arc,
};

use airlock_domain::{DirectoryReport, SessionId};
use airlock_mounts::remove_tree;
use airlock_sandbox::{DiskConfig, UidIsolation, UidRange};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::*;
use crate::files::BaselineLimits;

mod disks;

const COPY: CopyLimits = CopyLimits { bytes: 1 << 20, entries: 1000, baseline: BASELINE };
const BASELINE: BaselineLimits = BaselineLimits { bytes: 64 << 10, file_bytes: 4 << 10 };

fn sessions_with(state: &Path, limit: usize, copy: CopyLimits) -> SessionTable {
    let range = UidRange::new(40_000_000, 64);
    SessionTable::restore(state, UidIsolation::detect(), range, limit, copy, DiskConfig::default()).unwrap()
}

fn sessions(state: &Path) -> SessionTable {
    sessions_with(state, 8, COPY)
}

fn open(sessions: &SessionTable, base: Option<&Path>) -> Result<Arc<OpenSession>, SessionError> {
    match sessions.reserve(SessionId::new()) {
        Opening::Reserved(reserved) => sessions.make(&reserved, base.map(Path::to_owned).as_ref(), |_, _| {}),
        other => panic!("{other:?}"),
    }
}

fn close(sessions: &SessionTable, session: &OpenSession) {
    assert!(matches!(sessions.begin_close(&session.id), Closing::Begun(_)));
    sessions.remove(session).unwrap();
    assert!(matches!(sessions.begin_close(&session.id), Closing::Gone));
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_base_is_copied_without_what_is_not_a_file() {
    let dir = airlock_mounts::ScratchDir::new();
    let base = dir.path().join("base");
    fs::create_dir_all(base.join("sub/empty")).unwrap();
    fs::write(base.join("sub/program"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(base.join("sub/program"), fs::Permissions::from_mode(0o6755)).unwrap();
    fs::set_permissions(base.join("sub"), fs::Permissions::from_mode(0o555)).unwrap();
    symlink("/etc/shadow", base.join("link")).unwrap();
    symlink("nowhere", base.join("dangling")).unwrap();
    rustix::fs::mknodat(CWD, base.join("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::write(base.join(OsStr::from_bytes(b"odd \xff\nname")), vec![7; 100_000]).unwrap();

    let sessions = sessions(&dir.path().join("state"));
    let session = open(&sessions, Some(&base)).unwrap();
    let workspace = &session.directories().workspace;
    let program = fs::metadata(workspace.join("sub/program")).unwrap();
    assert_eq!(program.mode() & 0o7777, 0o755, "setuid and setgid are not copied");
    assert_eq!(program.mtime(), fs::metadata(base.join("sub/program")).unwrap().mtime());
    assert_eq!(fs::metadata(workspace.join("sub")).unwrap().mode() & 0o777, 0o555);
    assert_eq!(fs::read_link(workspace.join("link")).unwrap(), Path::new("/etc/shadow"));
    assert!(fs::symlink_metadata(workspace.join("pipe")).is_err());
    let odd = workspace.join(OsStr::from_bytes(b"odd \xff\nname"));
    assert_eq!(fs::read(&odd).unwrap(), vec![7; 100_000]);
    if let Some(ids) = session.ids {
        for path in [workspace.to_owned(), odd, workspace.join("sub/program"), workspace.join("link")] {
            assert_eq!(fs::symlink_metadata(path).unwrap().uid(), ids.uid);
        }
    }
    assert_eq!(fs::metadata(&session.directories().root).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn a_base_over_its_limits_or_missing_leaves_nothing() {
    let dir = airlock_mounts::ScratchDir::new();
    let (base, state) = (dir.path().join("base"), dir.path().join("state"));
    fs::create_dir(&base).unwrap();
    fs::write(base.join("a"), vec![0; 600 << 10]).unwrap();
    fs::write(base.join("b"), vec![0; 600 << 10]).unwrap();
    let by_bytes = sessions(&state);
    assert!(open(&by_bytes, Some(&base)).unwrap_err().to_string().contains("limits.base_bytes"));
    let by_entries = sessions_with(&state, 8, CopyLimits { bytes: 1 << 30, entries: 1, baseline: BASELINE });
    assert!(open(&by_entries, Some(&base)).unwrap_err().to_string().contains("limits.base_entries"));
    let missing = open(&by_bytes, Some(&dir.path().join("none"))).unwrap_err();
    assert_eq!(missing.reason(), "no_such_base");
    assert_eq!((entries(&state.join("sessions")), entries(&state.join("trash"))), (0, 0));
}

#[test]
fn closing_while_it_is_made_cancels_it() {
    let dir = airlock_mounts::ScratchDir::new();
    let sessions = sessions(dir.path());
    let id = SessionId::new();
    let Opening::Reserved(reserved) = sessions.reserve(id) else { panic!("the session is new") };
    assert!(matches!(sessions.reserve(id), Opening::Underway));
    assert!(matches!(sessions.begin_close(&id), Closing::Underway));
    assert!(matches!(sessions.make(&reserved, None, |_, _| {}), Err(SessionError::Cancelled)));
    assert!(matches!(sessions.begin_close(&id), Closing::Gone));
    assert_eq!(entries(&dir.path().join("sessions")), 0);
}

#[test]
fn a_close_at_any_moment_of_the_making_is_not_lost() {
    let dir = airlock_mounts::ScratchDir::new();
    let sessions = sessions(dir.path());
    for round in 0..400 {
        let Opening::Reserved(reserved) = sessions.reserve(SessionId::new()) else {
            panic!("the session is new")
        };
        let id = reserved.id;
        std::thread::scope(|scope| {
            let made = scope.spawn(|| sessions.make(&reserved, None, |_, _| {}));
            std::thread::sleep(std::time::Duration::from_micros(round));
            let closed = sessions.begin_close(&id);
            match (closed, made.join().unwrap()) {
                (Closing::Begun(session), Ok(_)) => sessions.remove(&session).unwrap(),
                (Closing::Underway, Err(SessionError::Cancelled)) => {}
                other => panic!("{other:?}"),
            }
        });
        assert!(matches!(sessions.begin_close(&id), Closing::Gone));
    }
    assert_eq!(entries(&dir.path().join("sessions")), 0);
}

#[test]
fn the_limit_is_kept_and_uids_are_used_again() {
    let dir = airlock_mounts::ScratchDir::new();
    let sessions = sessions_with(dir.path(), 2, COPY);
    let first = open(&sessions, None).unwrap();
    let second = open(&sessions, None).unwrap();
    assert!(first.ids.is_none() || first.ids != second.ids);
    assert!(matches!(sessions.reserve(SessionId::new()), Opening::Refused("too_many_sessions", _)));
    assert!(matches!(sessions.reserve(first.id), Opening::Open(_)));
    let freed = first.ids;
    close(&sessions, &first);
    assert_eq!(open(&sessions, None).unwrap().ids, freed);
}

#[test]
fn sessions_outlive_the_process_and_half_made_ones_do_not() {
    let dir = airlock_mounts::ScratchDir::new();
    let before = sessions(dir.path());
    let session = open(&before, None).unwrap();
    fs::create_dir(session.directories().workspace.join("deep")).unwrap();
    fs::write(session.directories().workspace.join("file"), "kept").unwrap();
    assert_eq!(session.keep_directory(b"/workspace/deep"), DirectoryReport::Reported);
    fs::create_dir_all(dir.path().join("sessions/0123/workspace/half")).unwrap();
    fs::create_dir_all(dir.path().join("trash/4567/workspace/dead")).unwrap();
    drop(before);

    let after = sessions(dir.path());
    let again = after.get(&session.id).unwrap();
    assert_eq!(again.directory(), b"/workspace/deep");
    assert_eq!(again.ids, session.ids);
    assert_eq!(fs::read(again.directories().workspace.join("file")).unwrap(), b"kept");
    assert_eq!(after.all().len(), 1);
    assert_eq!((entries(&dir.path().join("sessions")), entries(&dir.path().join("trash"))), (1, 0));
}

#[test]
fn a_session_that_cannot_be_opened_again_is_not_deleted() {
    let dir = airlock_mounts::ScratchDir::new();
    let before = sessions(dir.path());
    let session = open(&before, None).unwrap();
    let file = session.directories().workspace.join("file");
    fs::write(&file, "kept").unwrap();
    drop(before);
    let restore = |isolation, first| {
        let range = UidRange::new(first, 64);
        let restored = SessionTable::restore(dir.path(), isolation, range, 8, COPY, DiskConfig::default());
        restored.map(drop).map_err(|error| error.to_string())
    };
    let isolation = UidIsolation::detect();
    if session.ids.is_some() {
        let moved = restore(isolation, 41_000_000).unwrap_err();
        assert!(moved.contains("has uid 40000000, which is not in `uids`; correct this, or"), "{moved}");
        assert!(restore(UidIsolation::None, 40_000_000).unwrap_err().contains("cannot switch to"));
    }
    let saved = session.place.join("session.json");
    let text = fs::read(&saved).unwrap();
    fs::write(&saved, &text[..text.len() / 2]).unwrap();
    assert!(restore(isolation, 40_000_000).unwrap_err().contains("session.json"));
    assert_eq!(fs::read(&file).unwrap(), b"kept");
    fs::write(&saved, &text).unwrap();
    restore(isolation, 40_000_000).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"kept");
}

#[test]
fn only_directories_beneath_the_workspace_are_kept() {
    let dir = airlock_mounts::ScratchDir::new();
    let sessions = sessions(dir.path());
    let session = open(&sessions, None).unwrap();
    let workspace = &session.directories().workspace;
    fs::create_dir(workspace.join("sub")).unwrap();
    fs::write(workspace.join("file"), "").unwrap();
    symlink("sub", workspace.join("inside")).unwrap();
    symlink("/etc", workspace.join("outside")).unwrap();
    symlink("../home", workspace.join("up")).unwrap();
    for good in ["/workspace", "/workspace/", "/workspace/sub", "/workspace/inside", "/workspace/sub/../sub"]
    {
        assert_eq!(session.keep_directory(good.as_bytes()), DirectoryReport::Reported, "{good}");
        assert_eq!(session.directory(), good.as_bytes());
    }
    let long = [b"/workspace/".to_vec(), vec![b'x'; 5000]].concat();
    let bad: [&[u8]; 11] = [
        b"/",
        b"/workspace2",
        b"/workspace/file",
        b"/workspace/outside",
        b"/workspace/up",
        b"/workspace/../home",
        b"/workspace/gone",
        b"/tmp",
        b"workspace",
        b"/workspace/su\0b",
        &long,
    ];
    for bad in bad {
        session.keep_directory(b"/workspace/sub");
        assert_eq!(session.keep_directory(bad), DirectoryReport::SnappedBack);
        assert_eq!(session.directory(), b"/workspace");
    }
}

/// Creates a directory so deeply nested that no path can name its bottom.
fn nest(directory: &Path, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, directory, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        let next = openat(&at, "d", flags, Mode::empty()).unwrap();
        mkdirat(&at, "e", Mode::RWXU).unwrap();
        at = next;
    }
}

#[test]
fn hostile_trees_are_removed_and_what_they_point_to_stays() {
    let dir = airlock_mounts::ScratchDir::new();
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "").unwrap();
    let sessions = sessions(&dir.path().join("state"));
    let session = open(&sessions, None).unwrap();
    let workspace = session.directories().workspace.clone();
    nest(&workspace, 3000);
    symlink(&outside, workspace.join("link")).unwrap();
    fs::create_dir(workspace.join("moved-1")).unwrap();
    fs::write(workspace.join("moved-2"), "").unwrap();
    for name in [&b"-rf"[..], b"\xff\xfe", b" ", b"a\nb", &[b'n'; 255]] {
        let path = workspace.join(OsStr::from_bytes(name));
        fs::create_dir(&path).unwrap();
        symlink("/", path.join("root")).unwrap();
        fs::write(path.join("inner"), "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    }
    let many = session.directories().tmp.join("many");
    fs::create_dir(&many).unwrap();
    for index in 0..20_000 {
        fs::write(many.join(index.to_string()), "").unwrap();
    }
    close(&sessions, &session);
    assert_eq!(entries(&dir.path().join("state/sessions")), 0);
    assert_eq!(entries(&dir.path().join("state/trash")), 0);
    assert!(outside.join("precious").exists());
}

#[test]
fn a_link_in_the_place_of_a_tree_is_removed_itself() {
    let dir = airlock_mounts::ScratchDir::new();
    fs::create_dir(dir.path().join("kept")).unwrap();
    symlink("kept", dir.path().join("link")).unwrap();
    remove_tree(dir.path().join("link")).unwrap();
    remove_tree(dir.path().join("never-there")).unwrap();
    assert!(dir.path().join("kept").exists());
    assert!(fs::symlink_metadata(dir.path().join("link")).is_err());
}
