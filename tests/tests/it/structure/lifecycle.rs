//! Tests of the state machine's boundaries: it is pure, and no other code writes an execution's state.

use airlock_tests::{
    crates::{self, builds},
    source, uses,
};

use super::{assert_none, code, dependencies};

const MACHINE: &str = "airlock-lifecycle";
const SOURCES: &str = "server/lifecycle/src/";
/// The parts of `std` that do I/O, wait, or read a clock.
const STD: [&str; 12] =
    ["fs", "env", "net", "process", "thread", "io", "os", "sync", "future", "task", "self", "*"];
/// Text that reads a clock, or random numbers, or waits. IDs contain a time or random bits.
const WORDS: [&str; 11] = [
    "Instant",
    "SystemTime",
    "UNIX_EPOCH",
    "Utc::now",
    "Local::now",
    "now_v7",
    "new_v4",
    "Id::new()",
    "Epoch::new()",
    "async fn",
    "await",
];
/// Crates that wait, store or read a clock. The resolved dependencies are those of all platforms.
const CRATES: [&str; 20] = [
    "tokio",
    "tokio-util",
    "sqlx",
    "sqlx-core",
    "futures",
    "async-trait",
    "async-std",
    "smol",
    "mio",
    "socket2",
    "hyper",
    "tonic",
    "prost",
    "chrono",
    "time",
    "quanta",
    "coarsetime",
    "airlock-proto",
    "airlock-policy",
    "airlock-server",
];

/// Returns the crates of [`CRATES`] that a package depends on.
fn impure_crates(package: &str) -> Vec<String> {
    let all = dependencies();
    CRATES.iter().filter(|name| all[package].contains(**name)).map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_state_machine_depends_on_no_runtime_store_or_clock() {
    assert_none(
        &impure_crates(MACHINE),
        "the state machine's dependencies neither wait nor store nor tell time",
    );
    let of_server = impure_crates("airlock-server");
    for name in ["tokio", "sqlx", "sqlx-core", "time", "airlock-proto"] {
        assert!(of_server.iter().any(|found| found == name), "the server's {name} is found: {of_server:?}");
    }
}

/// Returns the names in a source that wait, do I/O, or read a clock or random numbers.
fn impurities(text: &str) -> Vec<String> {
    let mut found: Vec<String> = uses::of_std(text)
        .unwrap()
        .into_iter()
        .filter(|item| {
            let mut names = item.split("::").skip(1);
            let (first, second) = (names.next().unwrap_or_default(), names.next());
            STD.contains(&first) || (first == "time" && second != Some("Duration"))
        })
        .collect();
    for (number, line) in code(text).filter(|(_, line)| WORDS.iter().any(|word| line.contains(word))) {
        found.push(format!("{number}: {}", line.trim()));
    }
    found
}

#[test]
fn the_state_machine_does_no_io_and_reads_no_clock() {
    let mut found = Vec::new();
    let mut files = 0;
    for (path, text) in source::texts("rs").unwrap() {
        let path = path.to_string_lossy().into_owned();
        let is_test = |path: &str| path.starts_with("tests") || path == "testing.rs";
        if path.strip_prefix(SOURCES).is_some_and(|rest| !is_test(rest)) {
            files += 1;
            found.extend(impurities(&text).into_iter().map(|what| format!("{path}: {what}")));
        }
    }
    assert!(files > 10, "the state machine was found: {files}");
    assert_none(&found, "the state machine is pure");
}

#[test]
fn impure_code_is_found() {
    for text in [
        "use std::time::Instant;",
        "use std::time::{self, Duration};",
        "use std::time::*;",
        "fn f() -> u64 { std::time::SystemTime::now() }",
        "fn f() { let id = ExecutionId::new(); }",
        "fn f() { let epoch = Epoch::new(); }",
        "use std::sync::Mutex;",
        "fn f() { std::fs::read(x) }",
        "async fn f() {}",
    ] {
        assert!(!impurities(text).is_empty(), "{text}");
    }
    for text in ["use std::{collections::BTreeMap, time::Duration};", "fn f(now: Micros) -> Micros { now }"] {
        assert_eq!(impurities(text), [] as [&str; 0], "{text}");
    }
}

#[test]
fn only_the_state_machine_builds_transitions() {
    let mut by_machine = 0;
    let mut others = Vec::new();
    for (root, tree) in crates::of_workspace().unwrap() {
        let places = builds::of_struct(&tree, "Transition");
        if root.starts_with(SOURCES) {
            by_machine += places.len();
        } else if root.starts_with("server") {
            others.extend(places.iter().map(|(file, form)| format!("{}: {form}", file.display())));
        }
    }
    assert!(by_machine > 3, "the literals of the state machine are found: {by_machine}");
    assert_none(&others, "only the state machine builds a transition");
}

/// The one loop that writes transitions. The measuring store passes them on.
#[test]
fn only_one_loop_writes_transitions() {
    let permitted = ["server/control/src/transition.rs", "server/src/telemetry/store.rs"];
    let writes = |text: &str| code(text).any(|(_, line)| line.contains(".transition("));
    let mut found = Vec::new();
    for (path, text) in source::texts("rs").unwrap() {
        let is_test = path.components().any(|part| {
            let part = part.as_os_str().to_string_lossy();
            part.starts_with("test") || part == "contract"
        });
        if path.starts_with("server") && !is_test && writes(&text) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
    assert!(found.contains(&permitted[0].to_owned()), "the loop is found: {found:?}");
    found.retain(|path| !permitted.contains(&path.as_str()));
    assert_none(&found, "only the loop around the state machine writes transitions");
    assert!(source::root().join(permitted[1]).is_file());
}
