//! Every ruling and every trap, a case each: files in `test_data/rulings`, a folder for
//! each part of what is ruled. What is decided must be what the file says.

use crate::cases::{Case, assert_none, cases, entries, test_data};

#[test]
fn every_ruling_is_decided_as_its_case_says() {
    let folders = entries(&test_data().join("rulings"));
    let names: Vec<_> = folders.iter().map(|folder| folder.file_name().unwrap().to_string_lossy()).collect();
    let parts = [
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
