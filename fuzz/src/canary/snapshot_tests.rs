//! Tests that a snapshot detects every kind of change, and only changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::Snapshot;

/// Returns the differences after `change` on a small tree.
fn noticed(change: impl FnOnce(&Path)) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "text").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("file", at("link")).unwrap();
    let before = Snapshot::take(&[folder.path()], true).unwrap();
    until_the_clock_of_files_ticks();
    change(folder.path());
    let after = Snapshot::take(&[folder.path()], true).unwrap();
    let quick = Snapshot::take(&[folder.path()], false).unwrap();
    assert_eq!(
        before.differences(&after).is_empty(),
        before.differences(&quick).is_empty(),
        "without bytes the same is noticed"
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
    let found = noticed(|folder| {
        fs::read(folder.join("file")).unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 3);
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_kind_of_change_is_noticed() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 8] = [
        ("bytes", |folder| fs::write(folder.join("file"), "TEXT").unwrap()),
        ("the same bytes", |folder| fs::write(folder.join("file"), "text").unwrap()),
        ("mode", |folder| {
            fs::set_permissions(folder.join("file"), PermissionsExt::from_mode(0o600)).unwrap();
        }),
        ("a new name", |folder| fs::write(folder.join("folder/new"), "").unwrap()),
        ("made and removed", |folder| {
            fs::write(folder.join("folder/new"), "").unwrap();
            fs::remove_file(folder.join("folder/new")).unwrap();
        }),
        ("renamed", |folder| fs::rename(folder.join("file"), folder.join("other")).unwrap()),
        ("another target", |folder| {
            fs::remove_file(folder.join("link")).unwrap();
            symlink("folder", folder.join("link")).unwrap();
        }),
        ("gone", |folder| fs::remove_dir(folder.join("folder")).unwrap()),
    ];
    for (name, change) in changes {
        assert!(!noticed(change).is_empty(), "{name} goes unnoticed");
    }
}
