//! Tests of bounds: the worst text of each construct gets an answer, and text that is too costly
//! for the grammar is not parsed. The benchmark measures the time.

use airlock_policy::{Mode, Profile, Request, Rules, Verdict, decide, limits};

/// The texts that are repeated; the benchmark uses the same.
const PARTS: &str = include_str!("../test_data/hostile_parts.json");

fn repeated(part: &str, length: usize) -> String {
    part.repeat(length / part.len())
}

#[test]
fn hostile_text_of_every_construct_gets_an_answer() {
    let profile = Profile::builtin("strict").unwrap();
    let parts: Vec<String> = serde_json::from_str(PARTS).unwrap();
    for part in &parts {
        for length in [limits::MAX_PARSED_BYTES, limits::MAX_COMMAND_BYTES] {
            let text = repeated(part, length);
            let decision = decide(&Request::bash(text.as_bytes()), &profile);
            assert_ne!(decision.reasons[0].code, "internal_fault", "{part:?}");
            assert!(length < limits::MAX_COMMAND_BYTES || decision.verdict != Verdict::Allow);
            let words: usize = decision.commands.iter().map(|command| command.argv.len()).sum();
            assert!(words <= limits::MAX_LISTED_WORDS, "{part:?}: {words} words");
        }
    }
}

#[test]
fn a_text_that_is_costly_for_the_grammar_is_not_parsed() {
    let profile = Profile::builtin("strict").unwrap();
    let is_refused = |text: &str, code: &str| {
        let decision = decide(&Request::bash(text.as_bytes()), &profile);
        assert_ne!(decision.verdict, Verdict::Allow);
        decision.reasons.iter().any(|reason| reason.code == code)
    };
    let characters = limits::MAX_COSTLY_CHARACTERS;
    for (part, most, code) in [
        ("a|", characters, "too_costly_to_parse"),
        ("a;)", characters, "too_costly_to_parse"),
        ("\u{1}", characters, "too_costly_to_parse"),
        ("?(a);", characters, "too_costly_to_parse"),
        ("[[ a ]];", characters, "too_costly_to_parse"),
        ("a=(a);", characters, "too_costly_to_parse"),
        ("a =~ b;", characters, "too_costly_to_parse"),
        ("(a) (b);", characters, "too_costly_to_parse"),
        ("cat <<a;", limits::MAX_HEREDOCS, "too_many_heredocs"),
        ("<<a\n", limits::MAX_HEREDOCS, "too_many_heredocs"),
        ("a $[;", limits::MAX_OLD_ARITHMETIC, "too_much_arithmetic"),
        ("( ", limits::MAX_NESTING, "too_deep"),
    ] {
        assert!(!is_refused(&part.repeat(most), code), "{part:?}");
        assert!(is_refused(&part.repeat(most + 1), code), "{part:?}");
    }
}

#[test]
fn a_text_over_the_limit_is_denied() {
    let profile = Profile::builtin("sandboxed").unwrap();
    let text = vec![b'a'; limits::MAX_COMMAND_BYTES + 1];
    let decision = decide(&Request::bash(&text), &profile);
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(decision.reasons[0].code, "too_long");
}

#[test]
fn rules_that_take_too_long_to_compare_are_asked_about_and_never_allowed() {
    let many: Vec<String> = (0..limits::MAX_RULES).map(|n| format!("Bash(*a*b*{n} x)")).collect();
    let rules = Rules::parse(&["Bash".to_owned()], &[], &many).unwrap();
    let profile = Profile::builtin("sandboxed").unwrap();
    let long = (0..15_000).map(|n| format!("ab{n} ")).collect::<String>();
    let parsed = "ab c;".repeat(900);
    for text in [long, parsed] {
        let mode = Some(Mode::Bypass);
        let request = Request { mode, extra_rules: Some(&rules), ..Request::bash(text.as_bytes()) };
        let decision = decide(&request, &profile);
        assert_eq!(decision.verdict, Verdict::Ask);
        assert_eq!(decision.reasons[0].code, "rules_too_costly");
    }
}

#[test]
fn the_last_of_as_many_rules_as_there_may_be_still_denies() {
    let mut deny: Vec<String> = (1..limits::MAX_RULES).map(|n| format!("Bash(program{n}:*)")).collect();
    deny.push("Bash(curl:*)".to_owned());
    let rules = Rules::parse(&["Bash".to_owned()], &[], &deny).unwrap();
    let profile = Profile::builtin("sandboxed").unwrap();
    let listed = format!("{}curl x", "true && ".repeat(50));
    let searched = format!("{}; cu\"r\"l x", "word ".repeat(20_000));
    for text in [listed, searched] {
        let decision =
            decide(&Request { extra_rules: Some(&rules), ..Request::bash(text.as_bytes()) }, &profile);
        assert_eq!(decision.verdict, Verdict::Deny, "{:?}", decision.reasons.first());
    }
}
