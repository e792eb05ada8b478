//! Tests of planting while git creates a repository. The creation permits no other change, and the new repository stays
//! complete.

use super::*;

/// Returns a workspace with an existing repository, in which a hook is planted.
fn with_repository() -> World {
    let mut world = World::new();
    world.run(with_git(&["init /workspace/old"]), |world| drop(world.git("", &["init", "-q", "old"])));
    world.put("old/.git/modules/lib/HEAD", "ref: refs/heads/x\n");
    world.put("old/.git/modules/lib/config", "[core]\n");
    world.put("old/.git/worktrees/tree/gitdir", "/workspace/tree/.git\n");
    world.put("old/.git/worktrees/tree/HEAD", "ref: refs/heads/x\n");
    world.anew()
}

#[test]
fn a_repository_that_is_cloned_in_place_of_an_old_one_is_a_new_one() {
    let mut world = with_repository();
    source(&mut world);
    world.put("old/.mcp.json", "mine");
    let mut world = world.anew();
    let found = world.run(with_git(&["clone /workspace/old"]), |world| {
        fs::remove_dir_all(world.at("old")).unwrap();
        world.git("", &["clone", "-q", "source", "old"]);
        world.put("old/.git/hooks/pre-commit", "its own");
    });
    assert_eq!(found, []);
    assert!(!world.has("old/.mcp.json") && world.has("old/.git/hooks/pre-commit"));
}

