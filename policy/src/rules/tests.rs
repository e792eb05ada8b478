//! Tests of rules: their syntax, and the commands that they match.

use super::*;
use matching::{StepBudget, WordView};

fn words(text: &str) -> Vec<WordView<'_>> {
    text.split_whitespace()
        .map(|word| match word {
            "ONE" => WordView::One,
            "MANY" => WordView::Many,
            known => WordView::Known(known.as_bytes()),
        })
        .collect()
}

fn may(rule: &str, text: &str) -> bool {
    let rule = Rule::parse(rule).unwrap();
    rule.words().unwrap().may_match(&words(text), &StepBudget::new())
}

fn must(rule: &str, text: &str) -> bool {
    let rule = Rule::parse(rule).unwrap();
    rule.words().unwrap().must_match(&words(text), &StepBudget::new())
}

#[test]
fn a_prefix_rule_ends_at_a_word_border() {
    assert!(must("Bash(npm run:*)", "npm run"));
    assert!(must("Bash(npm run:*)", "npm run test"));
    assert!(!must("Bash(npm run:*)", "npm runx"));
    assert!(!must("Bash(npm run:*)", "npm"));
}

#[test]
fn a_star_spans_any_number_of_words() {
    assert!(may("Bash(git * --force)", "git push origin main --force"));
    assert!(may("Bash(git * --force)", "git --force"));
    assert!(!may("Bash(git * --force)", "git push --force-with-lease"));
    assert!(must("Bash(echo *)", "echo"));
    assert!(must("Bash", "anything at all"));
}

#[test]
fn an_unknown_word_meets_deny_but_not_allow() {
    assert!(may("Bash(git push)", "git ONE"));
    assert!(!must("Bash(git push)", "git ONE"));
    assert!(may("Bash(git push --force)", "git MANY"));
    assert!(!may("Bash(git push --force)", "git ONE"));
    assert!(must("Bash(git:*)", "git MANY"));
    assert!(must("Bash(git * x)", "git ONE x"));
    assert!(!must("Bash(git x*)", "git ONE"));
    assert!(may("Bash(rm:*)", "MANY"));
}

#[test]
fn a_star_in_a_word_stays_in_the_word() {
    assert!(must("Bash(npm test*)", "npm tests"));
    assert!(!must("Bash(npm test*)", "npm test x"));
    assert!(must(r"Bash(echo \*)", "echo *"));
    assert!(!must(r"Bash(echo \*)", "echo x"));
}

#[test]
fn errors_name_the_rule_and_the_cure() {
    let error = Rule::parse("bash(git)").unwrap_err().to_string();
    assert!(error.contains("`bash`") && error.contains("write Bash"));
    assert!(Rule::parse("Bash()").is_err());
    assert!(Rule::parse("Bash(git").is_err());
    assert!(Rule::parse("Bash(echo 'x)").is_err());
    assert!(Rule::parse("Read(a[)").is_err());
    assert!(Rule::parse("").is_err());
    for (text, remedy) in [
        ("Network", "write `Network(example.com)`"),
        ("Network()", "write a host"),
        ("Network(*)", "write `*.DOMAIN`"),
        ("Network(https://example.com/a)", "write only the host, as `example.com`"),
        ("Network(example.com:x)", "write one port"),
        ("Network(pipy)", "write `pypi`"),
    ] {
        let error = Rule::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{text}` does not name a host: ")), "{error}");
        assert!(error.contains(remedy), "{error}");
    }
    assert_eq!(Rule::parse("Network(*.com)").unwrap().tool(), Tool::Network);
    assert!(Rules::parse(&["Network(*.com)"], &[], &[]).is_err(), "too wide to allow");
    assert!(Rules::parse(&[], &["Network(*.com)"], &["Network(*.com)"]).is_ok());
}

#[test]
fn path_rules_follow_gitignore() {
    let hit = |rule: &str, path: &str| {
        let rule = Rule::parse(rule).unwrap();
        rule.path().unwrap().matches(path, "/workspace", "/home/agent")
    };
    assert!(hit("Read(.env)", "/workspace/.env"));
    assert!(hit("Read(.env)", "/workspace/a/b/.env"));
    assert!(!hit("Read(/.env)", "/workspace/a/.env"));
    assert!(hit("Read(//etc/**)", "/etc/passwd"));
    for everything in ["Read(//**)", "Read(//**/)"] {
        assert!(hit(everything, "/etc/ssl/certs/a/b") && hit(everything, "/etc"), "{everything}");
    }
    assert!(hit("Read(**)", "/workspace/a/b/c/d") && hit("Read", "/workspace/a/b/c"));
    assert!(hit("Edit(src/*.rs)", "/workspace/src/a.rs"));
    assert!(!hit("Edit(src/*.rs)", "/workspace/src/b/a.rs"));
    assert!(hit("Edit(src)", "/workspace/src/b/a.rs"));
    assert!(hit("Read(~/.ssh/**)", "/home/agent/.ssh/id"));
    assert!(!hit("Read(src/**)", "/etc/src/a"));
}

#[test]
fn raw_text_meets_rules_through_quotes_and_paths() {
    let hit = |rule: &str, text: &str| {
        let rule = Rule::parse(rule).unwrap();
        let unquoted = raw::Unquoted::of(text.as_bytes());
        raw::RawViews::new(text.as_bytes(), &unquoted).may_hold(rule.words().unwrap(), &StepBudget::new())
    };
    assert!(hit("Bash(git push:*)", "((( g\"i\"t  pu\\sh"));
    assert!(hit("Bash(rm:*)", "x & /bin/rm -rf"));
    assert!(hit("Bash(rm:*)", "$'\\x72m' x"));
    assert!(hit("Bash(curl:*)", "cu\\\nrl x"));
    assert!(hit("Bash(r*m x*y)", "xzy; /bin/ram; xy"));
    assert!(!hit("Bash(r*m x*y)", "xzy; /bin/ram"));
    assert!(!hit("Bash(rm:*)", "format x"));
    assert!(!hit("Bash(git push:*)", "push git"));
}

#[test]
fn a_star_within_a_word_spans_any_bytes() {
    let hit = |pattern: &str, text: &str| {
        let pattern: Vec<Option<u8>> = pattern.bytes().map(|b| (b != b'*').then_some(b)).collect();
        matching::glob_matches(&pattern, text.as_bytes())
    };
    for (pattern, text) in
        [("a*", "a"), ("*", ""), ("*a*b", "aab"), ("a*b*c", "abbcbc"), ("**a", "ba"), ("", "")]
    {
        assert!(hit(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a*", "b"), ("a*b", "abc"), ("*a*b", "ba"), ("", "a"), ("a", ""), ("a*a", "a")] {
        assert!(!hit(pattern, text), "{pattern} {text}");
    }
}
