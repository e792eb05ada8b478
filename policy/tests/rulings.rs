//! One case for each ruling and each trap: tables in `test_data/rulings`, one for each subject.

use airlock_policy::Verdict;

use crate::cases::{Case, assert_none, cases, entries, test_data};

#[test]
fn every_ruling_is_decided_as_its_case_says() {
    let tables = entries(&test_data().join("rulings"));
    let names: Vec<_> = tables.iter().map(|table| table.file_stem().unwrap().to_string_lossy()).collect();
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
    for part in parts {
        let cases = cases(&format!("rulings/{part}"));
        assert!(!cases.is_empty(), "{part} is empty");
        differences.extend(cases.iter().flat_map(Case::differences));
    }
    assert_none(&differences);
}

/// Paths that programs read and write, disguised protected names, and warnings.
#[test]
fn paths_and_warnings_are_found_as_their_cases_say() {
    let mut differences = Vec::new();
    for table in ["paths", "warnings"] {
        let cases = cases(table);
        assert!(cases.len() >= 50, "{table} has fewer cases than before");
        differences.extend(cases.iter().flat_map(Case::differences));
    }
    assert_none(&differences);
}

#[test]
fn suggested_rules_allow_the_command() {
    let tables = ["paths", "warnings", "rulings/suggestions"];
    let all: Vec<Case> = tables.into_iter().flat_map(cases).collect();
    let suggested = all.iter().map(|case| (case, case.decide().suggested_rules));
    let with_some: Vec<_> = suggested.filter(|(_, rules)| !rules.is_empty()).collect();
    assert!(with_some.len() >= 50, "hardly any case has suggestions");
    let idle = with_some.iter().filter(|(case, rules)| case.decide_with(rules).verdict != Verdict::Allow);
    let idle: Vec<String> = idle.map(|(case, rules)| format!("{}: {rules:?}", case.name)).collect();
    assert_none(&idle);
}
