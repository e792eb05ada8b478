//! Property 1 against real bash, a short run: nothing starts that was not predicted.
//! `make fuzz-bash` is the long one.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_fuzz::bash::{self, Options, tally::Report};

fn options() -> Options {
    Options {
        seed: 4,
        count: 8_000,
        tried: 12,
        enough: 6,
        jobs: 2,
        only: None,
        worker: env!("CARGO_BIN_EXE_fuzz-bash").into(),
        progress: false,
        withhold: false,
    }
}

fn run(options: &Options) -> Report {
    bash::run(options).unwrap()
}

#[test]
fn the_check_fires_where_a_command_is_withheld() {
    let options = Options { only: Some("subshell".to_owned()), count: 20, withhold: true, ..options() };
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
