//! Tests of the validators: each detects its attacks with its own code, and accepts similar
//! harmless text. `test_data/validators/CODE.toml` contains the cases of one validator: `[[attack]]` and
//! `[[look_alike]]`.

use std::collections::BTreeSet;

use airlock_policy::{Effect, VALIDATORS, Validator, Verdict};

use crate::cases::{Case, assert_none, codes, entries, kind_of_cases, test_data};

const FEWEST: usize = 5;

fn cases_of(validator: &Validator, kind: &str) -> Vec<Case> {
    let cases = kind_of_cases(&format!("validators/{}", validator.code), kind);
    assert!(cases.len() >= FEWEST, "{}: {} cases of {kind}", validator.code, cases.len());
    cases
}

#[test]
fn every_validator_has_a_table_and_every_table_a_validator() {
    let tables: BTreeSet<String> = entries(&test_data().join("validators"))
        .iter()
        .map(|table| table.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let codes: BTreeSet<String> = VALIDATORS.iter().map(|validator| validator.code.to_owned()).collect();
    assert_eq!(tables, codes);
    assert_eq!(codes.len(), VALIDATORS.len(), "a code is listed twice");
}

#[test]
fn every_attack_is_caught_and_every_look_alike_passes() {
    let mut differences = Vec::new();
    for validator in VALIDATORS {
        for kind in ["attack", "look_alike"] {
            let cases = cases_of(validator, kind);
            differences.extend(cases.iter().flat_map(Case::differences));
        }
    }
    assert_none(&differences);
}

/// The expectation of each case must match its directory. Otherwise the case would not test its validator.
#[test]
fn every_case_is_about_the_validator_it_lies_under() {
    let mut differences = Vec::new();
    for validator in VALIDATORS {
        let lets_pass = validator.effect == Effect::LetsPass;
        for (kind, attack) in [("attack", true), ("look_alike", false)] {
            for case in cases_of(validator, kind) {
                let decision = case.decide();
                let named = codes(&decision).contains(&validator.code);
                let allowed = decision.verdict == Verdict::Allow;
                // A text that resembles one of an accepting validator may be harmless for another
                // reason.
                let fits = named == (attack != lets_pass) && (allowed != attack || (lets_pass && attack));
                if !fits {
                    let found = codes(&decision);
                    differences.push(format!("{}: {:?} {found:?}", case.name, decision.verdict));
                }
            }
        }
    }
    assert_none(&differences);
}

#[test]
fn no_rule_allows_what_may_be_read_wrongly() {
    let mut differences = Vec::new();
    for validator in VALIDATORS.iter().filter(|validator| validator.effect == Effect::Misparsing) {
        for case in cases_of(validator, "attack") {
            let whole = String::from_utf8_lossy(&case.command).replace(['\\', '\'', '"', '\n', '`'], "");
            let decision =
                case.decide_with(&["Bash".to_owned(), "Read(//**)".to_owned(), format!("Bash({whole})")]);
            if decision.verdict != Verdict::Ask || !codes(&decision).contains(&validator.code) {
                differences.push(format!("{}: {:?}", case.name, codes(&decision)));
            }
        }
    }
    assert_none(&differences);
}

/// Problem codes are string literals in the code. Each must be a validator or a bound, so that it
/// has a message.
#[test]
fn every_problem_that_is_found_has_a_message() {
    let silent = "this part of the text is not understood";
    let mut differences = Vec::new();
    for validator in VALIDATORS {
        assert!(validator.code == "parse_incomplete" || validator.message != silent, "{}", validator.code);
        for case in cases_of(validator, "attack") {
            for reason in case.decide().reasons {
                if reason.message == silent && reason.code != "parse_incomplete" {
                    differences.push(format!("{}: {}", case.name, reason.code));
                }
            }
        }
    }
    assert_none(&differences);
}
