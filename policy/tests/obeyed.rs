//! Tests of the files that read-only commands obey: their locations, and the commands that they affect. Every program
//! in the tables must have an entry.

use std::collections::BTreeSet;
use std::path::Path;

use airlock_policy::{Decision, Mode, Profile, Request, Verdict, decide};

use crate::cases::{assert_none, in_mode, strict, with_rules};

fn paths(decision: &Decision, program: &str) -> BTreeSet<String> {
    assert!(decision.read_only && decision.verdict == Verdict::Allow, "{:?}", decision.reasons);
    let of = decision.obeyed.iter().filter(|obeyed| obeyed.program == program);
    of.flat_map(|obeyed| obeyed.paths.clone()).collect()
}

#[test]
fn files_are_looked_for_where_the_program_runs_above_that_and_in_home() {
    let found = paths(&strict("cd a/b && cargo tree"), "cargo");
    for path in [
        "/workspace/a/b/.cargo/config.toml",
        "/workspace/a/.cargo/config",
        "/workspace/rust-toolchain.toml",
        "/home/agent/.cargo/config.toml",
    ] {
        assert!(found.contains(path), "{path} is not in {found:?}");
    }
    assert!(!found.contains("/.cargo/config.toml"), "no command can write there");
    let found = paths(&strict("git -C sub status"), "git");
    assert!(found.contains("/workspace/sub/.git") && found.contains("/home/agent/.gitconfig"), "{found:?}");
    assert!(strict("ls | grep x").obeyed.is_empty());
}

#[test]
fn a_directory_that_is_not_known_is_said_to_be_none() {
    let decision = strict("cd a; cd b; cd c; cd d; git status");
    assert!(decision.read_only, "{:?}", decision.reasons);
    assert!(decision.obeyed.iter().any(|obeyed| obeyed.program == "git" && obeyed.paths.is_empty()));
}

#[test]
fn obeyed_files_are_not_read_if_more_than_the_proof_allows_the_command() {
    assert!(!strict("git status").obeyed.is_empty());
    assert!(
        with_rules("git status", &["Bash(git status)"], &[], &[]).obeyed.is_empty(),
        "a rule names the command"
    );
    let other = with_rules("git status; cargo tree", &["Bash(git status)"], &[], &[]);
    assert!(other.obeyed.iter().all(|obeyed| obeyed.program == "cargo") && !other.obeyed.is_empty());
    assert!(in_mode("git status", Mode::Default).obeyed.is_empty(), "the profile allows sandboxed commands");
    assert!(in_mode("git status", Mode::Bypass).obeyed.is_empty());
    assert!(!in_mode("git status", Mode::Plan).obeyed.is_empty(), "in this mode only the proof allows");
    let asked = with_rules("git status", &[], &["Bash(git status)"], &[]);
    assert!(asked.verdict == Verdict::Ask && asked.obeyed.is_empty());
    let profile = Profile::builtin("strict").unwrap();
    let outside = Some(airlock_policy::Unsandboxed { floor_permits: true });
    let request = Request { unsandboxed: outside, ..Request::bash(b"git status") };
    assert!(decide(&request, &profile).obeyed.is_empty());
}

/// Returns the programs of a table, by their first words.
fn programs(table: &toml::Table) -> BTreeSet<String> {
    let section = |name: &str| table.get(name).and_then(toml::Value::as_table).into_iter().flatten();
    let more = |entry: &toml::Value| {
        let also = entry.get("also").and_then(toml::Value::as_array).into_iter().flatten();
        also.filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let reading = section("program").flat_map(|(name, entry)| [vec![name.clone()], more(entry)].concat());
    let is_safe = |entry: &toml::Value| entry.get("safe").and_then(toml::Value::as_bool) == Some(true);
    let wrappers = section("launcher").filter(|(_, entry)| is_safe(entry)).map(|(name, _)| name.clone());
    let versions = section("version").map(|(name, _)| name.clone());
    let first = |name: String| name.split(' ').next().unwrap_or_default().to_owned();
    reading.chain(wrappers).chain(versions).map(first).collect()
}

#[test]
fn every_program_that_may_be_read_only_obeys_known_files_or_none() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let tables: Vec<toml::Table> =
        files.map(|path| std::fs::read_to_string(path).unwrap().parse().unwrap()).collect();
    let all: BTreeSet<String> = tables.iter().flat_map(programs).collect();
    let data = tables.iter().find(|table| table.contains_key("obeys_nothing")).unwrap();
    let obeying =
        data["obeys"].as_table().unwrap().values().flat_map(|entry| entry["programs"].as_array().unwrap());
    let none = data["obeys_nothing"].as_table().unwrap().values().flat_map(|list| list.as_array().unwrap());
    let known: BTreeSet<String> = obeying.chain(none).map(|name| name.as_str().unwrap().to_owned()).collect();
    let missing = |name: &&String| !known.contains(*name);
    assert_none(
        &all.iter().filter(missing).map(|name| format!("obeys.toml lacks `{name}`")).collect::<Vec<_>>(),
    );
    assert_none(&known.difference(&all).map(|name| format!("no table has `{name}`")).collect::<Vec<_>>());
}
