//! A short run of property 2 in each test run: a command that the policy calls read-only changes no file and starts
//! only predicted programs. Controls show that a change and a hidden program are detected.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};

use airlock_fuzz::canary::inside::Seen;
use airlock_fuzz::canary::place::Planted;
use airlock_fuzz::canary::report::Report;
use airlock_fuzz::canary::run::{Settings, run};
use airlock_fuzz::canary::vocabulary::list;
use airlock_fuzz::canary::worker::Worker;
use airlock_fuzz::canary::{judge, obeyed, place};
use airlock_policy::{Decision, Profile, Request, decide};

/// How many commands are tried.
const COMMANDS: usize = 1500;
/// The minimum number of commands for each program of this system.
const EACH: usize = 2;

fn driver() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_fuzz-read-only"))
}

fn strict(command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &Profile::builtin("strict").unwrap())
}

/// Returns the observations of a command on the canary tree, regardless of the policy's decision.
fn seen(command: &str) -> Seen {
    let seen = Worker::new(&driver(), 0).run(command).unwrap();
    assert_eq!(seen.trouble, None, "changes of `{command}` are detected");
    seen
}

/// Runs the canary and asserts that there are no findings.
fn harmless(seed: u64, one_in: usize) -> Report {
    let report = run(&Settings { seed, commands: COMMANDS, one_in, workers: 2, driver: driver() }).unwrap();
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.ran, COMMANDS / one_in);
    assert!(
        report.withdrawn > 0 && report.withdrawn < report.ran / 2,
        "planted files are detected: {report}"
    );
    assert!(report.started > (report.ran - report.withdrawn) / 2, "started programs are detected: {report}");
    report
}

#[test]
fn the_programs_that_matter_most_are_there() {
    let names = [
        "awk", "bc", "cat", "column", "cut", "diff", "file", "find", "gawk", "git", "grep", "head",
        "hexdump", "jq", "ls", "mawk", "rg", "sed", "sort", "stat", "tail", "tr", "tree", "uniq", "wc",
        "xargs", "xxd",
    ];
    let absent: Vec<_> = names.into_iter().filter(|name| place::installed(name).is_none()).collect();
    assert!(absent.is_empty(), "`make test` installs what is missing: {absent:?}");
    assert_eq!(place::awks().len(), 3, "gawk, mawk and original-awk alternate");
    assert!(place::installed("fd").is_some() || !place::renamed().is_empty(), "Debian calls it fdfind");
}

#[test]
fn a_change_is_seen() {
    let changes = [
        "touch made",
        "touch notes.txt",
        "printf x >> notes.txt",
        "chmod 600 notes.txt",
        "mv notes.txt other.txt",
        "ln -sf nowhere links/to-file",
        "rm src/run.sh",
        "git tag new",
        "git config x.y z",
        "echo x > /tmp/made",
        "echo x > ~/made",
        "sort -o notes.txt notes.txt",
        "touch made; rm made",
        // The tree has files for which git would rewrite its index without Airlock's settings.
        "git -c diff.autoRefreshIndex=true diff",
    ];
    for command in changes {
        assert!(!seen(command).changed.is_empty(), "`{command}` is not detected");
        assert!(!strict(command).read_only, "`{command}` is not a read-only command");
    }
}

#[test]
fn what_only_reads_is_no_change() {
    let commands = [
        "cat notes.txt",
        "git status",
        "git diff",
        "git log -p",
        "ls -laR",
        "grep -r foo .",
        "sort data/numbers.txt",
    ];
    let driver = driver();
    let mut worker = Worker::new(&driver, 0);
    for command in commands {
        assert_eq!(worker.run(command).unwrap().changed, [""; 0], "`{command}`");
    }
}