/// A name, a function that plants files, and the paths that are removed for it.
type Plant = (&'static str, fn(&World), &'static [&'static str]);

const PLANTED: [Plant; 9] = [
    ("a hook", |world| world.put("old/.git/hooks/pre-commit", "evil"), &["old/.git/hooks/pre-commit"]),
    (
        "a hook of a submodule",
        |world| world.put("old/.git/modules/lib/hooks/x", "evil"),
        &["old/.git/modules/lib/hooks"],
    ),
    (
        "settings of a submodule",
        |world| world.put("old/.git/modules/lib/config", "[core]\nfsmonitor = evil\n"),
        &["old/.git/modules/lib/config"],
    ),
    (
        "where a worktree's repository is",
        |world| world.put("old/.git/worktrees/tree/commondir", "/tmp/evil"),
        &["old/.git/worktrees/tree/commondir"],
    ),
    (
        "where a worktree is",
        |world| world.put("old/.git/worktrees/tree/gitdir", "/tmp/evil"),
        &["old/.git/worktrees/tree/gitdir"],
    ),
    ("settings", |world| world.put("old/.git/config", "[alias]\nx = !evil\n"), &["old/.git/config"]),
    ("another repository", |world| drop(world.git("", &["init", "-q", "evil"])), &[]),
    ("one in the working tree of an old one", |world| drop(world.git("", &["init", "-q", "old/sub"])), &[]),
    ("names beside it", |world| world.put("old/.vscode/tasks.json", "evil"), &["old/.vscode"]),
];

/// An entry of a grant that creates a repository, and the subcommand.
const MADE: [(&str, &[&str]); 3] = [
    ("clone /workspace/new", &["clone", "-q", "source", "new"]),
    ("init /workspace/new", &["init", "-q", "new"]),
    ("worktree add /workspace/new", &["-C", "source", "worktree", "add", "-q", "../new"]),
];

fn source(world: &mut World) {
    let made = world.run(with_git(&["init /workspace/source"]), |world| {
        world.git("", &["init", "-q", "source"]);
        world.put("source/.vscode/settings.json", "{}");
        world.git("source", &["add", "-A"]);
    });
    assert_eq!(told(&made), [quarantined("source/.vscode", "created")]);
    world.git("source", &["commit", "-qm", "one"]);
}

#[test]
fn a_command_that_makes_a_repository_plants_nothing_in_another_one() {
    for (makes, git) in MADE {
        for (name, plant, expected) in PLANTED {
            let mut world = with_repository();
            source(&mut world);
            let found = world.run(with_git(&[makes]), |world| {
                world.git("", git);
                plant(world);
            });
            let paths: Vec<_> = told(&found).into_iter().map(|(path, ..)| path).collect();
            assert_eq!(paths, expected, "{makes}: {name}");
            assert!(found.iter().all(|found| found.outcome == Outcome::Quarantined), "{found:?}");
            assert!(world.has("new/.git"), "{makes}: {name}");
        }
    }
}

#[test]
fn a_command_beside_one_that_makes_a_repository_plants_nothing_either() {
    for (makes, git) in MADE {
        for (number, (name, plant, expected)) in PLANTED.into_iter().enumerate() {
            let mut world = with_repository();
            source(&mut world);
            let mut ids = [world.begin(with_git(&[makes])), world.begin(writer())];
            world.git("", git);
            plant(&world);
            ids.rotate_left(number % 2);
            let found: Vec<_> = ids.into_iter().flat_map(|id| world.end(id)).collect();
            let paths: Vec<_> = told(&found).into_iter().map(|(path, ..)| path).collect();
            assert_eq!(paths, expected, "{makes}: {name}");
            assert!(world.has("new/.git"), "{makes}: {name}");
        }
    }
}

#[test]
fn where_nobody_could_say_where_a_repository_is_made_an_old_one_is_watched_all_the_same() {
    for git in ["clone", "init", "worktree add", "submodule update"] {
        for (name, plant, expected) in &PLANTED[..6] {
            let mut world = with_repository();
            let found = world.run(with_git(&[git]), plant);
            let paths: Vec<_> = told(&found).into_iter().map(|(path, ..)| path).collect();
            assert_eq!(paths, *expected, "{git}: {name}");
        }
    }
}

#[test]
fn a_repository_at_the_root_or_in_a_folder_that_is_not_empty_is_no_clone_of_an_unknown_place() {
    let mut world = World::new();
    let found = world.run(with_git(&["clone"]), |world| {
        world.git("", &["init", "-q"]);
        world.put(".bashrc", "evil");
    });
    assert_eq!(told(&found), [quarantined(".bashrc", "created")]);
    assert!(world.has(".git/HEAD"));
    world.put("a/.mcp.json", "mine");
    let mut world = world.anew();
    let found = world.run(with_git(&["clone"]), |world| {
        world.git("", &["init", "-q", "a"]);
        world.put("a/.mcp.json", "evil");
        world.put("a/.bashrc", "evil");
    });
    assert_eq!(told(&found), [quarantined("a/.bashrc", "created"), quarantined("a/.mcp.json", "changed")]);
}

#[test]
fn no_bare_repository_is_the_sessions_own_because_another_is_made() {
    for (git, made) in [
        ("init --bare /workspace/mine.git", true),
        ("init --bare", true),
        ("init /workspace/mine.git", false),
        ("init --bare /workspace/other.git", false),
        ("clone", false),
    ] {
        let mut world = World::new();
        let id = world.begin(with_git(&[git]));
        world.git("", &["init", "-q", "--bare", "mine.git"]);
        assert_eq!(world.end_in(id, "mine.git").is_empty(), made, "{git}");
        let mut world = World::new();
        let id = world.begin(with_git(&[git]));
        world.git("", &["init", "-q", "--bare", "."]);
        assert_eq!(world.end_in(id, "").len(), 5, "{git}: the root");
    }
}

#[test]
fn a_setting_that_was_decided_about_stays_and_no_other() {
    let mut world = with_repository();
    let decided = || with_git(&["config core.hookspath=hooks", "config alias.x=!mine"]);
    let set = |world: &World, name, value| drop(world.git("old", &["config", name, value]));
    let found = world.run(decided(), |world| {
        set(world, "core.hooksPath", "hooks");
        set(world, "alias.x", "!mine");
        set(world, "core.editor", "evil");
    });
    assert_eq!(told(&found), [quarantined("old/.git/config", "git_config")], "another setting is set too");
    let found = world.run(decided(), |world| {
        set(world, "core.hooksPath", "hooks");
        set(world, "alias.x", "!mine");
    });
    assert_eq!(found, []);
    for (name, value) in [("core.hooksPath", "else"), ("alias.y", "!mine")] {
        let found = world.run(decided(), |world| set(world, name, value));
        assert_eq!(told(&found), [quarantined("old/.git/config", "git_config")], "{name}");
    }
    let found = world.run(decided(), |world| world.put("old/.git/hooks/pre-commit", "evil"));
    assert_eq!(told(&found), [quarantined("old/.git/hooks/pre-commit", "created")]);
    assert_eq!(world.git("old", &["config", "core.hooksPath"]), "hooks\n");
}
