//! Read-only cases, a command a line: `test_data/read_only/allowed` are allowed without
//! asking, `refused` are asked about. One file is one group of programs.

use std::collections::BTreeMap;

use airlock_policy::Verdict;

use crate::cases::{assert_none, entries, test_data};
use crate::support::{codes, strict};

/// Groups whose every entry in the tables is shown by a case, each with its tables.
const COVERED: &[(&str, &[&str])] = &[
    ("containers", &["containers"]),
    ("git", &["git", "git_files", "git_history", "git_refs"]),
    ("github", &["github"]),
    ("hardware", &["hardware"]),
    ("kubernetes", &["kubernetes"]),
    ("network", &["network"]),
    ("packages", &["packages"]),
    ("processes", &["processes"]),
    ("shell", &["shell"]),
    ("system", &["system"]),
    ("toolchains", &["toolchains", "tools"]),
];

/// The commands of each group.
fn groups(kind: &str) -> BTreeMap<String, Vec<String>> {
    let files = entries(&test_data().join("read_only").join(kind));
    let name = |path: &std::path::Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), commands(&std::fs::read_to_string(path).unwrap()))).collect()
}

fn commands(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

fn wrong(kind: &str, right: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let groups = groups(kind);
    assert!(!groups.is_empty());
    let all = groups.iter().flat_map(|(group, commands)| commands.iter().map(move |line| (group, line)));
    all.filter_map(|(group, line)| right(line).map(|why| format!("{kind}/{group}: {line}: {why}"))).collect()
}

#[test]
fn commands_that_read_are_allowed_without_asking() {
    assert_none(&wrong("allowed", |line| {
        let decision = strict(line);
        let allowed = decision.read_only && decision.verdict == Verdict::Allow;
        (!allowed).then(|| format!("{:?}", decision.reasons.first().map(|reason| &reason.message)))
    }));
}

#[test]
fn commands_that_do_more_than_read_are_asked_about() {
    assert_none(&wrong("refused", |line| {
        let decision = strict(line);
        (decision.verdict != Verdict::Ask).then(|| format!("{:?}", codes(&decision)))
    }));
}

#[test]
fn every_entry_of_these_tables_has_a_command_that_is_allowed() {
    let allowed = groups("allowed");
    let mut missing = Vec::new();
    for (group, tables) in COVERED {
        let commands = &allowed[*group];
        for table in *tables {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tables/{table}.toml"));
            let text = std::fs::read_to_string(path).unwrap();
            let table: toml::Table = text.parse().unwrap();
            let programs = table.get("program").and_then(|programs| programs.as_table());
            for name in programs.into_iter().flat_map(|programs| programs.keys()) {
                let shown = |part: &str| part == name || part.starts_with(&format!("{name} "));
                if !commands.iter().any(|line| line.split(" | ").any(shown)) {
                    missing.push(format!("{group}: {name}"));
                }
            }
        }
    }
    assert_none(&missing);
}
