//! Tests of the import of Codex's rules.

use super::super::{Imported, import};
use crate::{Profile, Request, Verdict, decide};

fn imported(text: &str) -> Imported {
    import(text, "default.rules", "codex").unwrap()
}

const RULES: &str = r#"
# Written by the agent.
prefix_rule(pattern = ["git", ["status", "diff"]], decision = "allow", match = ["git status"])
prefix_rule(
    pattern = ["git", "push"],
    decision = "forbidden",
    justification = "a person pushes (always)",
)
prefix_rule(pattern=["make", "a b"], decision="prompt")
network_rule(host = "api.github.com", protocol = "https", decision = "allow")
network_rule(host = "mirror.example", protocol = "http", decision = "allow")
network_rule(host = "files.example", protocol = "https", decision = "deny")
network_rule(host = "upload.example", protocol = "socks5_tcp", decision = "prompt")
"#;

#[test]
fn rules_become_a_profile() {
    let Imported { toml, left_out } = imported(RULES);
    assert_eq!(left_out, [], "{toml}");
    let profile = Profile::from_toml(&toml, "codex.toml", &|_| None).unwrap();
    for (command, verdict) in [
        ("git diff --stat", Verdict::Allow),
        ("git push origin main", Verdict::Deny),
        ("make 'a b' c", Verdict::Ask),
        ("curl https://upload.example/x", Verdict::Ask),
    ] {
        assert_eq!(decide(&Request::bash(command.as_bytes()), &profile).verdict, verdict, "{command}");
    }
    let network: toml::Table = toml.parse().unwrap();
    let network = network["network"].as_table().unwrap();
    assert_eq!(network["allow"].as_array().unwrap().len(), 2, "{toml}");
    assert!(toml.contains("\"api.github.com:443\"") && toml.contains("\"mirror.example:80\""), "{toml}");
    assert_eq!(network["deny"].as_array().unwrap(), &[toml::Value::from("files.example")]);
}

#[test]
fn everything_else_is_reported_with_its_line() {
    let text = r#"network_rule(host = "a.example", protocol = "socks5_tcp", decision = "allow")
network_rule(host = "a.example", protocol = "socks5_udp", decision = "allow")
network_rule(host = "a b", protocol = "https", decision = "prompt")
network_rule(host = "*", protocol = "https", decision = "allow")
network_rule(protocol = "https", decision = "allow")
network_rule(host = "a.example", protocol = "https", decision = "maybe")
host_executable(name = "git", paths = ["/usr/bin/git"])
x = [1]
prefix_rule(pattern = f("x"))
"#;
    let Imported { toml, left_out } = imported(text);
    let lines: Vec<String> = left_out.iter().map(|one| one.place.chars().take(6).collect()).collect();
    let expected: Vec<String> = (1..=9).map(|line| format!("line {line}")).collect();
    assert_eq!(lines, expected, "{toml}");
    assert!(left_out.iter().all(|one| !one.why.is_empty()));
    assert!(!toml.contains("[network]"), "{toml}");
}

#[test]
fn any_text_gets_an_answer() {
    for text in [
        "prefix_rule(",
        "prefix_rule(pattern=[[[[[[[",
        "network_rule(host='",
        "network_rule(host=\"\\",
        "prefix_rule()\u{e9}(",
    ] {
        let Imported { left_out, .. } = imported(text);
        assert!(!left_out.is_empty(), "{text}");
    }
    let large = "network_rule(host = \"a.example\",\n".repeat(20_000);
    assert!(imported(&large).left_out.len() > 1, "in linear time");
}
