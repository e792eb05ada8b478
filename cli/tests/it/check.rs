//! Tests of `airlock check` as evaluation sets and CI use it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{Site, airlock, stderr};

#[test]
fn exit_codes_are_the_verdict() {
    for (arguments, code, piece) in [
        (&["ls -la"][..], 0, "allow (read-only)"),
        (&["git", "status"], 0, "allow"),
        (&["npm install"], 10, "ask"),
        (&["--profile", "sandboxed", "npm install"], 0, "allow"),
        (&["--profile", "demo", "--", "git push origin"], 11, "^^^^"),
        (&["--profile", "sandboxed", "--mode", "plan", "npm install"], 11, "deny"),
        (&["--shell", "zsh", "ls"], 10, "ask"),
        (&["--cwd", "/workspace/src", "cat ../Cargo.toml"], 0, "allow"),
    ] {
        let output = airlock(&[&["check"], arguments].concat()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}{}", stderr(&output));
        assert!(text.contains(piece), "`{piece}` in: {text}");
        assert!(!text.contains('\x1b'), "only a terminal gets colours: {text}");
    }
}

#[test]
fn without_a_profile_it_is_the_one_of_the_server_that_would_run_it() {
    let check = |site: &Site, command: &str| {
        let output = site.output(&["check", command]);
        (output.status.code(), stderr(&output))
    };
    let (code, said) = check(&Site::empty(), "npm install");
    assert_eq!(code, Some(10), "{said}");
    assert!(said.contains("the profile `strict`, the default of a server"), "{said}");
    let (code, said) = check(&Site::with_dev(&[]), "npm install");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the profile `agent`, the default of the running `airlock dev`"), "{said}");
    let (code, said) = check(&Site::with_dev(&["--profile", "demo"]), "git push");
    assert_eq!(code, Some(11), "{said}");
    assert!(said.contains("the profile `demo`"), "{said}");
    let named = Site::empty().output(&["check", "--profile", "agent", "npm install"]);
    assert_eq!((named.status.code(), stderr(&named)), (Some(0), String::new()));
}

#[test]
fn each_command_is_shown_with_what_decided_it() {
    let output = airlock(&["check", "--profile", "demo", "ls && git push --force"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(11), "{text}");
    for piece in [
        "  allow: the command is proven read-only (read_only)\n      ls && git push --force\n      ^^\n",
        "(deny_rule): the rule `Bash(git push:*)`\n      ls && git push --force\n            ^^^^^^^^^^^^^^^^\n",
        "  warning: ",
    ] {
        assert!(text.contains(piece), "`{piece}` in: {text}");
    }
}

#[test]
fn lines_are_answered_one_by_one_at_once() {
    let mut child =
        airlock(&["check", "--jsonl"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let push = json!({"deny": ["Bash(git push:*)"]});
    for (line, decision, code) in [
        (json!({"command": "ls"}).to_string(), "allow", Some("read_only")),
        (json!({"command": "g\"i\"t push", "rules": push}).to_string(), "deny", Some("deny_rule")),
        (json!({"command": "x", "rules": {"allow": ["Bash(x)"]}}).to_string(), "allow", Some("allow_rule")),
        (json!({"command": "x"}).to_string(), "ask", None),
        ("not json".to_owned(), "ask", None),
        (json!({"command": 1}).to_string(), "ask", None),
        (json!({"command": "x", "mode": "plan"}).to_string(), "deny", None),
    ] {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        // The input is still open, so the answer must arrive before its end.
        output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["decision"], decision, "{line}: {answer}");
        if let Some(code) = code {
            assert_eq!(answer["reasons"][0]["code"], code, "{line}: {answer}");
        }
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("team.toml");
    let path = file.to_str().unwrap();
    for (text, piece) in [
        (
            "name = \"team\"\nextendz = \"strict\"",
            ":2:1: `extendz`: there is no such key; did you mean `extends`?",
        ),
        (
            "name = \"team\"\n[polcy]\ndeny = [\"Bash(ls)\"]",
            ":2:2: `polcy`: there is no such key; did you mean `policy`?",
        ),
        (
            "name = \"team\"\n[policy]\ndney = [\"Bash(ls)\"]",
            ":3:1: `policy.dney`: there is no such key; did you mean `deny`?",
        ),
        ("name = \"team\"\nextends = \"nope\"", ":2:1: `extends`: the profile `nope` is not loaded"),
        (
            "name = \"team\"\n[policy]\nallow = [\"Bash(ls\"]",
            ":3:10: `policy.allow[0]`: `Bash(ls` is not a rule",
        ),
        (
            "name = \"team\"\n[limits]\ngrace = \"soon\"",
            ":3:9: `limits.grace`: it is the text `soon`; write a time",
        ),
        ("name = \"team", ":1:"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = airlock(&["check", "--profile", path, "ls"]).output().unwrap();
        let why = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}: {why}");
        assert!(why.contains(&format!("team.toml{piece}")), "`{piece}` in: {why}");
    }
    let output = airlock(&["check", "--cwd", "src", "ls"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}
