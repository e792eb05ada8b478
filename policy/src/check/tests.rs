//! Tests of the responses of `airlock check`.

use super::*;

fn strict() -> Profile {
    Profile::builtin("strict").unwrap()
}

#[test]
fn a_line_that_is_not_json_gets_an_error() {
    let answer: serde_json::Value = serde_json::from_str(&answer_line("nope", &strict())).unwrap();
    assert_eq!(answer["decision"], "ask");
    assert!(answer["error"].as_str().unwrap().contains("not a valid request"));
}

#[test]
fn nothing_of_a_command_reaches_a_terminal_raw() {
    for command in ["a\u{80}b x", "echo $(\u{1b}]0;x\u{7} y)", "\u{9b}31m", "sh -c '\u{202e}'", "ls\rx"] {
        let text = shown(command, "name = \"t\"\n", Style::PLAIN);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{command:?}: {text:?}");
    }
}

fn shown(text: &str, profile: &str, style: Style) -> String {
    let profile = Profile::from_toml(profile, "t.toml", &|_| None).unwrap();
    let request = Request::bash(text.as_bytes());
    render(text.as_bytes(), &crate::decide(&request, &profile), &crate::parts(&request, &profile), style)
}

const TEAM: &str = r#"name = "t"
[policy]
allow = ["Bash(make:*)"]
ask = ["Bash(git commit:*)"]
deny = ["Bash(git push:*)"]
[policy.shadow]
deny = ["Bash(make deploy:*)"]
"#;

#[test]
fn each_part_is_shown_with_what_decided_it() {
    let texts = [
        "ls && git push --force",
        "ls -l | wc -l && npm install",
        "make deploy && git commit -m x",
        "make && ls > /etc/x",
        "",
        "eval \"$x\"; sudo rm -r x",
        "echo 'open",
        "sed -i s/a/b/ f",
    ];
    let all: Vec<String> =
        texts.iter().map(|text| format!("$ {text}\n{}", shown(text, TEAM, Style::PLAIN))).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn marks_stand_under_what_they_mark() {
    let long = format!("echo {} && make && echo {}", "x".repeat(150), "y".repeat(150));
    let texts = [
        "echo äöü 漢字 && npm \u{202e}x",
        "ls\t-l\t&& npm\ti",
        "npm install \\\n  --save \\\n\n  a\nls",
        "cat <<EOF && npm i\n1\n2\n3\n4\n5\nEOF",
        &long,
    ];
    let narrow = Style { columns: 60, ..Style::PLAIN };
    let all: Vec<String> = texts.iter().map(|text| shown(text, "name = \"t\"\n", narrow)).collect();
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn only_a_terminal_gets_colours_and_nothing_of_the_command_steers_it() {
    let text = "ls; npm i \u{1b}[2J \u{7}\u{202e}\u{9b}2J \u{2066}";
    let plain = shown(text, "name = \"t\"\n", Style::PLAIN);
    assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
    assert!(!plain.contains(['\u{202e}', '\u{2066}']), "{plain:?}");
    let coloured = shown(text, "name = \"t\"\n", Style { colours: true, ..Style::PLAIN });
    let mut without = coloured.clone();
    for code in ["\u{1b}[1;31m", "\u{1b}[1;32m", "\u{1b}[1;33m", "\u{1b}[0m"] {
        without = without.replace(code, "");
    }
    assert_ne!(coloured, plain);
    assert_eq!(without, plain);
}

#[test]
fn a_thousand_commands_are_shown_in_bounded_text() {
    let text = "ls; ".repeat(400);
    let page = shown(&text, "name = \"t\"\n", Style::PLAIN);
    assert!(page.contains("more commands") && page.lines().count() < 200, "{}", page.lines().count());
}

#[test]
fn every_field_of_a_decision_is_in_the_answer_of_a_line() {
    let line =
        r#"{"command": "ls", "shell": "bash", "cwd": "/workspace", "mode": "default", "rules": {"ask": []}}"#;
    let answer: serde_json::Value = serde_json::from_str(&answer_line(line, &strict())).unwrap();
    for field in [
        "decision",
        "reasons",
        "commands",
        "read_only",
        "concurrency_safe",
        "requires",
        "category",
        "no_output_expected",
        "endings",
        "paths",
        "rewrites",
        "warnings",
        "suggested_rules",
        "edit",
        "shadow",
        "parse_complete",
        "policy_version",
    ] {
        assert!(answer.get(field).is_some(), "{field} in {answer}");
    }
    assert_eq!(answer["reasons"][0]["code"], "read_only");
    assert_eq!(answer["commands"][0]["argv"], serde_json::json!(["ls"]));
    assert_eq!(answer["commands"][0]["span"], serde_json::json!([0, 2]));
}
