//! Tests of protected names that a command removes, and of commands that run at the same time.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn removed(path: &str, outcome: Outcome) -> (String, &'static str, Outcome) {
    (path.to_owned(), "removed", outcome)
}

fn filled() -> World {
    let world = World::new();
    world.put("a/.vscode/settings.json", "mine");
    world.put("a/.vscode/more/x", "mine, too");
    world.put("a/.mcp.json", "mine");
    symlink("elsewhere", world.at("a/.zshrc")).unwrap();
    fs::set_permissions(world.at("a/.vscode/more"), PermissionsExt::from_mode(0o500)).unwrap();
    world
}

#[test]
fn what_was_removed_is_told_and_is_there_again_with_its_mode_and_time() {
    let mut world = filled();
    let before = fs::metadata(world.at("a/.mcp.json")).unwrap();
    let found = world.run(writer(), |world| {
        fs::set_permissions(world.at("a/.vscode/more"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::remove_dir_all(world.at("a/.vscode")).unwrap();
        fs::remove_file(world.at("a/.mcp.json")).unwrap();
        fs::remove_file(world.at("a/.zshrc")).unwrap();
    });
    let outermost = ["a/.mcp.json", "a/.vscode", "a/.zshrc"];
    assert_eq!(told(&found), outermost.map(|path| removed(path, Outcome::Reported)));
    assert!(found.iter().all(|found| found.detail.ends_with("previous content was restored")), "{found:?}");
    assert_eq!(world.get("a/.vscode/more/x"), "mine, too");
    let after = fs::metadata(world.at("a/.mcp.json")).unwrap();
    assert_eq!(
        (after.permissions(), after.modified().unwrap()),
        (before.permissions(), before.modified().unwrap())
    );
    let mode = fs::metadata(world.at("a/.vscode/more")).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o500);
    assert_eq!(fs::read_link(world.at("a/.zshrc")).unwrap(), Path::new("elsewhere"));
    assert_eq!(world.run(writer(), |_| {}), []);
}

#[test]
fn a_folder_in_place_of_the_one_that_was_removed_gets_back_what_was_in_it() {
    let mut world = filled();
    let found = world.run(writer(), |world| {
        fs::rename(world.at("a/.vscode"), world.at("aside")).unwrap();
        world.put("a/.vscode/settings.json", "evil");
    });
    let said =
        [quarantined("a/.vscode/settings.json", "changed"), removed("a/.vscode/more", Outcome::Reported)];
    assert_eq!(told(&found), said);
    assert_eq!(
        (world.get("a/.vscode/settings.json"), world.get("a/.vscode/more/x")),
        ("mine".into(), "mine, too".into())
    );
    let found = world.run(writer(), |world| {
        fs::remove_file(world.at("a/.vscode/settings.json")).unwrap();
        fs::set_permissions(world.at("a/.vscode/more"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::remove_dir_all(world.at("a/.vscode")).unwrap();
        symlink("/tmp", world.at("a/.vscode")).unwrap();
    });
    assert_eq!(told(&found)[0], quarantined("a/.vscode", "changed"));
    assert_eq!(world.get("a/.vscode/more/x"), "mine, too", "{found:?}");
}

#[test]
fn what_goes_with_its_folder_or_was_decided_about_is_not_told() {
    let mut world = filled();
    assert_eq!(
        world.run(with_paths(&["a/.mcp.json"]), |world| fs::remove_file(world.at("a/.mcp.json")).unwrap()),
        []
    );
    let found = world.run(writer(), |world| fs::rename(world.at("a"), world.at("b")).unwrap());
    assert_eq!(found, []);
    let found = world.run(writer(), |world| {
        fs::set_permissions(world.at("b/.vscode/more"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::remove_dir_all(world.at("b")).unwrap();
        fs::create_dir(world.at("b")).unwrap();
    });
    assert_eq!(found, [], "a recreated directory is a new directory");
    assert!(!world.has("b/.vscode"));
}

#[test]
fn hooks_are_put_back_and_a_whole_repository_is_only_told() {
    let mut world = World::new();
    world.run(with_git(&["init /workspace/r"]), |world| drop(world.git("", &["init", "-q", "r"])));
    world.put("r/.git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    let mut world = world.anew();
    let found = world
        .run(with_git(&["commit"]), |world| fs::remove_file(world.at("r/.git/hooks/pre-commit")).unwrap());
    assert_eq!(told(&found), [removed("r/.git/hooks/pre-commit", Outcome::Reported)]);
    assert_eq!(world.get("r/.git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n");
    let found = world.run(writer(), |world| fs::remove_dir_all(world.at("r/.git")).unwrap());
    assert_eq!(told(&found), [removed("r/.git", Outcome::Reported)]);
    assert!(found[0].detail.ends_with("the previous content was restored in part") && !world.has("r/.git"));
    assert_eq!(world.run(writer(), |_| {}), []);
}

#[test]
fn what_git_takes_away_is_told_and_a_profile_makes_any_other_a_failure_or_only_a_report() {
    let mut world = filled();
    let remove = |world: &World| fs::remove_file(world.at("a/.mcp.json")).unwrap();
    assert_eq!(told(&world.run(with_git(&["switch"]), remove)), [removed("a/.mcp.json", Outcome::Reported)]);
    assert!(!world.has("a/.mcp.json"), "another branch does not have the file");
    for (action, outcome, stays) in
        [(Action::Fail, Outcome::Failed, true), (Action::Report, Outcome::Reported, false)]
    {
        let mut world = filled();
        let rules = Rules { action, ..Rules::default() };
        let found = world.run(Writer { rules, ..writer() }, remove);
        assert_eq!(told(&found), [removed("a/.mcp.json", outcome)]);
        assert_eq!(world.has("a/.mcp.json"), stays);
        assert_eq!(world.run(writer(), |_| {}), [], "it is reported once");
    }
}

#[test]
fn each_change_is_found_once_and_given_back_as_it_was() {
    let mut random = fastrand::Rng::with_seed(4);
    let mut world = World::new();
    world.put("keep/.mcp.json", "mine");
    world.put("keep/file", "mine");
    let (mut alive, mut made) = (Vec::new(), BTreeMap::new());
    let mut found = Vec::new();
    for number in 0..200 {
        alive.push(world.begin(writer()));
        if number % 3 == 0 {
            let (path, content) = (format!("d{number}/.bashrc"), format!("content {number}\n"));
            world.put(&path, &content);
            made.insert(path, content);
        }
        world.put(&format!("d{number}/file"), "mine");
        while alive.len() >= 8 || (number == 199 && !alive.is_empty()) {
            let id = alive.swap_remove(random.usize(..alive.len()));
            if random.usize(..10) == 0 && !alive.is_empty() {
                world.guard.abandon(id);
            } else {
                found.extend(world.end(id));
            }
        }
    }
    let mut told: Vec<_> = told(&found);
    told.sort();
    let expected: Vec<_> = made.keys().map(|path| quarantined(path, "created")).collect();
    let mut expected = expected;
    expected.sort();
    assert_eq!(told, expected);
    assert!((0..200).all(|number| world.has(&format!("d{number}/file"))));
    for held in world.guard.list().unwrap() {
        world.restore(&held.id).unwrap();
    }
    assert!(made.iter().all(|(path, content)| world.get(path) == *content));
    assert_eq!(world.get("keep/.mcp.json"), "mine");
}

#[test]
fn what_one_command_was_decided_about_stays_when_another_ends_first() {
    let mut world = World::new();
    let clones = world.begin(with_git(&["clone"]));
    let other = world.begin(writer());
    world.git("", &["init", "-q", "clone"]);
    assert_eq!(world.end(other), []);
    world.put("clone/.vscode/settings.json", "{}");
    let third = world.begin(writer());
    world.guard.abandon(clones);
    assert_eq!(world.end(third), [], "its end was not observed, so it counts until the next comparison");
    world.put("clone/.bashrc", "x");
    assert_eq!(told(&world.run(writer(), |_| {})), [quarantined("clone/.bashrc", "created")]);
}

#[test]
fn a_writer_that_goes_on_writes_into_the_quarantine_and_makes_no_ghost() {
    let mut world = World::new();
    let long = world.begin(writer());
    let mut file = fs::File::create(world.at(".bashrc")).unwrap();
    let found = world.run(writer(), |_| {});
    assert_eq!(told(&found), [quarantined(".bashrc", "created")]);
    file.write_all(b"later").unwrap();
    assert_eq!(world.end(long), []);
    assert!(!world.has(".bashrc"));
    let held = world.guard.list().unwrap().remove(0);
    assert_eq!(held.size, 5);
    world.restore(&held.id).unwrap();
    assert_eq!(world.get(".bashrc"), "later");
}
