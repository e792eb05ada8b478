//! `make run` works as described for a new user: in a clone, with an empty HOME.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{path::Path, process::Command};

use airlock_tests::{source, tools::program};

/// Clones the committed files, and adds uncommitted changes.
fn clone_to(directory: &Path) {
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("git").args(["clone", "--quiet", "--no-hardlinks"]).arg(source::root()).arg(directory));
    for file in source::files().unwrap() {
        let target = directory.join(&file);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(source::root().join(&file), target).unwrap();
    }
}

#[test]
fn the_demo_shows_an_agents_short_day() {
    let directory = tempfile::Builder::new().prefix("airlock-test-demo-").tempdir().unwrap();
    let clone = directory.path().join("clone");
    clone_to(&clone);
    std::fs::create_dir(directory.path().join("home")).unwrap();
    let target = program("airlock").ancestors().nth(2).unwrap().to_owned();
    let output = Command::new("scripts/demo.sh")
        .current_dir(&clone)
        .env("HOME", directory.path().join("home"))
        .env("TMPDIR", directory.path())
        .env("CARGO_TARGET_DIR", target)
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    for piece in [
        "ok 1 - all passed",
        "not ok 4 - both runners are added up",
        "/workspace/policy/src",
        "step 2",
        "show this list",
        "The demo is complete.",
    ] {
        assert!(text.contains(piece), "`{piece}` is in:\n{text}\n{errors}");
    }
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 2, "only the clone and HOME remain: {left:?}");
}

#[test]
fn the_summary_of_the_tests_is_right() {
    let status = Command::new(source::root().join("scripts/summary_test.sh")).status().unwrap();
    assert!(status.success());
}
