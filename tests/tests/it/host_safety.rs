//! No test can harm the host. Code that mounts, or that removes a tree that can contain mounts, uses `airlock-mounts`
//! or `scripts/lib.sh`, or runs in the virtual machine. All exceptions are in `allowed.toml` with their reasons.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod find;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use airlock_mounts::{PrivateMounts, ScratchDir, mounts_below};
use airlock_tests::source;

/// The reviewed exceptions: the number of uses of each name in each file.
const ALLOWED: &str = include_str!("host_safety/allowed.toml");
/// This crate does no input or output (`structure.rs` checks that); the commands in its tests are never run.
const NEVER_RUNS: &str = "policy/";
/// The helper and its tests.
const HELPER: &str = "common/mounts/";
/// Samples of forbidden code, which are never run.
const SAMPLES: &str = "tests/tests/it/host_safety/find.rs";
/// Runs in the virtual machine, except for the script that creates its disk.
const MACHINE: &str = "tests/vm/";
const MACHINES_DISK: &str = "tests/vm/image.sh";

/// Compares the findings, as path and text, with a list in `allowed.toml`. The list must contain all findings and no
/// other entries.
fn assert_allowed(list: &str, found: &[(String, String)], remedy: &str) {
    let allowed: toml::Table = toml::from_str(ALLOWED).unwrap();
    let mut left: BTreeMap<(String, String), i64> = BTreeMap::new();
    for entry in allowed[list].as_array().unwrap() {
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        assert!(text("reason").len() > 20, "an entry of `{list}` has no reason: {entry}");
        let times = entry.get("times").map_or(1, |times| times.as_integer().unwrap());
        let before = left.insert((text("path"), text("found")), times);
        assert_eq!(before, None, "an entry of `{list}` is listed twice: {entry}");
    }
    let mut wrong = Vec::new();
    for (path, text) in found {
        let entry =
            left.iter_mut().find(|((at, what), times)| at == path && text.contains(what) && **times > 0);
        match entry {
            Some((_, times)) => *times -= 1,
            None => wrong.push(format!("{path}: {text}")),
        }
    }
    assert!(wrong.is_empty(), "{remedy}:\n  {}", wrong.join("\n  "));
    left.retain(|_, times| *times > 0);
    assert!(left.is_empty(), "`{list}` of allowed.toml has entries that match nothing: {left:?}");
}

/// Returns the findings of `find` in every Rust file outside these directories.
fn in_rust(but: &[&str], find: impl Fn(&str, &str) -> Vec<String>) -> Vec<(String, String)> {
    let texts = source::texts("rs").unwrap();
    assert!(texts.len() > 400, "the code was found");
    let mut found = Vec::new();
    for (path, text) in texts {
        let path = path.to_string_lossy().into_owned();
        if !but.iter().any(|directory| path.starts_with(directory)) {
            found.extend(find(&path, &text).into_iter().map(|what| (path.clone(), what)));
        }
    }
    found
}

/// Reports whether only tests, benchmarks and fuzzing run the file.
fn is_test(path: &str) -> bool {
    let directories = ["tests/", "benches/", "fuzz/", "sandbox/examples/"];
    directories.iter().any(|directory| path.starts_with(directory))
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// Splits a text where its tests begin.
fn split_at_tests<'a>(path: &str, text: &'a str) -> (&'a str, &'a str) {
    if is_test(path) {
        return ("", text);
    }
    text.split_at(text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len()))
}

#[test]
fn only_the_helper_and_the_sandbox_call_what_mounts() {
    let found = in_rust(&[HELPER, SAMPLES, NEVER_RUNS], |_, text| find::calls(text));
    assert_allowed("calls", &found, "mount by `airlock_mounts::PrivateMounts`");
}

#[test]
fn programs_that_mount_start_where_nobody_sees_it() {
    let found = in_rust(&[HELPER, SAMPLES, NEVER_RUNS], |path, text| {
        let (code, tests) = split_at_tests(path, text);
        [find::programs(code, false), find::programs(tests, true)].concat()
    });
    let remedy = "start it by `airlock_mounts::private_command` or `inside_command`";
    assert_allowed("programs", &found, remedy);
}

#[test]
fn trees_are_removed_only_by_remove_tree() {
    let found = in_rust(&[HELPER, SAMPLES], |_, text| find::removals(text));
    assert_allowed("removals", &found, "remove it by `airlock_mounts::remove_tree`");
}

#[test]
fn directories_for_mounts_are_scratch_directories() {
    let found = in_rust(&[HELPER, SAMPLES], |_, text| find::unguarded(text));
    let remedy = "it is passed to code that mounts; make it an `airlock_mounts::ScratchDir`";
    assert_allowed("directories", &found, remedy);
}

#[test]
fn sessions_with_file_systems_of_their_own_are_made_in_mounts_of_the_tests_own() {
    let found = in_rust(&[HELPER, SAMPLES], |path, text| find::disks(split_at_tests(path, text).1));
    assert_allowed("disks", &found, "the product mounts here; enter `airlock_mounts::PrivateMounts` first");
}

