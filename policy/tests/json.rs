//! Tests of the JSON of `airlock check --jsonl`, and of the text for a person.

use airlock_policy::{Profile, Request, check, decide};
use serde_json::{Value, json};

use crate::cases::strict;

fn answer(line: &str) -> Value {
    serde_json::from_str(&check::answer_line(line, &Profile::builtin("strict").unwrap())).unwrap()
}

#[test]
fn a_line_in_gives_a_line_out_in_the_promised_shape() {
    let out = answer(r#"{"command":"FOO=1 ls -l $x 2>&1 | wc -l"}"#);
    assert_eq!(out["decision"], "ask");
    assert_eq!(out["reasons"][0]["code"], "unknown_variable");
    assert_eq!(out["reasons"][0]["span"], json!([0, 5]));
    assert_eq!(out["commands"][0]["argv"], json!(["ls", "-l", null]));
    assert_eq!(out["commands"][1]["argv"], json!(["wc", "-l"]));
    assert_eq!(out["commands"][1]["nesting"], json!(["pipeline"]));
    assert_eq!(out["commands"][0]["redirects"][0]["operator"], ">&");
    assert_eq!(out["read_only"], false);
    assert_eq!(out["parse_complete"], true);
    assert_eq!(out["policy_version"].as_str().unwrap().len(), 64);
    for key in [
        "concurrency_safe",
        "requires",
        "category",
        "paths",
        "rewrites",
        "warnings",
        "suggested_rules",
        "edit",
    ] {
        assert!(out.get(key).is_some(), "{key}");
    }
}

#[test]
fn rules_shell_cwd_and_mode_of_a_line_count() {
    let out = answer(r#"{"command":"git push","rules":{"deny":["Bash(git push:*)"]}}"#);
    assert_eq!((&out["decision"], &out["reasons"][0]["rule"]), (&json!("deny"), &json!("Bash(git push:*)")));
    assert_eq!(
        answer(r#"{"command":"gi","shell":"pwsh"}"#)["commands"][0]["powershell"]["command"],
        "Get-Item"
    );
    assert_eq!(answer(r#"{"command":"cat ../x","cwd":"/workspace/a"}"#)["decision"], "allow");
    assert_eq!(answer(r#"{"command":"make","mode":"plan"}"#)["decision"], "deny");
    assert_eq!(answer(r#"{"command":"ls"}"#)["requires"], json!(["read_only_mount", "trusted_path"]));
}

#[test]
fn a_wrong_line_gets_an_error_and_the_next_is_answered() {
    for line in ["", "[]", "{\"command\":1}", "{\"command\":\"ls\",\"rules\":{\"allow\":[\"x(\"]}}"] {
        let out = answer(line);
        assert!(out["error"].is_string(), "{line:?}");
        assert_ne!(out["decision"], "allow");
    }
    assert_eq!(answer(r#"{"command":"ls","unknown":1}"#)["decision"], "allow");
}

#[test]
fn bytes_that_are_not_text_are_kept() {
    let decision = decide(&Request::bash(b"cat 'a\xff'"), &Profile::builtin("strict").unwrap());
    let out = serde_json::to_value(&decision).unwrap();
    assert_eq!(out["commands"][0]["argv"][1], json!({"lossy": "a\u{fffd}", "base64": "Yf8="}));
}

#[test]
fn a_person_sees_the_span_the_rule_and_the_warning() {
    let command = "ls && git push --force origin main";
    let text = check::render(command.as_bytes(), &strict(command), &[], check::Style::PLAIN);
    assert!(text.starts_with("ask\n"), "{text}");
    assert!(
        text.contains("      ls && git push --force origin main\n            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"),
        "{text}"
    );
    assert!(text.contains("warning: overwrites history on the remote"), "{text}");
    assert!(text.contains("Bash(git push:*)"), "{text}");
    assert_eq!(check::exit_code(&strict("ls")), 0);
    assert_eq!(check::exit_code(&strict("make")), 10);
}

#[test]
fn spans_count_bytes_of_the_command_as_given() {
    let command = "ls é; \\\ncat f; rm x";
    let decision = strict(command);
    let span = decision.commands[2].span;
    assert_eq!(&command.as_bytes()[span.start..span.end], b"rm x");
    let word = decision.commands[2].argv[1].span;
    assert_eq!(&command.as_bytes()[word.start..word.end], b"x");
}

#[test]
fn suggestions_are_never_over_broad() {
    for command in
        ["python3 x.py", "bash x", "sudo ls", "find . -delete", "npx x", "env a", "ssh h", "xargs rm"]
    {
        for rule in strict(command).suggested_rules {
            assert!(!rule.contains(":*"), "{command:?} suggests {rule}");
        }
    }
    assert_eq!(strict("npm run test").suggested_rules, ["Bash(npm run test)"]);
    assert_eq!(strict("make 'a*b'").suggested_rules, ["Bash(make \"a*b\")"]);
    assert_eq!(strict("git fetch origin").suggested_rules, ["Bash(git fetch:*)"]);
}

#[test]
fn an_edit_by_sed_is_seen_as_one() {
    let edit = strict("sed -i 's/a/b/' f").edit.unwrap();
    let paths: Vec<&str> = edit.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((paths, edit.expressions), (vec!["/workspace/f"], vec!["s/a/b/".to_owned()]));
    assert!(strict("sed -i 's/a/b/e' f").edit.is_none());
    assert!(strict("sed 's/a/b/' f").edit.is_none());
}