#[test]
fn a_program_that_was_not_predicted_is_seen() {
    let hidden = [
        "awk 'BEGIN { system(\"true\") }'",
        "sed -n '1e true' notes.txt",
        "git -c alias.x='!true' x",
        "sort --compress-program=true -S 1K data/numbers.txt data/numbers.txt",
        "find . -maxdepth 0 -exec env true \\;",
    ];
    for command in hidden {
        // The prediction is for another text, which does not contain the hidden program.
        let predicted = strict(command.split([' ', '\'']).next().unwrap());
        let found = judge::unpredicted(&predicted, &seen(command).started);
        assert!(!found.is_empty(), "`{command}` starts a program that is not detected");
        assert!(!strict(command).read_only, "`{command}` is not a read-only command");
    }
}

#[test]
fn planted_settings_name_programs_that_would_run_and_withdraw_the_verdict() {
    let driver = driver();
    let mut naming = Worker::new(&driver, 0).planting(&[Planted::Naming]);
    for command in
        ["git diff", "git status -s; git log -p -1", "cat notes.txt; git show HEAD:notes.txt; git diff HEAD"]
    {
        let seen = naming.run(command).unwrap();
        assert!(
            !judge::unpredicted(&strict(command), &seen.started).is_empty(),
            "control: {command} {seen:?}"
        );
        let seen = naming.run_held(command, obeyed::of(&strict(command))).unwrap();
        assert!(seen.withdrawn, "{command}");
    }
    let seen = naming.run_held("grep -rn foo src", obeyed::of(&strict("grep -rn foo src"))).unwrap();
    assert!(!seen.withdrawn && seen.changed.is_empty(), "a program that obeys no file causes no question");

    let mut overridden = Worker::new(&driver, 0).planting(&[Planted::Overridden]);
    for command in ["git status", "git diff HEAD~1", "git log -3", "git show v1.0", "git branch -v"] {
        let seen = overridden.run_held(command, obeyed::of(&strict(command))).unwrap();
        assert!(!seen.withdrawn && seen.changed.is_empty(), "{command}: {seen:?}");
    }
    let seen = overridden.run("GIT_CONFIG_COUNT=0 GIT_PAGER= git -p status").unwrap();
    assert!(!seen.changed.is_empty(), "control: without Airlock's settings, the program runs");
}

#[test]
fn gits_own_helpers_are_predicted_and_others_are_not() {
    let seen = seen("git log --oneline; git diff --stat; git fsck; egrep foo notes.txt");
    assert!(judge::unpredicted(&strict("git log; egrep foo"), &seen.started).is_empty(), "{seen:?}");
    assert!(!judge::unpredicted(&strict("git log"), &seen.started).is_empty(), "egrep was not predicted");
}

#[test]
fn generated_names_are_in_the_tree() {
    const ABSENT: &[&str] = &["links/dangling", "links/loop", "-", "no-such-file", "~"];
    let driver = driver();
    let mut worker = Worker::new(&driver, 0);
    assert!(list("files").len() > 50, "the vocabulary is read");
    for name in
        list("files").iter().chain(list("directories")).filter(|name| !ABSENT.contains(&name.as_str()))
    {
        let path = Path::new("/workspace").join(name);
        let quoted = format!("'{}'", path.to_str().unwrap().replace('\'', "'\\''"));
        // The command reports a missing file by a change.
        let seen = worker.run(&format!("[ -e {quoted} ] || touch missing")).unwrap();
        assert!(seen.changed.is_empty(), "`{name}` is not in the tree");
    }
}

mod sample {
    use super::*;

    #[test]
    fn what_is_called_read_only_changes_nothing_and_starts_nothing_else() {
        let report = harmless(airlock_sampling::seed(), airlock_sampling::extent(4, 1));
        let all = report.programs.len();
        let ran = report.programs.values().filter(|tally| tally.ran > 0).count();
        assert!(ran > all / 3, "the sample covers all programs: {ran} of {all}");
    }
}

mod long {
    use super::*;

    #[test]
    fn what_is_called_read_only_changes_nothing_and_starts_nothing_else() {
        let report = harmless(1, 1);
        let rare: Vec<_> =
            report.programs.iter().filter(|(_, tally)| tally.ran < EACH).map(|(name, _)| name).collect();
        assert!(rare.is_empty(), "each installed program runs {EACH} times; too rarely: {rare:?}");
    }
}
