//! Tests of found changes, of the actions taken, and of restored files.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

#[test]
fn what_was_made_is_quarantined_and_given_back_byte_for_byte() {
    let mut world = World::new();
    let found = world.run(writer(), |world| {
        world.put("a/.bashrc", "evil\0\n");
        world.put("a/b/.vscode/tasks.json", "{}");
        world.put("a/b/.vscode/more/x", "x");
        world.put("a/kept", "kept");
    });
    assert_eq!(told(&found), [quarantined("a/.bashrc", "created"), quarantined("a/b/.vscode", "created")]);
    assert!(!world.has("a/.bashrc") && !world.has("a/b/.vscode") && world.has("a/kept"));
    let listed = world.guard.list().unwrap();
    assert_eq!(listed.len(), 2);
    let first = &listed[0];
    assert_eq!((first.path.as_slice(), first.size, first.mode), (&b"a/.bashrc"[..], 6, 0o640));
    assert_eq!((first.kind, first.reason, first.execution.as_str()), (Kind::File, Reason::Created, "e1"));

    for held in &listed {
        assert_eq!(world.restore(&held.id).unwrap(), (held.path.clone(), None));
    }
    assert_eq!(world.get("a/.bashrc"), "evil\0\n");
    assert_eq!(world.get("a/b/.vscode/more/x"), "x");
    assert_eq!(fs::metadata(world.at("a/.bashrc")).unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(world.guard.list().unwrap().is_empty());
    assert_eq!(world.run(writer(), |_| {}), [], "a restored file is accepted");
    assert!(matches!(world.restore(&first.id), Err(ProtectError::NoSuchItem { .. })));
}

#[test]
fn what_was_changed_is_quarantined_and_what_stood_there_before_is_there_again() {
    let mut world = World::new();
    world.put("sub/.mcp.json", "old");
    world.put("sub/.claude/settings.json", "old");
    world.put("sub/.idea/run", "old");
    symlink("old", world.at("sub/.zshrc")).unwrap();
    fs::set_permissions(world.at("sub/.mcp.json"), PermissionsExt::from_mode(0o600)).unwrap();
    let before = fs::metadata(world.at("sub/.mcp.json")).unwrap();
    let found = world.run(writer(), |world| {
        world.put("sub/.mcp.json", "new");
        world.put("sub/.claude/settings.json", "new");
        fs::set_permissions(world.at("sub/.idea/run"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::remove_file(world.at("sub/.zshrc")).unwrap();
        symlink("new", world.at("sub/.zshrc")).unwrap();
    });
    let changed = ["sub/.claude/settings.json", "sub/.idea/run", "sub/.mcp.json", "sub/.zshrc"];
    assert_eq!(told(&found), changed.map(|path| quarantined(path, "changed")));
    assert_eq!(world.get("sub/.mcp.json"), "old");
    let after = fs::metadata(world.at("sub/.mcp.json")).unwrap();
    assert_eq!(after.permissions(), before.permissions());
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    assert_eq!(fs::read_link(world.at("sub/.zshrc")).unwrap(), Path::new("old"));

    let id = found[2].quarantine.clone().unwrap();
    let (path, replaced) = world.restore(&id).unwrap();
    assert_eq!((path.as_slice(), world.get("sub/.mcp.json").as_str()), (&b"sub/.mcp.json"[..], "new"));
    assert_eq!(world.run(writer(), |_| {}), []);
    world.restore(&replaced.unwrap()).unwrap();
    assert_eq!(world.get("sub/.mcp.json"), "old", "a replaced file can also be restored");
}

#[test]
fn what_was_decided_about_stays() {
    let mut world = World::new();
    let named = [".vscode/settings.json", "sub/.bashrc"];
    let found = world.run(with_paths(&named), |world| {
        world.put(".vscode/settings.json", "{}");
        world.put(".vscode/tasks.json", "{}");
        world.put("sub/.bashrc", "x");
    });
    assert_eq!(told(&found), [quarantined(".vscode/tasks.json", "created")]);
    assert!(named.iter().all(|path| world.has(path)));
    let found = world.run(with_paths(&["", "sub"]), |world| world.put("sub/.bashrc", "y"));
    assert_eq!(told(&found), [quarantined("sub/.bashrc", "changed")], "a directory above does not name it");
}

#[test]
fn a_profile_says_what_follows() {
    for (action, outcome, stays) in
        [(Action::Report, Outcome::Reported, true), (Action::Fail, Outcome::Failed, false)]
    {
        let mut world = World::new();
        let rules = || Rules { action, names: Names::and(["Makefile"]), ..Rules::default() };
        let writer = || Writer { rules: rules(), ..writer() };
        let found = world.run(writer(), |world| world.put("a/Makefile", "x"));
        assert_eq!(told(&found), [("a/Makefile".to_owned(), "created", outcome)]);
        assert_eq!(world.has("a/Makefile"), stays);
        assert_eq!(found[0].quarantine.is_none(), stays);
        assert_eq!(world.run(writer(), |_| {}), [], "it is reported once");
    }
}

#[test]
fn names_that_another_profile_adds_are_watched_from_then_on() {
    let mut world = World::new();
    world.run(writer(), |world| world.put("deploy.yml", "old"));
    let rules = Rules { names: Names::and(["deploy.yml"]), ..Rules::default() };
    let writer = Writer { rules, ..writer() };
    assert_eq!(world.run(writer.clone(), |_| {}), []);
    let found = world.run(writer, |world| world.put("deploy.yml", "new"));
    assert_eq!(told(&found), [quarantined("deploy.yml", "changed")]);
    assert_eq!(world.get("deploy.yml"), "old");
}

#[test]
fn a_folder_can_be_moved_with_what_is_protected_in_it() {
    let mut world = World::new();
    world.put("a/.vscode/settings.json", "{}");
    world.put("a/.bashrc", "x");
    let found = world.run(writer(), |world| fs::rename(world.at("a"), world.at("b")).unwrap());
    assert_eq!(found, []);
    let found = world.run(writer(), |world| {
        fs::rename(world.at("b/.bashrc"), world.at(".bashrc")).unwrap();
        fs::rename(world.at("b/.vscode"), world.at(".vscode")).unwrap();
    });
    let again = |path: &str| (path.to_owned(), "removed", Outcome::Reported);
    let made = [quarantined(".bashrc", "created"), quarantined(".vscode", "created")];
    assert_eq!(told(&found), [made, [again("b/.bashrc"), again("b/.vscode")]].concat());
    assert_eq!(world.get("b/.vscode/settings.json"), "{}", "it is at its original path");
    let found = world.run(writer(), |world| fs::rename(world.at("b"), world.at("c")).unwrap());
    assert_eq!(found, [], "a restored file also moves with its directory");
}

#[test]
fn what_a_client_uploads_is_no_commands_doing() {
    let mut world = World::new();
    let writing = world.begin(writer());
    let upload = world.guard.uploading(Some(b"up"));
    world.put("up/.vscode/settings.json", "client");
    world.put("up/.bashrc", "command");
    let other = world.begin(writer());
    assert_eq!(world.end(other), [], "a running change is not compared");
    let workspace = handle(&world.at(""));
    let put = [b"up/.vscode/settings.json".to_vec()];
    world.guard.uploaded(workspace.as_fd(), upload, &put).unwrap();
    assert_eq!(told(&world.end(writing)), [quarantined("up/.bashrc", "created")]);
    assert_eq!(world.get("up/.vscode/settings.json"), "client");
}

#[test]
fn an_upload_into_another_folder_hides_nothing_here_and_ends_what_was_known() {
    let mut world = World::new();
    world.run(writer(), |_| {});
    let before = world.guard.still().unwrap();
    let upload = world.guard.uploading(None);
    assert_eq!(world.guard.still(), None);
    let found = world.run(writer(), |world| world.put(".bashrc", "evil"));
    assert_eq!(told(&found), [quarantined(".bashrc", "created")]);
    assert_eq!(world.guard.still(), None, "the command has not ended");
    let workspace = handle(&world.at(""));
    world.guard.uploaded(workspace.as_fd(), upload, &[]).unwrap();
    assert!(world.guard.still().unwrap() > before);
}

#[test]
fn what_a_dead_process_left_is_found_by_the_next_one() {
    let mut world = World::new();
    world.put("sub/.profile", "old");
    let _dies = world.begin(writer());
    world.put("sub/.profile", "new");
    world.put(".bashrc", "new");
    let mut world = world.again();
    let id = world.begin(writer());
    let found = world.end(id);
    assert_eq!(told(&found), [quarantined(".bashrc", "created"), quarantined("sub/.profile", "changed")]);
    assert_eq!(world.get("sub/.profile"), "old");
    let ids: Vec<_> = found.iter().map(|found| found.quarantine.clone().unwrap()).collect();
    let mut world = world.again();
    assert_eq!(world.guard.list().unwrap().len(), 2);
    world.restore(&ids[1]).unwrap();
    assert_eq!(world.get("sub/.profile"), "new");
    assert_eq!(world.run(writer(), |_| {}), []);
}
