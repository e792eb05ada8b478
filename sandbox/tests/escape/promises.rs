//! The table of promises: each is tested by at least three attempts, under both kinds of runner, in every suite that it
//! names. Both suites share this module, and each checks its own rows.
//!
//! `suite` checks, when it runs, that a row has a control.

use std::collections::BTreeSet;
use std::process::Command;

use serde::Deserialize;

const TABLE: &str = include_str!("promises.toml");
/// The minimum number of rows per promise.
const WAYS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    promise: Vec<Promise>,
}

/// An action that must fail. A row is `MODULE::NAME`, with `*` for any text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Promise {
    what: String,
    /// Rows of the sandbox's suite, which uses its library.
    #[serde(default)]
    sandbox: Vec<String>,
    /// Rows of the runner's suite, which uses its program.
    #[serde(default)]
    runner: Vec<String>,
    /// Checks in the virtual machine, with a runner that has root.
    #[serde(default)]
    vm: Vec<String>,
    /// Checks in the virtual machine, with a runner of an unprivileged user.
    #[serde(default)]
    vm_user: Vec<String>,
}

fn table() -> Vec<Promise> {
    let table: Table = toml::from_str(TABLE).unwrap();
    table.promise
}

/// Returns the tests of this program, without the kind of their runner.
fn rows(kind: &str) -> BTreeSet<String> {
    let output = Command::new(std::env::current_exe().unwrap()).args(["--list", "--format=terse"]).output();
    let list = String::from_utf8(output.unwrap().stdout).unwrap();
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let rows = tests.filter_map(|test| {
        let (module, name) = test.split_once(&format!("::{kind}::"))?;
        Some(format!("{module}::{name}"))
    });
    rows.collect()
}

/// Returns the checks in the virtual machine.
fn checks() -> BTreeSet<String> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vm/checks");
    let mut checks = BTreeSet::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (_, topic) = stem.split_once('-').unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let names = text.lines().filter_map(|line| line.strip_prefix("check_")?.split_once("() {"));
        checks.extend(names.map(|(name, _)| format!("{topic}::{name}")));
    }
    checks
}

/// Returns the rows that match these patterns, with `*` for any text. A pattern without a match is an error.
fn meant(words: &[String], rows: &BTreeSet<String>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for word in words {
        let pattern = globset::Glob::new(word).unwrap().compile_matcher();
        let found: Vec<_> = rows.iter().filter(|row| pattern.is_match(row)).cloned().collect();
        assert!(!found.is_empty(), "no row has the name `{word}`");
        all.extend(found);
    }
    all
}

#[test]
fn each_promise_is_tried_in_three_ways_by_both_kinds_of_runner() {
    let here = |promise: &Promise| match env!("CARGO_PKG_NAME") {
        "airlock-runner" => promise.runner.clone(),
        _ => promise.sandbox.clone(),
    };
    let (root, user) = (rows("as_root"), rows("as_user"));
    let mut tried = 0;
    for promise in table() {
        let words = here(&promise);
        if words.is_empty() {
            continue;
        }
        tried += 1;
        let ways = meant(&words, &root);
        assert_eq!(ways, meant(&words, &user), "`{}`", promise.what);
        assert!(ways.len() >= WAYS, "`{}` is tried in {} ways: {ways:#?}", promise.what, ways.len());
    }
    assert!(tried > 10, "the table was read: {tried}");
}

#[test]
fn each_promise_of_the_virtual_machine_is_tried_in_three_ways_by_both_kinds_of_runner() {
    let checks = checks();
    for promise in table().iter().filter(|promise| !promise.vm.is_empty() || !promise.vm_user.is_empty()) {
        for words in [&promise.vm, &promise.vm_user] {
            let ways = meant(words, &checks);
            assert!(ways.len() >= WAYS, "`{}` is tried in {} ways: {ways:#?}", promise.what, ways.len());
        }
    }
}

#[test]
fn no_promise_is_without_rows() {
    let table = table();
    let names: BTreeSet<_> = table.iter().map(|promise| promise.what.as_str()).collect();
    assert_eq!(names.len(), table.len(), "each promise is listed once");
    for promise in &table {
        let suites = [&promise.sandbox, &promise.runner, &promise.vm];
        assert!(suites.iter().any(|rows| !rows.is_empty()), "`{}` has no row", promise.what);
    }
}
