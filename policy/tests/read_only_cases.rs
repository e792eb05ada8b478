//! Read-only cases, one command per line of `test_data/read_only`. Those marked `allow:` are allowed without a question,
//! those marked `ask:` are not. Those marked `network:` would be read-only but need a network, so the policy asks. Each
//! file is a group of programs; `⏎` means a line feed.

use std::collections::BTreeMap;

use airlock_policy::{Mode, Verdict};

use crate::cases::{assert_none, codes, entries, in_mode, strict, test_data};

/// The tables in which a case must cover every entry.
const COVERED: &[&str] = &[
    "archives",
    "binaries",
    "compare",
    "containers",
    "files",
    "git",
    "git_files",
    "git_history",
    "git_refs",
    "github",
    "hardware",
    "kubernetes",
    "languages",
    "network",
    "packages",
    "processes",
    "search",
    "shell",
    "show",
    "sums",
    "system",
    "text",
    "toolchains",
];

/// Groups of commands with their own language, which need more cases.
const LANGUAGES: &[&str] = &["awk", "find", "jq", "sed"];

/// The marks that begin a line with a case.
const KINDS: &[&str] = &["allow", "network", "ask"];

/// Returns the commands of one kind in each group that has any.
fn groups(kind: &str) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in entries(&test_data().join("read_only")) {
        let group = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (mark, command) = line.split_once(": ").unwrap_or_else(|| panic!("{group}: {line}"));
            assert!(KINDS.contains(&mark), "{group}: {line}");
            if mark == kind {
                groups.entry(group.clone()).or_default().push(command.replace('⏎', "\n"));
            }
        }
    }
    groups
}

fn wrong(kind: &str, right: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let groups = groups(kind);
    assert!(!groups.is_empty());
    let all = groups.iter().flat_map(|(group, commands)| commands.iter().map(move |line| (group, line)));
    all.filter_map(|(group, line)| right(line).map(|why| format!("{group}: {kind}: {line}: {why}"))).collect()
}

#[test]
fn commands_that_read_are_allowed_without_asking() {
    assert_none(&wrong("allow", |line| {
        let decision = strict(line);
        let allowed = decision.read_only && decision.verdict == Verdict::Allow;
        (!allowed).then(|| format!("{:?}", decision.reasons.first().map(|reason| &reason.message)))
    }));
}

#[test]
fn commands_that_do_more_than_read_are_asked_about() {
    assert_none(&wrong("ask", |line| {
        let decision = strict(line);
        (decision.verdict != Verdict::Ask).then(|| format!("{:?}", codes(&decision)))
    }));
}

#[test]
fn what_needs_a_network_is_not_promised_a_run_without_one() {
    assert_none(&wrong("network", |line| {
        let decision = strict(line);
        let said = decision.reasons[0].code == "needs_network" && !decision.read_only;
        let warned = decision.warnings.iter().any(|warning| warning.code == "needs_network");
        let right = decision.verdict == Verdict::Ask && said && warned;
        (!right).then(|| format!("{:?}", codes(&decision)))
    }));
    let sandboxed = in_mode("gh pr view 1", Mode::Default);
    assert_eq!((sandboxed.verdict, sandboxed.read_only), (Verdict::Allow, false));
    assert_eq!(sandboxed.warnings[0].code, "needs_network");
}

/// Returns the commands that are read-only, including those that need a network.
fn reading() -> BTreeMap<String, Vec<String>> {
    let mut all = groups("allow");
    for (group, commands) in groups("network") {
        all.entry(group).or_default().extend(commands);
    }
    all
}

#[test]
fn every_entry_of_these_tables_has_a_command_that_only_reads() {
    let allowed: Vec<String> = reading().into_values().flatten().collect();
    let mut missing = Vec::new();
    for table in COVERED {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tables/{table}.toml"));
        let text = std::fs::read_to_string(path).unwrap();
        let entries: toml::Table = text.parse().unwrap();
        let programs = entries.get("program").and_then(|programs| programs.as_table());
        for name in programs.into_iter().flat_map(|programs| programs.keys()) {
            let shown = |part: &str| part == name || part.starts_with(&format!("{name} "));
            if !allowed.iter().any(|line| line.split(" | ").any(shown)) {
                missing.push(format!("{table}: {name}"));
            }
        }
    }
    assert_none(&missing);
}

#[test]
fn every_group_has_enough_cases_of_both_kinds() {
    let (allowed, refused) = (reading(), groups("ask"));
    assert_eq!(allowed.keys().collect::<Vec<_>>(), refused.keys().collect::<Vec<_>>());
    for (kind, groups, least) in [("allow", allowed, 12), ("ask", refused, 8)] {
        for (group, commands) in groups {
            let least = if LANGUAGES.contains(&group.as_str()) { 40 } else { least };
            assert!(commands.len() >= least, "{group} has {} of {least} {kind}", commands.len());
        }
    }
}
