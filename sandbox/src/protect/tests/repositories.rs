//! Tests of repositories: permitted operations of git, and planted files.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Creates a repository next to the workspace, to clone from.
fn source(world: &World) -> String {
    let at = world.root.path().join("source");
    fs::create_dir(&at).unwrap();
    let at = at.to_str().unwrap().to_owned();
    world.git(&at, &["init", "-q"]);
    fs::write(format!("{at}/a"), "a").unwrap();
    fs::create_dir(format!("{at}/.vscode")).unwrap();
    fs::write(format!("{at}/.vscode/settings.json"), "{}").unwrap();
    world.git(&at, &["add", "-A"]);
    world.git(&at, &["commit", "-qm", "one"]);
    at
}

#[test]
fn git_makes_repositories_where_it_was_decided_to() {
    let mut world = World::new();
    let at = source(&world);
    let found = world.run(with_git(&["init /workspace", "commit"]), |world| {
        world.git("", &["init", "-q"]);
        world.git("", &["commit", "-q", "--allow-empty", "-m", "one"]);
    });
    assert_eq!(found, []);
    let found = world.run(with_git(&["clone"]), |world| drop(world.git("", &["clone", "-q", &at, "clone"])));
    assert_eq!(found, [], "also the files of a clone");
    let found = world.run(with_git(&["worktree add"]), |world| {
        drop(world.git("clone", &["worktree", "add", "-q", "../tree"]));
    });
    assert_eq!(found, []);
    let found = world.run(with_git(&["submodule add"]), |world| {
        world.git("", &["submodule", "--quiet", "add", &at, "libs/sub"]);
    });
    assert_eq!(told(&found), [(".gitmodules".to_owned(), "created", Outcome::Reported)]);
    let found = world
        .run(with_git(&["init --bare"]), |world| drop(world.git("", &["init", "-q", "--bare", "sub/x.git"])));
    assert_eq!(found, []);
    let found = world.run(with_git(&["commit", "rebase"]), |world| {
        world.put("new", "new");
        world.git("", &["add", "new"]);
        world.git("", &["commit", "-qam", "two"]);
        world.git("", &["branch", "other", "HEAD~1"]);
        world.git("", &["rebase", "-q", "other"]);
        world.git("clone", &["config", "branch.main.rebase", "true"]);
        world.git("clone", &["remote", "add", "else", "https://h/a.git"]);
    });
    assert_eq!(found, []);
    let all = [".git/HEAD", "clone/.vscode/settings.json", "tree/.git", "libs/sub/.git", "sub/x.git/HEAD"];
    assert!(all.iter().all(|path| world.has(path)));
}

#[test]
fn a_repository_that_nobody_decided_about_works_and_stays() {
    let mut world = World::new();
    let at = source(&world);
    let found = world.run(writer(), |world| {
        world.git("", &["clone", "-q", &at, "clone"]);
        world.git("", &["init", "-q", "new"]);
        world.put("new/.git/hooks/pre-commit", "its own");
        world.git("clone", &["worktree", "add", "-q", "../tree"]);
        world.put("tree/.git", "gitdir: ../clone/.git/worktrees/tree\n");
        world.git("", &["clone", "-q", "--separate-git-dir", "own", &at, "apart"]);
        world.put("apart/.git", "gitdir: ../own\n");
        world.git("", &["clone", "-q", &at, "a/unpacked"]);
        fs::rename(world.at("a"), world.at("b")).unwrap();
    });
    assert_eq!(found, [], "with the files of their working trees");
    for tree in ["clone", "tree", "apart", "b/unpacked"] {
        assert_eq!(world.git(tree, &["status", "--porcelain"]), "", "{tree}");
        assert!(world.has(&format!("{tree}/.vscode/settings.json")));
    }
    assert!(world.has("new/.git/hooks/pre-commit"));
    let found = world.run(writer(), |world| {
        world.git("clone", &["submodule", "--quiet", "add", &at, "libs/sub"]);
        world.put("clone/libs/sub/.vscode/tasks.json", "not tracked");
    });
    let submodule = ("clone/.gitmodules".to_owned(), "created", Outcome::Reported);
    assert_eq!(told(&found), [submodule, quarantined("clone/libs/sub/.vscode/tasks.json", "created")]);
    assert!(world.git("clone", &["submodule", "status"]).contains("libs/sub"));
    let found = world.run(writer(), |world| {
        airlock_mounts::remove_tree(world.at("clone")).unwrap();
        world.git("", &["clone", "-q", &at, "clone"]);
    });
    assert_eq!(found, [], "a recreated repository is a new one");
    let hook = |world: &World| world.put("clone/.git/hooks/post-commit", "#!/bin/sh\n");
    assert_eq!(
        told(&world.run(with_git(&["commit"]), hook)),
        [quarantined("clone/.git/hooks/post-commit", "created")],
        "it is watched like any other file"
    );
}

