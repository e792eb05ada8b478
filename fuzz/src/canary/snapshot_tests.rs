//! Tests that a snapshot detects every kind of change, and only changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::Snapshot;

/// Returns the differences after `change` on a small tree.
fn noticed(change: impl FnOnce(&Path)) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("file"), "text").unwrap();
    fs::create_dir(at("directory")).unwrap();
    symlink("file", at("link")).unwrap();
    let before = Snapshot::take(&[directory.path()], true).unwrap();
    until_the_clock_of_files_ticks();
    change(directory.path());
    let after = Snapshot::take(&[directory.path()], true).unwrap();
    let quick = Snapshot::take(&[directory.path()], false).unwrap();
    assert_eq!(
        before.differences(&after).is_empty(),
        before.differences(&quick).is_empty(),
        "the quick comparison also detects it"
    );
    before.differences(&after)
}

/// Waits for a tick of the kernel's file clock, which advances every few milliseconds.
fn until_the_clock_of_files_ticks() {
    let other = tempfile::NamedTempFile::new().unwrap();
    let now = || other.as_file().metadata().unwrap().modified().unwrap();
    let before = now();
    while now() == before {
        fs::write(other.path(), "x").unwrap();
    }
}

#[test]
fn reading_is_no_change() {
    let found = noticed(|directory| {
        fs::read(directory.join("file")).unwrap();
        assert_eq!(fs::read_dir(directory).unwrap().count(), 3);
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_kind_of_change_is_noticed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 8] = [
        ("bytes", |directory| fs::write(directory.join("file"), "TEXT").unwrap()),
        ("the same bytes", |directory| fs::write(directory.join("file"), "text").unwrap()),
        ("mode", |directory| {
            fs::set_permissions(directory.join("file"), PermissionsExt::from_mode(0o600)).unwrap();
        }),
        ("a new name", |directory| fs::write(directory.join("directory/new"), "").unwrap()),
        ("made and removed", |directory| {
            fs::write(directory.join("directory/new"), "").unwrap();
            fs::remove_file(directory.join("directory/new")).unwrap();
        }),
        ("renamed", |directory| fs::rename(directory.join("file"), directory.join("other")).unwrap()),
        ("another target", |directory| {
            fs::remove_file(directory.join("link")).unwrap();
            symlink("directory", directory.join("link")).unwrap();
        }),
        ("gone", |directory| fs::remove_dir(directory.join("directory")).unwrap()),
    ];
    for (name, change) in changes {
        assert!(!noticed(change).is_empty(), "the change {name} is not detected");
    }
}
