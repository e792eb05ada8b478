//! Tests of which programs of repositories count as planted: only those that commands added.

use std::os::unix::fs::symlink;

use super::*;
use crate::mask::{Mask, MaskKind, SessionDirectory};
use crate::profile::Profile;
use crate::session::SessionDirectories;

const SETTING: &str = "[core]\nbare = false\nfsmonitor = evil\n";
const USE: Use<'static> = Use { paths: &[], rebases: false, outside: false };

impl World {
    fn look(&self, command: Use<'_>) -> Planted {
        let workspace = handle(&self.at(""));
        let is_still = self.guard.still().is_some();
        let suspects = self.guard.suspects(workspace.as_fd(), is_still).unwrap().unwrap();
        let grounds = Grounds::open(&SessionDirectories::at(self.root.path()), &Profile::default()).unwrap();
        planted(&grounds, &suspects, command).unwrap()
    }

    /// Returns directory and path of each item, and the remaining text of a configuration.
    fn planted(&self) -> Vec<String> {
        let found = self.look(USE);
        assert_eq!(found.open, None);
        found.items.iter().map(said).collect()
    }

    fn take_away(&mut self) -> Result<(), ProtectError> {
        let workspace = handle(&self.at(""));
        let found = self.look(Use { outside: true, ..USE });
        self.guard.take_away(workspace.as_fd(), &found, "e2")
    }
}

fn said(item: &Item) -> String {
    let rest = match &item.what {
        Plant::Hooks => String::new(),
        Plant::Config(rest) => format!(": {}", String::from_utf8_lossy(rest).replace(['\n', '\t'], " ")),
    };
    format!("{:?} {}{rest}", item.directory, item.path.display())
}

/// Creates a repository by a command that also plants files.
fn made(plant: impl FnOnce(&World)) -> World {
    let mut world = World::new();
    world.run(writer(), |world| {
        world.git("", &["init", "-q", "r"]);
        plant(world);
    });
    world
}

