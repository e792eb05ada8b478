//! Tests that the listed ways to hide a denied program work: real bash in a sandbox runs the hidden
//! program.

#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "../../../policy/tests/deny_holds/ways.rs"]
mod ways;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The name of the hidden program. It is a copy of `touch` and leaves a file.
const PROGRAM: &str = "hidden-program";
const MARK: &str = "mark";

/// Runs the text with one writable directory, and returns whether the program left its file.
fn runs(text: &str) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let programs = directory.path().join("bin");
    fs::create_dir(&programs).unwrap();
    fs::copy("/usr/bin/touch", programs.join(PROGRAM)).unwrap();
    let path = "/work/bin:/usr/bin:/bin";
    let bash = Command::new("bwrap")
        .args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"])
        .args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"])
        .args(["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"])
        .args(["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"])
        .arg("--bind")
        .arg(directory.path())
        .args(["/work", "--chdir", "/work", "--setenv", "PATH", path, "--setenv", "HOME", "/work"])
        .args(["/usr/bin/timeout", "120", "/bin/bash", "--norc", "--noprofile", "-c", text])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(bash.is_ok(), "bubblewrap is needed: {bash:?}");
    let found = |path: &Path| path.join(MARK).exists();
    found(directory.path()) || found(&programs)
}

#[test]
fn every_way_really_runs_the_program_it_hides() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/test_data/deny");
    let ways = ways::ways(&directory);
    assert!(ways::programs(&directory).len() >= 30);
    let tried = ways.iter().filter(|way| way.not_tried.is_none());
    let idle: Vec<String> = tried
        .map(|way| (way, way.with(&format!("{PROGRAM} {MARK}"))))
        .filter(|(_, text)| !runs(text))
        .map(|(way, text)| format!("{}: {text:?}", way.name))
        .collect();
    assert!(idle.is_empty(), "{} ways run nothing:\n{}", idle.len(), idle.join("\n"));
    assert!(ways.iter().filter(|way| way.ask.is_some()).count() <= 8);
}