#[test]
fn an_init_decides_about_its_own_folder_only() {
    let mut world = World::new();
    let found = world.run(with_git(&["init"]), |world| {
        world.git("", &["init", "-q", "new"]);
        world.put("new/.bashrc", "x");
    });
    assert_eq!(told(&found), [quarantined("new/.bashrc", "created")]);
}

#[test]
fn settings_that_run_programs_are_taken_out_with_the_file_and_the_old_file_is_there_again() {
    let planted = [
        ["core.fsmonitor", "evil"],
        ["core.hooksPath", "evil"],
        ["filter.a.smudge", "evil"],
        ["alias.x", "!evil"],
        ["include.path", "../evil"],
        ["credential.helper", "evil"],
        ["gpg.program", "evil"],
        ["diff.a.textconv", "evil"],
    ];
    let mut world = World::new();
    world.run(with_git(&["init"]), |world| drop(world.git("", &["init", "-q", "a"])));
    world.put("a/.git/modules/b/HEAD", "ref: refs/heads/x");
    let old = world.get("a/.git/config");
    for [name, value] in planted {
        let found = world.run(with_git(&["config"]), |world| drop(world.git("a", &["config", name, value])));
        assert_eq!(told(&found), [quarantined("a/.git/config", "git_config")], "{name}");
        assert_eq!(world.get("a/.git/config"), old);
    }
    for path in ["a/.git/config.worktree", "a/.git/modules/b/config", "a/.git/worktrees/x/config.worktree"] {
        let found = world.run(writer(), |world| world.put(path, "[core]\nfsmonitor = evil\n"));
        assert_eq!(told(&found), [quarantined(path, "git_config")]);
    }
    for path in ["a/.git/hooks/pre-commit", "a/.git/info/attributes", "a/.git/commondir"] {
        let found = world.run(with_git(&["commit"]), |world| world.put(path, "evil"));
        assert_eq!(told(&found), [quarantined(path, "created")]);
    }
    let rules = Rules { git_config: true, ..Rules::default() };
    let found = world.run(Writer { rules, ..writer() }, |world| {
        world.git("a", &["config", "core.fsmonitor", "mine"]);
        world.put("a/.git/hooks/pre-commit", "mine");
    });
    assert_eq!(found, [], "a profile may allow it");
}

/// Plants files, and returns the names that are removed.
fn planted(directory: &str, work: impl FnOnce(&World)) -> Vec<String> {
    let mut world = World::new();
    world.put("config/app.toml", "mine");
    world.put("sub/hooks/run", "mine");
    world.run(writer(), |_| {});
    let id = world.begin(writer());
    work(&world);
    let found = world.end_in(id, directory);
    assert!(world.has("config/app.toml") && world.has("sub/hooks/run"), "existing files stay");
    assert!(
        found.iter().all(|found| found.outcome == Outcome::Quarantined && found.kind == "bare_repository")
    );
    told(&found).into_iter().map(|(path, ..)| path).collect()
}

