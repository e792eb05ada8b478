//! Attacks on the write of an approved edit: each changes the files between the copies and the write.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    sync::Arc,
};

use airlock_domain::{BoundFile, DecidedEdit, EditedFile, FileState, Grant, SessionId};
use airlock_sandbox::{DiskConfig, UidIsolation, UidRange};
use nix::sys::stat::Mode as RawMode;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::{
    config::TransfersConfig,
    files::BaselineLimits,
    floor::tests::grant,
    session::{CopyLimits, OpenSession, Opening, SessionTable},
};

/// A session whose commands are simulated by the test itself.
struct Fixture {
    session: Arc<OpenSession>,
    _sessions: SessionTable,
    _dir: airlock_mounts::ScratchDir,
}

impl Fixture {
    fn new() -> Self {
        let dir = airlock_mounts::ScratchDir::new();
        let baseline = BaselineLimits::of(&TransfersConfig::default());
        let copy = CopyLimits { bytes: 1 << 30, entries: 1000, baseline };
        let range = UidRange::new(43_000_000, 64);
        let disk = DiskConfig::default();
        let table = SessionTable::restore(dir.path(), UidIsolation::detect(), range, 8, copy, disk).unwrap();
        let Opening::Reserved(reserved) = table.reserve(SessionId::new()) else { panic!("a new session") };
        let session = table.make(&reserved, None, |_, _| {}).unwrap();
        Self { session, _sessions: table, _dir: dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.session.workspace().join(name)
    }

    /// Writes a file with mode 640, which belongs to the session's user.
    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        self.give(name);
    }