/// A name, the planted files, and where they are found. The remaining text of a configuration follows a colon.
type Planting = (&'static str, fn(&World), &'static [&'static str]);

const PLANTINGS: [Planting; 10] = [
    ("nothing", |_| {}, &[]),
    ("a hook", |world| world.put("r/.git/hooks/pre-commit", "x"), &["Workspace r/.git/hooks"]),
    (
        "a hook by a link",
        |world| symlink("/bin/sh", world.at("r/.git/hooks/pre-push")).unwrap(),
        &["Workspace r/.git/hooks"],
    ),
    (
        "all hooks by a link",
        |world| {
            world.put("hooks/pre-commit", "x");
            fs::rename(world.at("r/.git/hooks"), world.at("aside")).unwrap();
            symlink("../../hooks", world.at("r/.git/hooks")).unwrap();
        },
        &["Workspace hooks"],
    ),
    ("a setting", |world| world.put("r/.git/config", SETTING), &["Workspace r/.git/config: "]),
    (
        "a setting by a link",
        |world| {
            fs::write(world.root.path().join("home/config"), SETTING).unwrap();
            fs::remove_file(world.at("r/.git/config")).unwrap();
            symlink("/home/agent/config", world.at("r/.git/config")).unwrap();
        },
        &["Home config: "],
    ),
    (
        "a setting of a working tree",
        |world| world.put("r/.git/config.worktree", SETTING),
        &["Workspace r/.git/config.worktree: "],
    ),
    (
        "a repository elsewhere",
        |world| {
            world.git("", &["init", "-q", "--separate-git-dir=../tmp/else", "apart"]);
            fs::write(world.root.path().join("tmp/else/config"), SETTING).unwrap();
            world.put("apart/.git", "gitdir: /tmp/else\n");
        },
        &["Tmp else/config: "],
    ),
    (
        "a repository that is common to others",
        |world| {
            world.git("", &["init", "-q", "--bare", "common"]);
            world.put("common/config", SETTING);
            world.put("r/.git/commondir", "../../common\n");
        },
        &["Workspace common/config: "],
    ),
    (
        "one that is in no place where repositories are",
        |world| {
            world.git("", &["init", "-q", "--bare", "r/.git/hidden"]);
            world.put("r/.git/hidden/config", SETTING);
            world.put("sub/.git", "gitdir: ../r/.git/hidden\n");
        },
        &["Workspace r/.git/hidden/config: "],
    ),
];

#[test]
fn what_a_command_puts_into_its_repository_is_planted_wherever_it_is() {
    let rest = "[core]  bare = \"false\" ";
    for (name, plant, expected) in PLANTINGS {
        let world = made(plant);
        let expected: Vec<_> = expected
            .iter()
            .map(|item| if item.ends_with(": ") { format!("{item}{rest}") } else { (*item).into() })
            .collect();
        assert_eq!(world.planted(), expected, "{name}");
        let again = world.again();
        assert_eq!(again.planted(), expected, "{name}: also in the runner's next process");
    }
}

#[test]
fn what_was_there_before_or_was_decided_about_is_not_planted_until_a_command_changes_it() {
    let mut world = World::new();
    world.git("", &["init", "-q", "old"]);
    world.put("old/.git/hooks/pre-commit", "mine");
    world.put("old/.husky/pre-push", "mine");
    world.put("old/shared", "[core]\nfsmonitor = mine\n");
    world.put("old/.git/config", "[core]\nhooksPath = .husky\n[include]\npath = ../shared\n");
    world.git("", &["init", "-q", "--bare", "bare"]);
    world.put("bare/hooks/update", "mine");
    // After a tick, files of the beginning count as older than the first command.
    world.tick();
    world.run(writer(), |_| {});
    assert_eq!(world.planted(), [""; 0]);
    world.run(with_git(&["config alias.x=!mine"]), |world| {
        drop(world.git("old", &["config", "alias.x", "!mine"]));
    });
    world.run(with_paths(&["old/.git/hooks/commit-msg"]), |world| {
        world.put("old/.git/hooks/commit-msg", "mine");
    });
    assert_eq!(world.planted(), [""; 0], "the decision names it");
    world.run(writer(), |world| fs::rename(world.at("old"), world.at("moved")).unwrap());
    assert_eq!(world.planted(), [""; 0], "the file was only moved");
    let upload = world.guard.uploading(Some(b"up"));
    world.git("", &["init", "-q", "up"]);
    world.put("up/.git/hooks/pre-commit", "mine");
    let put = [b"up/.git/hooks/pre-commit".to_vec(), b"up/.git/config".to_vec()];
    let workspace = handle(&world.at(""));
    world.guard.uploaded(workspace.as_fd(), upload, &put).unwrap();
    assert_eq!(world.planted(), [""; 0], "a client uploaded it");
    world.run(writer(), |world| {
        world.put("moved/.husky/pre-push", "evil");
        world.put("moved/shared", "[core]\nfsmonitor = evil\n");
        world.put("bare/hooks/update", "evil");
    });
    let expected = ["Workspace bare/hooks", "Workspace moved/.husky", "Workspace moved/shared: "];
    assert_eq!(world.planted(), expected);
}

#[test]
fn what_a_profile_only_reports_or_allows_stays_and_is_planted() {
    let report = Rules { action: Action::Report, ..Rules::default() };
    let allow = Rules { git_config: true, ..Rules::default() };
    for rules in [report, allow] {
        let mut world = World::new();
        world.git("", &["init", "-q", "old"]);
        world.run(writer(), |_| {});
        world.run(Writer { rules, ..writer() }, |world| world.put("old/.git/hooks/pre-commit", "evil"));
        assert!(world.has("old/.git/hooks/pre-commit"));
        assert_eq!(world.planted(), ["Workspace old/.git/hooks"]);
    }
}

#[test]
fn what_a_running_command_plants_is_found_before_its_end() {
    let mut world = World::new();
    world.git("", &["init", "-q", "old"]);
    let runs = world.begin(writer());
    world.put("old/.git/config", SETTING);
    world.git("", &["init", "-q", "new"]);
    world.put("new/.git/hooks/pre-commit", "evil");
    let expected = ["Workspace new/.git/hooks", "Workspace old/.git/config: [core]  bare = \"false\" "];
    assert_eq!(world.planted(), expected);
    world.end(runs);
    assert_eq!(world.planted(), expected[..1], "the old file is unchanged");
}

#[test]
fn what_cannot_be_covered_is_said() {
    let world = made(|world| world.put("a/.git", "gitdir: /proc/self/root/tmp/else\n"));
    let open = world.look(USE).open.unwrap();
    assert_eq!(open, "`/proc/self/root/tmp/else` leads through a directory of the kernel");

    let look = |path: &str| {
        let paths = [PathBuf::from(path)];
        made(|_| {}).look(Use { paths: &paths, ..USE }).open
    };
    assert_eq!((look("/dev/null"), look("/proc/cpuinfo")), (None, None), "no path leads back from there");
    assert!(look("/proc/self/cwd").is_some() && look("/proc/1/root/tmp").is_some());

    let world = made(|world| world.put("r/.git/rebase-merge/git-rebase-todo", "pick 1 a\n x evil\n"));
    assert_eq!(world.look(USE).open, None);
    let open = world.look(Use { rebases: true, ..USE }).open.unwrap();
    assert_eq!(open, "`/workspace/r/.git/rebase-merge/git-rebase-todo` has lines that run programs");
    let world = made(|world| world.put("r/.git/rebase-merge/git-rebase-todo", "pick 1 exec x\n"));
    assert_eq!(world.look(Use { rebases: true, ..USE }).open, None);

    let world = made(|world| world.put("a/.git", "gitdir: /nowhere/else\n"));
    assert_eq!(world.look(USE), Planted::default(), "no command can have planted a program there");
    assert!(world.look(Use { outside: true, ..USE }).open.is_some(), "but on the host it is another path");
}

#[test]
fn home_and_tmp_are_gone_through_where_a_command_goes_there() {
    let world = made(|world| {
        for (at, directory) in [("home", "../home/p/r"), ("tmp", "../tmp/x/y/r")] {
            world.git("", &["init", "-q", directory]);
            world.put(&format!("{directory}/.git/hooks/pre-commit"), at);
        }
    });
    assert_eq!(world.planted(), [""; 0]);
    let expected = ["Home p/r/.git/hooks", "Tmp x/y/r/.git/hooks"];
    for (paths, found) in [
        (&["/home/agent/p/r"][..], &expected[..1]),
        (&["/tmp/x"], &expected[1..]),
        (&["/tmp", "/home/agent"], &expected),
        (&["/workspace/r", "/tmp/other"], &[]),
    ] {
        let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
        let items: Vec<_> = world.look(Use { paths: &paths, ..USE }).items.iter().map(said).collect();
        assert_eq!(items, found, "{paths:?}");
    }
}

#[test]
fn before_a_command_outside_what_is_planted_is_in_quarantine() {
    let mut world = made(|world| {
        world.put("r/.git/hooks/pre-commit", "evil");
        world.put("r/.git/config", SETTING);
    });
    let id = world.begin(Writer { outside: true, ..writer() });
    world.take_away().unwrap();
    assert!(!world.has("r/.git/hooks"));
    assert_eq!(world.get("r/.git/config"), "[core]\n\tbare = \"false\"\n");
    let mut found = told(&world.end(id));
    found.sort();
    assert_eq!(found, [quarantined("r/.git/config", "git_config"), quarantined("r/.git/hooks", "created")]);
    assert_eq!(world.planted(), [""; 0]);
    assert_eq!(world.run(writer(), |_| {}), []);
    for held in world.guard.list().unwrap() {
        world.restore(&held.id).unwrap();
    }
    assert_eq!(world.get("r/.git/config"), SETTING);
    assert_eq!(world.planted(), [""; 0], "a person restored it");

    let mut world = made(|world| {
        world.git("", &["init", "-q", "--separate-git-dir=../tmp/else", "apart"]);
        fs::write(world.root.path().join("tmp/else/config"), SETTING).unwrap();
        world.put("apart/.git", "gitdir: ../../tmp/else\n");
    });
    let error = world.take_away().unwrap_err().to_string();
    assert!(error.contains("leads out of the workspace"), "{error}");
}

#[test]
fn masks_put_something_harmless_in_its_place() {
    let world = made(|world| {
        world.put("r/.git/hooks/pre-commit", "evil");
        world.put("r/.git/config", SETTING);
    });
    let mask = |path: &str, kind| Mask { directory: SessionDirectory::Workspace, path: path.into(), kind };
    let rest = b"[core]\n\tbare = \"false\"\n".as_slice();
    let expected =
        [mask("r/.git/config", MaskKind::Content(rest.into())), mask("r/.git/hooks", MaskKind::Empty)];
    assert_eq!(world.look(USE).masks(), expected);
}
