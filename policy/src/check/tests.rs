//! What `airlock check` answers.

use super::*;

fn strict() -> Profile {
    Profile::builtin("strict").unwrap()
}

#[test]
fn a_line_that_is_not_json_gets_an_error() {
    let answer: serde_json::Value = serde_json::from_str(&answer_line("nope", &strict())).unwrap();
    assert_eq!(answer["decision"], "ask");
    assert!(answer["error"].as_str().unwrap().contains("not a request"));
}

#[test]
fn nothing_of_a_command_reaches_a_terminal_raw() {
    for command in ["a\u{80}b x", "echo $(\u{1b}]0;x\u{7} y)", "\u{9b}31m", "sh -c '\u{202e}'", "ls\rx"] {
        let decision = crate::decide(&Request::bash(command.as_bytes()), &strict());
        let text = render(command.as_bytes(), &decision);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{command:?}: {text:?}");
    }
}
