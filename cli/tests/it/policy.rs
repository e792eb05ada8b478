//! Tests of `airlock policy` as CI and users of another tool use it.

use std::{fs, io::Write as _, path::Path, process::Output};

use crate::support::{airlock, stderr};

fn in_directory(directory: &Path, arguments: &[&str]) -> Output {
    airlock(&[&["policy"], arguments].concat()).current_dir(directory).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const TEAM: &str = r#"name = "team"
extends = "base"
[policy]
allow = ["Bash(make:*)"]
[[policy.test]]
command = "make all"
expect = "allow"
reason = "allow_rule"
"#;

#[test]
fn cases_are_decided_and_those_that_come_out_otherwise_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    write("base.toml", "name = \"base\"\nextends = \"strict\"\n[policy]\ndeny = [\"Bash(git push:*)\"]\n");
    write("team.toml", TEAM);
    let output = in_directory(directory.path(), &["test", "team.toml"]);
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(0), "1 profile, 1 case: all passed\n")
    );

    write(
        "more.toml",
        "[[test]]\ncommand = \"git push\"\nexpect = \"deny\"\n[[test]]\ncommand = \"ls\"\nexpect = \"ask\"\n",
    );
    let output = in_directory(directory.path(), &["test", "team.toml", "base.toml", "--cases", "more.toml"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("more.toml:4:1: `test[1]` by `team`: `ls` is allowed (`read_only`), not asked about"),
        "{text}"
    );
    assert!(text.contains("    allow (read-only)"), "the decision is rendered: {text}");
    assert!(text.ends_with("2 profiles, 5 cases: 3 passed, 2 failed\n"), "{text}");

    write("team.toml", &TEAM.replace("allow_rule", "read_only"));
    let output = in_directory(directory.path(), &["test", "team.toml", "strict"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stdout(&output).starts_with("team.toml:5:1: `policy.test[0]` by `team`: "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_broken_profile_is_told_with_file_line_and_remedy_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("broken.toml"), "name = \"broken\"\n[policy]\ndeny = [\"Bosh(x)\"]\n")
        .unwrap();
    let output = in_directory(directory.path(), &["test", "broken.toml", "strict"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("broken.toml:3:9: `policy.deny[0]`: `Bosh(x)` has the unknown tool `Bosh`")
    );
    assert!(stderr(&output).contains("; correct or remove the rule"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "2 profiles, 0 cases: all passed; 1 profile not loaded\n");
    for arguments in [&["test", "nowhere.toml"][..], &["test", "strict", "--cases", "nowhere.toml"]] {
        let output = in_directory(directory.path(), arguments);
        assert!(matches!(output.status.code(), Some(1 | 2)) && output.stdout.is_empty());
        assert!(stderr(&output).contains("nowhere.toml"), "{}", stderr(&output));
    }
}

#[test]
fn settings_become_a_profile_that_decides_and_what_was_left_out_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let settings = r#"{"permissions": {"deny": ["Bash(git push:*)"], "allow": ["WebSearch"]}, "model": "m"}"#;
    fs::write(directory.path().join("settings.json"), settings).unwrap();
    let output = in_directory(directory.path(), &["import", "settings.json", "-o", "agent.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(output.stdout.is_empty() && said.lines().count() == 2, "{said}");
    assert!(said.contains(
        "not converted: permissions.allow[0]: \"WebSearch\": the rule is about a tool of the agent"
    ));
    let made = fs::read_to_string(directory.path().join("agent.toml")).unwrap();
    assert!(made.contains("name = \"agent\"") && made.contains("# permissions.deny[0]"), "{made}");
    let check = airlock(&["check", "--profile", "agent.toml", "git push"]);
    let output = { check }.current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));

    let output = in_directory(directory.path(), &["import", "settings.json", "-o", "agent.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`agent.toml` already exists; use another file"));
}

#[test]
fn settings_from_standard_input_become_a_profile_on_standard_output() {
    let run = |arguments: &[&str], input: &[u8]| {
        let mut command = airlock(&[&["policy", "import", "-"], arguments].concat());
        let pipe = std::process::Stdio::piped;
        let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
        // A command that refuses its arguments does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    };
    let output = run(&["--name", "mine"], br#"{"sandbox": {"enabled": true}}"#);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("name = \"mine\"")
            && stdout(&output).contains("auto_allow_if_sandboxed = true")
    );
    for (arguments, input, code, piece) in [
        (&[][..], &b"{"[..], 1, "`-`: 1:1: the file is not valid JSON"),
        (&[], b"[1]", 1, "the file is not a JSON object"),
        (&[], b"\xff", 1, "is not UTF-8"),
        (&["--name", "a b"], b"{}", 2, "`a b` is not a valid profile name"),
    ] {
        let output = run(arguments, input);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(piece) && output.stdout.is_empty(), "`{piece}` in: {said}");
    }
}
