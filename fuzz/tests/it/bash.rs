//! A short run of property 1 with real bash: every program that starts was predicted. `make
//! fuzz-bash` is the long run. `UPDATE_EXPECT=1` writes the table of `docs/constructs.md` from this
//! run.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::{Path, PathBuf};

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
    let text = std::fs::read_to_string(document()).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(document(), table::with_table(&text, &seen)).unwrap();
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