#[test]
fn scripts_mount_and_remove_through_their_library() {
    let mut found = Vec::new();
    let mut scripts = 0;
    for path in source::files().unwrap() {
        let name = path.to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(source::root().join(&path)) else { continue };
        let elsewhere = name.starts_with(NEVER_RUNS) || (name.starts_with(MACHINE) && name != MACHINES_DISK);
        if elsewhere || !find::is_script(&name, &text) {
            continue;
        }
        scripts += 1;
        found.extend(find::in_script(&name, &text).into_iter().map(|line| (name.clone(), line)));
    }
    assert!(scripts > 12, "the scripts were found: {scripts}");
    let remedy = "use `remove_tree` or `in_own_mounts` of scripts/lib.sh, or a check of tests/vm";
    assert_allowed("scripts", &found, remedy);
}

#[test]
fn the_checks_of_the_machine_run_nowhere_else() {
    let text = |path: &str| fs::read_to_string(source::root().join(path)).unwrap();
    let code = |path: &str| -> Vec<String> {
        let lines = text(path);
        let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let library = code("tests/vm/lib.sh");
    let guard = "if [ \"$(cat /etc/hostname)\" != airlock-vm ] || [ ! -d /payload/vm ]; then";
    assert_eq!(library[0], guard, "tests/vm/lib.sh looks first where it is");
    assert!(library[..4].contains(&"exit 1".to_owned()));
    let main = code("tests/vm/main.sh");
    let sources = main.iter().position(|line| line == ". ./lib.sh").unwrap();
    assert!(sources <= 2, "tests/vm/main.sh sources it before it does anything: {main:?}");
    // On a machine with another name, no check runs.
    let script = source::root().join("tests/vm/lib.sh");
    let run = Command::new("bash").args(["-c", ". \"$0\"; echo on"]).arg(script).output().unwrap();
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(1), &b""[..]));
    for path in source::files().unwrap().iter().filter(|path| path.starts_with("tests/vm/checks")) {
        let path = path.to_string_lossy().into_owned();
        // The files contain only constants and functions, so sourcing them has no effect.
        let mut inside = false;
        for line in text(&path).lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let is_constant = line
                .split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
            assert!(inside || is_constant || line.ends_with('{') || line.contains("() {"), "{path}: {line}");
            inside = (inside || (line.contains("() {") && !line.ends_with('}'))) && line != "}";
        }
    }
}

/// Runs a script that sources the library, with these arguments.
fn bash(script: &str, words: &[&Path]) -> Output {
    let script = format!("set -euo pipefail; . scripts/lib.sh; {script}");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, "bash"]).args(words).current_dir(source::root()).output().unwrap()
}

fn made() -> ScratchDir {
    let dir = ScratchDir::new();
    for path in ["tree/a b/c", "tree/z", "kept"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    fs::write(dir.path().join("tree/own"), "").unwrap();
    fs::write(dir.path().join("kept/precious"), "kept").unwrap();
    dir
}

#[test]
fn a_script_does_not_remove_what_is_mounted() {
    let dir = made();
    let (tree, kept) = (dir.path().join("tree"), dir.path().join("kept"));
    PrivateMounts::run(|private| {
        private.assert();
        for place in [tree.join("a b/c"), tree.join("z"), tree.clone()] {
            let mounted = private.bind(&kept, &place);
            let output = bash("remove_tree \"$1\"; echo on", &[&tree]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{said}");
            assert!(said.contains(&format!("`{}` is a mount point", place.display())), "{said}");
            assert_eq!(fs::read(place.join("precious")).unwrap(), b"kept");
            // The most frequent use.
            let output = bash("trap 'remove_tree \"$1\"' EXIT", &[&tree]);
            assert_eq!(output.status.code(), Some(1));
            drop(mounted);
            assert!(tree.join("own").exists() && kept.join("precious").exists(), "no file was removed");
        }
        // A mount next to the tree is not below it.
        let _mounted = private.bind(&kept, tree.join("z"));
        assert!(bash("remove_tree \"$1\"", &[&tree.join("a b")]).status.success());
        assert!(!tree.join("a b").exists() && tree.join("own").exists());
    });
    let output = bash("remove_tree \"$1\" \"$2\"; echo on", &[&tree, &dir.path().join("never")]);
    assert_eq!(output.stdout, b"on\n", "the control: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!tree.exists() && kept.join("precious").exists());
}

#[test]
fn a_script_removes_no_links_files_or_the_root() {
    let dir = made();
    let (link, file) = (dir.path().join("link"), dir.path().join("kept/precious"));
    symlink("kept", &link).unwrap();
    for path in [&link, &file, Path::new("/"), Path::new("/proc/..")] {
        // The test uses the root only with a replaced `rm`, which removes nothing.
        let output = bash("rm() { echo \"rm $*\"; exit 0; }; remove_tree \"$1\"", &[path]);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(1), &b""[..]),
            "{}",
            path.display()
        );
    }
    assert!(link.is_symlink() && file.exists());
}

#[test]
fn a_program_of_a_script_mounts_where_nobody_else_sees_it() {
    let dir = made();
    let script = "in_own_mounts sh -ec 'mount -t tmpfs none \"$1\"; : > \"$1/file\"; ls -A \"$1\"' sh \"$1\"";
    let output = bash(script, &[&dir.path().join("tree")]);
    assert_eq!(output.stdout, b"file\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    assert!(dir.path().join("tree/own").exists());
}
