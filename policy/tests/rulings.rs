//! One case for each ruling and each trap: files in `test_data/rulings`, one directory for each
//! subject. Each decision must match the file.

use airlock_policy::Verdict;

use crate::cases::{Case, assert_none, cases, entries, test_data};

#[test]
fn every_ruling_is_decided_as_its_case_says() {
    let folders = entries(&test_data().join("rulings"));
    let names: Vec<_> = folders.iter().map(|folder| folder.file_name().unwrap().to_string_lossy()).collect();
    let parts = [
        "bypasses",
        "categories",
        "decision",
        "known_wrong_in_the_grammar",
        "paths",
        "plain_commands",
        "properties",
        "rules",
        "rulings",
        "steps",
        "suggestions",
    ];
    assert_eq!(names, parts);
    let mut differences = Vec::new();
    for folder in folders {
        let cases = cases(&folder);
        assert!(!cases.is_empty(), "{} is empty", folder.display());
        differences.extend(cases.iter().flat_map(Case::differences));
    }
    assert_none(&differences);
}

/// Paths that programs read and write, disguised protected names, and warnings.
#[test]
fn paths_and_warnings_are_found_as_their_cases_say() {
    let mut differences = Vec::new();
    for folder in ["paths", "warnings"] {
        let cases = cases(&test_data().join(folder));
        assert!(cases.len() >= 50, "{folder} has lost cases");
        differences.extend(cases.iter().flat_map(Case::differences));
    }
    assert_none(&differences);
}

#[test]
fn what_is_suggested_allows_the_command() {
    let folders = ["paths", "warnings", "rulings/suggestions"];
    let all: Vec<Case> = folders.iter().flat_map(|folder| cases(&test_data().join(folder))).collect();
    let suggested = all.iter().map(|case| (case, case.decide().suggested_rules));
    let with_some: Vec<_> = suggested.filter(|(_, rules)| !rules.is_empty()).collect();
    assert!(with_some.len() >= 50, "hardly any case has suggestions");
    let idle = with_some.iter().filter(|(case, rules)| case.decide_with(rules).verdict != Verdict::Allow);
    let idle: Vec<String> = idle.map(|(case, rules)| format!("{}: {rules:?}", case.file.display())).collect();
    assert_none(&idle);
}
