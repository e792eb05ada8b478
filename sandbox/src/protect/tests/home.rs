//! Tests of HOME: files that shells, git and ssh obey are protected, and all others are ignored.

use std::os::unix::fs::symlink;

use super::*;

/// Creates a HOME instead of a workspace.
fn home() -> World {
    let mut world = World::new();
    world.guard = Guard::open_for_home(handle(&world.root.path().join(DIRECTORY))).unwrap();
    world
}

#[test]
fn what_is_obeyed_in_home_is_held() {
    for path in [
        ".bashrc",
        ".profile",
        ".bash_profile",
        ".bash_login",
        ".bash_aliases",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".ssh/config",
        ".ssh/authorized_keys",
        ".ssh/more/x",
        ".config/git/attributes",
        ".mcp.json",
        ".claude.json",
        ".ripgreprc",
    ] {
        let mut world = home();
        let kept = if path == ".ssh/more/x" { ".ssh/more" } else { path };
        let found = world.run(writer(), |world| world.put(path, "evil"));
        assert_eq!(told(&found), [quarantined(kept, "created")], "{path}");
        assert!(!world.has(kept));
        let mut world = home();
        world.put(path, "mine");
        world.run(writer(), |_| {});
        let found = world.run(writer(), |world| world.put(path, "evil"));
        assert_eq!(told(&found), [quarantined(path, "changed")], "{path}");
        assert_eq!(world.get(path), "mine");
        let found = world.run(writer(), |world| fs::remove_file(world.at(path)).unwrap());
        assert_eq!(told(&found), [(path.to_owned(), "removed", Outcome::Reported)], "{path}");
        assert_eq!(world.get(path), "mine");
    }
    for path in [".vscode/tasks.json", ".claude/settings.json", ".idea/x", ".airlock/x"] {
        let mut world = home();
        let found = world.run(writer(), |world| world.put(path, "evil"));
        assert_eq!(found.len(), 1, "{path}");
        assert!(!world.has(path));
    }
}

#[test]
fn settings_of_git_that_run_nothing_can_be_made_and_others_only_where_they_were_decided_about() {
    for path in [".gitconfig", ".config/git/config"] {
        let mut world = home();
        let plain = "[user]\nname = a\n[init]\ndefaultBranch = main\n[safe]\ndirectory = *\n";
        assert_eq!(world.run(writer(), |world| world.put(path, plain)), [], "{path}");
        let evil = format!("{plain}[core]\nhooksPath = evil\n");
        let found = world.run(writer(), |world| world.put(path, &evil));
        assert_eq!(told(&found), [quarantined(path, "git_config")]);
        assert_eq!(world.get(path), plain);
        let decided = with_git(&["config core.hookspath=evil"]);
        assert_eq!(world.run(decided, |world| world.put(path, &evil)), []);
        assert_eq!(world.get(path), evil);
    }
}

#[test]
fn a_link_in_place_of_a_folder_is_held_and_not_followed() {
    for (link, below) in [(".ssh", "config"), (".config", "git/config"), (".config/git", "config")] {
        let mut world = home();
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir_all(outside.path().join("git")).unwrap();
        fs::write(outside.path().join(below), "[alias]\nx = !evil\n").unwrap();
        let found = world.run(writer(), |world| {
            fs::create_dir_all(world.at(link).parent().unwrap()).unwrap();
            symlink(outside.path(), world.at(link)).unwrap();
        });
        assert_eq!(told(&found), [quarantined(link, "created")]);
        assert!(outside.path().join(below).exists());
    }
}

#[test]
fn what_agents_do_in_home_every_day_is_nobodys_business() {
    let mut world = home();
    let found = world.run(writer(), |world| {
        for path in [
            ".cache/pip/http/x",
            ".npm/_cacache/tmp/.git/hooks/x",
            ".cargo/registry/src/a/.vscode/settings.json",
            ".cargo/git/db/x/HEAD",
            ".cargo/git/db/x/objects/y",
            ".cargo/git/db/x/refs/y",
            ".cargo/config.toml",
            ".local/share/x/.bashrc",
            ".config/pip/pip.conf",
            ".config/git/ignore",
            ".ssh/known_hosts",
            ".bash_history",
            "project/.git/config",
            "HEAD",
            "objects/x",
            "refs/x",
        ] {
            world.put(path, "[alias]\nx = !mine\n");
        }
    });
    assert_eq!(found, []);
}

#[test]
fn an_upload_into_home_has_to_be_told_of_where_a_command_would_be_found_out() {
    for path in [
        ".bashrc",
        ".BashRC",
        ".bash_login",
        ".gitconfig",
        ".config/git/config",
        ".config/git/attributes",
        ".config/git/ignore",
        ".config/pip/pip.conf",
        ".ssh/config",
        ".ssh/keys/x",
        ".ssh/known_hosts",
        ".vscode/tasks.json",
        ".cache/.bashrc",
        "project/.git/hooks/x",
        "HEAD",
        "objects/x",
    ] {
        let mut world = home();
        let is_watched = world.guard.watched().has(path.as_bytes());
        let found = world.run(writer(), |world| world.put(path, "[alias]\nx = !evil\n"));
        assert_eq!(is_watched, !found.is_empty(), "{path}");
    }
    // A link in place of a directory; and a repository, which may be new and is watched from then on.
    for path in [".config", ".config/git", ".ssh", ".git/config", ".git/hooks/x"] {
        assert!(home().guard.watched().has(path.as_bytes()), "{path}");
    }
}