#[test]
fn the_shape_of_a_repository_is_taken_off_the_root_and_the_current_directory() {
    let plain = |directory: &'static str| {
        move |world: &World| {
            world.put(&format!("{directory}HEAD"), "ref: refs/heads/x\n");
            world.put(&format!("{directory}objects/x"), "");
            world.put(&format!("{directory}refs/x"), "");
        }
    };
    assert_eq!(planted("", plain("")), ["HEAD", "objects", "refs"]);
    assert_eq!(planted("sub", plain("sub/")), ["sub/HEAD", "sub/objects", "sub/refs"]);
    assert_eq!(planted("new/a/b", plain("new/a/")), ["new/a/HEAD", "new/a/objects", "new/a/refs"]);
    assert_eq!(planted("sub", plain("other/")), [""; 0], "git would not look there");
    let bare = |world: &World| drop(world.git("", &["init", "-q", "--bare", "sub"]));
    assert_eq!(planted("sub", bare), ["sub/HEAD", "sub/objects", "sub/refs", "sub/config"]);
    let links = |world: &World| {
        world.git("", &["init", "-q", "--bare", "else"]);
        for name in ["objects", "refs"] {
            symlink(format!("else/{name}"), world.at(name)).unwrap();
        }
        fs::hard_link(world.at("else/HEAD"), world.at("HEAD")).unwrap();
    };
    assert_eq!(planted("", links), ["HEAD", "objects", "refs"]);
    let elsewhere = |world: &World| {
        world.put("HEAD", "ref: refs/heads/x\n");
        world.put("commondir", "else");
    };
    assert_eq!(planted("", elsewhere), ["HEAD", "commondir"]);
    let closed = |world: &World| {
        plain("sub/")(world);
        fs::set_permissions(world.at("sub/objects"), PermissionsExt::from_mode(0o0)).unwrap();
    };
    assert_eq!(planted("sub", closed), ["sub/HEAD", "sub/objects", "sub/refs"]);
}

#[test]
fn a_repository_in_pieces_is_one_when_the_last_piece_comes() {
    let mut world = World::new();
    for name in ["objects/x", "refs/x"] {
        assert_eq!(world.run(writer(), |world| world.put(name, "")), []);
    }
    let found = world.run(writer(), |world| world.put("HEAD", ""));
    assert_eq!(told(&found).len(), 3, "{found:?}");
    for held in world.guard.list().unwrap() {
        world.restore(&held.id).unwrap();
    }
    assert_eq!(world.run(writer(), |_| {}), [], "a restored file is accepted");
}

#[test]
fn with_other_writers_alive_the_scrub_is_deferred_and_says_so() {
    let mut world = World::new();
    let long = world.begin(writer());
    let found = world.run(writer(), |world| {
        ["HEAD", "objects/x", "refs/x"].iter().for_each(|name| world.put(name, ""));
    });
    assert_eq!(told(&found), [(String::new(), "scrub_deferred", Outcome::Reported)]);
    let read_only = Writer { writes: false, ..with_git(&["status"]) };
    assert_eq!(told(&world.run(read_only.clone(), |_| {})), told(&found));
    assert_eq!(world.end(long).len(), 3);
    assert_eq!(world.run(read_only, |_| {}), []);
}

#[test]
fn a_command_with_git_begins_without_what_was_planted() {
    let mut world = World::new();
    let first = world.begin(writer());
    world.put("sub/HEAD", "");
    world.put("sub/objects/x", "");
    world.put("sub/refs/x", "");
    assert_eq!(world.end(first), [], "no other process was running");
    let reader = Writer { writes: false, directory: b"sub".to_vec(), ..with_git(&["log"]) };
    let id = world.begin(reader);
    assert!(!world.has("sub/HEAD"));
    assert_eq!(world.end(id).len(), 3);
}

#[test]
fn a_bare_repository_that_was_decided_about_stays() {
    let mut world = World::new();
    let id = world.begin(with_git(&["init --bare /workspace/mine.git"]));
    world.git("", &["init", "-q", "--bare", "mine.git"]);
    assert_eq!(world.end_in(id, "mine.git"), []);
    let id = world.begin(with_git(&["log"]));
    assert_eq!(world.end_in(id, "mine.git"), []);
    assert!(world.has("mine.git/HEAD"));
    let mut world = world.again();
    let id = world.begin(writer());
    assert_eq!(world.end_in(id, "mine.git"), [], "also for the runner's next process");
}

#[test]
fn inside_of_a_repositorys_own_folder_nothing_is_planted() {
    let mut world = World::new();
    let id = world.begin(with_git(&["init /workspace"]));
    world.git("", &["init", "-q"]);
    assert_eq!(world.end_in(id, ".git"), []);
    assert!(world.has(".git/HEAD"));
}
