//! A short run of property 1 with real bash: every program that starts was predicted. `make fuzz-bash` is the long run.
//! `UPDATE_EXPECT=1` writes the table of `docs/constructs.md` from this run. Another test shows that the listed ways to
//! hide a denied program run it.

#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "../../../policy/tests/deny_holds/ways.rs"]
mod ways;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use airlock_fuzz::bash::{self, Options, table, tally::Report};

fn options() -> Options {
    Options {
        seed: 4,
        count: 10_000,
        tried: 12,
        enough: 6,
        jobs: 2,
        only: None,
        worker: env!("CARGO_BIN_EXE_fuzz-bash").into(),
        progress: false,
        drop_last_prediction: false,
    }
}

fn run(options: &Options) -> Report {
    bash::run(options).unwrap()
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/constructs.md")
}

#[test]
fn bash_starts_only_predicted_programs_and_documented_constructs_are_asked_about() {
    let report = run(&options());
    assert!(report.findings().next().is_none(), "{report}");
    let total = report.total();
    assert!(total.started > 500 && total.tried > 1_000, "the run was not empty: {report}");
    for tally in report.tallies.iter().filter(|tally| tally.allowed > 0 && tally.name != "empty_command") {
        assert!(tally.tried > 0, "{} was not run", tally.name);
    }
    assert!(report.too_few(2).is_empty(), "{:?}", report.too_few(2));

    let seen = table::never_allowed(&report.tallies);
    let text = fs::read_to_string(document()).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(document(), table::with_table(&text, &seen)).unwrap();
        return;
    }
    assert_eq!(table::documented(&text), seen, "the table of docs/constructs.md is what the run saw");
}

#[test]
fn the_check_fires_where_a_command_is_withheld() {
    let options =
        Options { only: Some("subshell".to_owned()), count: 20, drop_last_prediction: true, ..options() };
    let report = run(&options);
    let (_, finding) = report.findings().next().unwrap();
    assert!(finding.small.len() <= finding.text.len());
    assert!(!finding.started.is_empty());
}

#[test]
fn the_same_seed_sees_the_same() {
    let options = Options { only: Some("pipeline".to_owned()), count: 40, ..options() };
    assert_eq!(run(&options).to_string(), run(&options).to_string());
}

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
