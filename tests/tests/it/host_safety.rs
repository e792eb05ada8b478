//! No test can harm the host. Code that mounts, or that removes a tree that can contain mounts, uses `airlock-mounts`
//! or `scripts/lib.sh`, or runs in the virtual machine. All exceptions are in `allowed.toml` with their reasons.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod find;
mod scripts;

use std::collections::BTreeMap;

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

#[test]
fn only_the_helper_and_the_sandbox_call_what_mounts() {
    let found = in_rust(&[HELPER, SAMPLES, NEVER_RUNS], |_, text| find::calls(text));
    assert_allowed("calls", &found, "mount by `airlock_mounts::PrivateMounts`");
}

#[test]
fn programs_that_mount_start_where_nobody_sees_it() {
    let found = in_rust(&[HELPER, SAMPLES, NEVER_RUNS], |path, text| find::programs(text, is_test(path)));
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
    let found =
        in_rust(&[HELPER, SAMPLES], |path, text| if is_test(path) { find::disks(text) } else { Vec::new() });
    assert_allowed("disks", &found, "the product mounts here; enter `airlock_mounts::PrivateMounts` first");
}

#[test]
fn scripts_mount_and_remove_through_their_library() {
    let mut found = Vec::new();
    let mut scripts = 0;
    for path in source::files().unwrap() {
        let name = path.to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(source::root().join(&path)) else { continue };
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
    let text = |path: &str| std::fs::read_to_string(source::root().join(path)).unwrap();
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
    let run =
        std::process::Command::new("bash").args(["-c", ". \"$0\"; echo on"]).arg(script).output().unwrap();
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
