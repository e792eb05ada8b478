//! Tests of workspaces with hostile contents.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{CWD, FileType, Mode, mkdirat, mknodat, openat};

use super::super::scan::DEPTH;
use super::*;

#[test]
fn names_of_any_kind_and_mode_are_moved_and_given_back() {
    let mut world = World::new();
    world.put("victim", "mine");
    let found = world.run(writer(), |world| {
        fs::create_dir_all(world.at("closed/deep/.claude/x")).unwrap();
        world.put("closed/deep/.bashrc", "x");
        fs::create_dir(world.at("odd")).unwrap();
        symlink("/etc/passwd", world.at("odd/.bashrc")).unwrap();
        mknodat(CWD, world.at("odd/.zshrc"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        symlink("../victim", world.at("odd/.git")).unwrap();
        let odd = OsStr::from_bytes(b"odd/\xff\n`$(x)");
        fs::create_dir(world.at("").join(odd)).unwrap();
        fs::write(world.at("").join(odd).join(".profile"), "x").unwrap();
        fs::hard_link(world.at("victim"), world.at("odd/.profile")).unwrap();
        for path in ["closed/deep/.claude", "closed/deep", "closed"] {
            fs::set_permissions(world.at(path), PermissionsExt::from_mode(0o0)).unwrap();
        }
    });
    assert_eq!(found.len(), 7, "{found:?}");
    assert!(found.iter().all(|found| found.outcome == Outcome::Quarantined), "{found:?}");
    assert_eq!(world.get("victim"), "mine");
    assert_eq!(fs::metadata(world.at("closed")).unwrap().permissions().mode() & 0o7777, 0);
    for held in world.guard.list().unwrap() {
        world.restore(&held.id).unwrap();
    }
    let mode = fs::metadata(world.at("closed/deep/.claude")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0, "unchanged");
    assert_eq!(fs::read_link(world.at("odd/.bashrc")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!(world.run(writer(), |_| {}), []);
}

#[test]
fn links_are_not_followed() {
    let mut world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join(".vscode")).unwrap();
    fs::write(outside.path().join(".vscode/x"), "x").unwrap();
    let found = world.run(writer(), |world| symlink(outside.path(), world.at("link")).unwrap());
    assert_eq!(found, []);
    let found = world.run(writer(), |world| {
        world.put("a/.vscode/x", "x");
        fs::rename(world.at("a"), world.at("b")).unwrap();
        symlink(outside.path(), world.at("a")).unwrap();
    });
    assert_eq!(told(&found), [quarantined("b/.vscode", "created")]);
    assert!(outside.path().join(".vscode/x").exists());
}

#[test]
fn a_workspace_that_is_too_deep_fails_its_command_and_can_be_cleared() {
    let mut world = World::new();
    let id = world.begin(writer());
    let mut directory = handle(&world.at(""));
    for _ in 0..=DEPTH {
        mkdirat(&directory, "d", Mode::RWXU).unwrap();
        directory = openat(&directory, "d", rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let found = world.end(id);
    assert_eq!(told(&found), [(String::new(), "scan_failed", Outcome::Failed)]);
    assert!(found[0].detail.contains("is nested deeper than 200 directories; move or remove it"));
    world.put(".bashrc", "x");
    let found = world.run(writer(), |world| fs::remove_dir_all(world.at("d")).unwrap());
    assert_eq!(told(&found), [quarantined(".bashrc", "created")], "no change was missed");
}

#[test]
fn long_files_are_watched_without_being_read() {
    let mut world = World::new();
    world.put("a/.bashrc", "x");
    fs::File::options().write(true).open(world.at("a/.bashrc")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(world.run(writer(), |_| {}), []);
    let found = world.run(writer(), |world| {
        let mut file = fs::File::options().append(true).open(world.at("a/.bashrc")).unwrap();
        file.set_len(1 << 30).unwrap();
        file.write_all(b"x").unwrap();
    });
    assert_eq!(told(&found), [quarantined("a/.bashrc", "changed")]);
    assert!(found[0].detail.ends_with("the previous content was not kept"), "{found:?}");
}

#[test]
fn a_folder_with_very_many_names_is_looked_through() {
    let mut world = World::new();
    let found = world.run(writer(), |world| {
        fs::create_dir(world.at("many")).unwrap();
        for number in 0..20_000 {
            mknodat(CWD, world.at(&format!("many/{number}")), FileType::RegularFile, Mode::RWXU, 0).unwrap();
        }
        world.put("many/.bashrc", "x");
    });
    assert_eq!(told(&found), [quarantined("many/.bashrc", "created")]);
}

#[test]
fn what_cannot_be_restored_says_so() {
    let mut world = World::new();
    let found = world.run(writer(), |world| world.put("a/.bashrc", "x"));
    let id = found[0].quarantine.clone().unwrap();
    for wrong in ["", "..", "../x", "000000000000", "x"] {
        assert!(matches!(world.restore(wrong), Err(ProtectError::NoSuchItem { .. })), "{wrong}");
    }
    fs::remove_dir(world.at("a")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), world.at("a")).unwrap();
    assert!(matches!(world.restore(&id), Err(ProtectError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    fs::remove_file(world.at("a")).unwrap();
    world.restore(&id).unwrap();
    assert_eq!(world.get("a/.bashrc"), "x", "its directory was created again");
}