    fn give(&self, name: &str) {
        if let Some((uid, gid)) = self.session.owner() {
            std::os::unix::fs::lchown(self.path(name), Some(uid), Some(gid)).unwrap();
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.session.workspace()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// An approved edit that turns the contents `old` of each file into `new`.
struct Approved {
    grant: Grant,
    edit: DecidedEdit,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

fn approved(it: &Fixture, names: &[&str], suffix: &str) -> Approved {
    let inside = |name: &str| format!("/workspace/{name}").into_bytes();
    let file = |name: &&str| EditedFile {
        path: inside(name),
        backup: if suffix.is_empty() { Vec::new() } else { inside(&format!("{name}{suffix}")) },
        result: Some(digest("new")),
    };
    let edit = DecidedEdit { words: vec![b"sed".to_vec()], files: names.iter().map(file).collect() };
    let inputs = read(&it.session, &edit, b"/workspace").unwrap();
    let state = |path: Vec<u8>| {
        let is_file = edit.files.iter().any(|file| file.path == path);
        let state = if is_file { FileState::Digest(digest("old")) } else { FileState::Absent };
        BoundFile { path, state }
    };
    let mut grant = grant();
    grant.decided.files = edit.paths().into_iter().map(state).collect();
    let output = Output { content: b"new".to_vec(), digest: digest("new"), is_written: true };
    let outputs = vec![output; names.len()];
    Approved { grant, edit, inputs, outputs }
}

impl Approved {
    fn commit(&self, it: &Fixture) -> Result<(), EditError> {
        commit(&it.session, &self.grant, &self.edit, (&self.inputs, &self.outputs))
    }
}

#[test]
fn an_unchanged_file_is_replaced_with_its_mode_and_owner() {
    let it = Fixture::new();
    it.write("f", "old");
    let before = fs::metadata(it.path("f")).unwrap();
    approved(&it, &["f"], "").commit(&it).unwrap();
    let after = fs::metadata(it.path("f")).unwrap();
    assert_eq!(it.read("f"), "new");
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino(), "it is a new file, as after sed");
    assert_eq!(it.names(), ["f"]);
}

#[test]
fn a_backup_is_the_old_file_itself() {
    let it = Fixture::new();
    it.write("f", "old");
    let before = fs::metadata(it.path("f")).unwrap().ino();
    approved(&it, &["f"], ".bak").commit(&it).unwrap();
    assert_eq!((it.read("f"), it.read("f.bak")), ("new".to_owned(), "old".to_owned()));
    assert_eq!(fs::metadata(it.path("f.bak")).unwrap().ino(), before);
    assert_eq!(it.names(), ["f", "f.bak"]);
}

#[test]
fn a_change_after_the_copies_leaves_every_file_as_it_is() {
    type Attack = (&'static str, fn(&Fixture));
    let attacks: [Attack; 8] = [
        ("other contents", |it| it.write("g", "evil")),
        ("an appended byte", |it| it.write("g", "old\n")),
        ("removed", |it| fs::remove_file(it.path("g")).unwrap()),
        ("a link to another file", |it| {
            it.write("evil", "evil");
            fs::remove_file(it.path("g")).unwrap();
            symlink("evil", it.path("g")).unwrap();
            it.give("g");
        }),
        ("a link out of the workspace", |it| {
            fs::remove_file(it.path("g")).unwrap();
            symlink("/etc/passwd", it.path("g")).unwrap();
        }),
        ("a pipe", |it| {
            fs::remove_file(it.path("g")).unwrap();
            nix::unistd::mkfifo(&it.path("g"), RawMode::S_IRWXU).unwrap();
        }),
        ("a directory", |it| {
            fs::remove_file(it.path("g")).unwrap();
            fs::create_dir(it.path("g")).unwrap();
        }),
        ("a hard link to another file", |it| {
            it.write("evil", "evil");
            fs::remove_file(it.path("g")).unwrap();
            fs::hard_link(it.path("evil"), it.path("g")).unwrap();
        }),
    ];
    for (what, attack) in attacks {
        for suffix in ["", ".bak"] {
            let it = Fixture::new();
            for name in ["f", "g", "h"] {
                it.write(name, "old");
            }
            let edit = approved(&it, &["f", "g", "h"], suffix);
            attack(&it);
            let kind = |it: &Fixture| {
                fs::symlink_metadata(it.path("g")).ok().map(|found| (found.ino(), found.mode()))
            };
            let (names, g) = (it.names(), kind(&it));
            let error = edit.commit(&it).unwrap_err();
            assert!(error.is_changed(), "{what}: {error}");
            assert_eq!((it.read("f"), it.read("h")), ("old".to_owned(), "old".to_owned()), "{what}");
            assert_eq!(kind(&it), g, "{what}: it is still there, and not replaced");
            assert_eq!(it.names(), names, "{what}: no file is left behind");
        }
    }
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let it = Fixture::new();
    for name in ["d", "other"] {
        fs::create_dir(it.path(name)).unwrap();
        it.give(name);
        it.write(&format!("{name}/f"), "old");
    }
    let edit = approved(&it, &["d/f"], "");
    fs::rename(it.path("d"), it.path("moved")).unwrap();
    symlink("other", it.path("d")).unwrap();
    let error = edit.commit(&it).unwrap_err();
    assert!(matches!(error, EditError::ThroughLink(_)) && error.is_changed(), "{error}");
    assert_eq!((it.read("other/f"), it.read("moved/f")), ("old".to_owned(), "old".to_owned()));
}

#[test]
fn a_backup_that_appeared_is_not_overwritten() {
    let it = Fixture::new();
    it.write("f", "old");
    let edit = approved(&it, &["f"], ".bak");
    it.write("f.bak", "precious");
    assert!(edit.commit(&it).unwrap_err().is_changed());
    assert_eq!((it.read("f"), it.read("f.bak")), ("old".to_owned(), "precious".to_owned()));
    assert_eq!(it.names(), ["f", "f.bak"]);
}

#[test]
fn another_result_than_the_approved_one_is_not_written() {
    let it = Fixture::new();
    it.write("f", "old");
    let mut edit = approved(&it, &["f"], "");
    edit.outputs[0].content = b"evil".to_vec();
    edit.outputs[0].digest = digest("evil");
    assert!(matches!(edit.commit(&it).unwrap_err(), EditError::OtherResult(_)));
    assert_eq!((it.read("f"), it.names()), ("old".to_owned(), vec!["f".to_owned()]));
}

#[test]
fn a_file_that_sed_did_not_reach_is_checked_and_not_replaced() {
    let it = Fixture::new();
    it.write("f", "old");
    it.write("g", "old");
    let mut edit = approved(&it, &["f", "g"], ".bak");
    edit.outputs[1] = Output { content: b"old".to_vec(), digest: digest("old"), is_written: false };
    edit.edit.files[1].result = Some(digest("old"));
    let before = fs::metadata(it.path("g")).unwrap().ino();
    edit.commit(&it).unwrap();
    assert_eq!(it.names(), ["f", "f.bak", "g"]);
    assert_eq!(fs::metadata(it.path("g")).unwrap().ino(), before);
    it.write("f", "old");
    fs::remove_file(it.path("f.bak")).unwrap();
    it.write("g", "evil");
    assert!(edit.commit(&it).unwrap_err().is_changed());
    assert_eq!(it.read("f"), "old");
}

#[test]
fn files_that_sed_could_not_replace_have_no_preview() {
    let it = Fixture::new();
    it.write("f", "old");
    fs::create_dir(it.path("d")).unwrap();
    it.give("d");
    symlink("d", it.path("l")).unwrap();
    it.write("d/f", "old");
    symlink("/etc/passwd", it.path("out")).unwrap();
    symlink("missing", it.path("dangling")).unwrap();
    symlink("d/f", it.path("link")).unwrap();
    nix::unistd::mkfifo(&it.path("pipe"), RawMode::S_IRWXU).unwrap();
    it.write("large", &"x".repeat((1 << 20) + 1));
    fs::create_dir(it.path("closed")).unwrap();
    it.write("closed/f", "old");
    it.give("closed");
    fs::set_permissions(it.path("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    fs::create_dir(it.path("f.dir")).unwrap();
    let of = |path: &str, backup: &str| {
        let backup = if backup.is_empty() { Vec::new() } else { format!("/workspace/{backup}").into_bytes() };
        let file = EditedFile { path: format!("/workspace/{path}").into_bytes(), backup, result: None };
        read(&it.session, &DecidedEdit { words: vec![b"sed".to_vec()], files: vec![file] }, b"/workspace")
    };
    for (path, backup, expected) in [
        ("missing", "", "does not exist"),
        ("dangling", "", "does not exist"),
        ("d", "", "not a regular file"),
        ("pipe", "", "not a regular file"),
        ("l/f", "", "through a link"),
        ("out", "", "through a link"),
        ("large", "", "larger than 1 MiB"),
        ("closed/f", "", "cannot write to the directory"),
        ("../f", "", "not a plain path"),
        ("f", "d/f", "not a plain path"),
        ("f", "f.dir", "the backup"),
        ("f", "out", "the backup"),
    ] {
        let error = of(path, backup).unwrap_err().to_string();
        assert!(error.contains(expected), "{path}: {error}");
    }
    let inputs = of("link", "").unwrap();
    assert!(inputs[0].is_link && inputs[0].content == b"old");
    assert!(!of("f", "").unwrap()[0].is_link);
    let edit = approved(&it, &["f"], "").edit;
    assert!(read(&it.session, &edit, b"/workspace/d").is_ok());
    for (working, expected) in [(&b"/workspace/l"[..], "through a link"), (b"/tmp", "not a plain path")] {
        let error = read(&it.session, &edit, working).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
