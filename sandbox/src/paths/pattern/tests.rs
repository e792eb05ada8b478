//! Tests of the matches of globs, and of the extent of a search.

use super::*;

fn list(rules: &[&str], denies: bool) -> List {
    let rules: Vec<_> = rules.iter().map(|rule| (*rule).to_owned()).collect();
    List::new(&rules, denies).unwrap()
}

#[test]
fn a_rule_names_what_the_policy_says_it_names() {
    for (rule, named, not) in [
        (".env", "/workspace/a/b/.env", "/home/agent/.env"),
        (".env", "/workspace/.env", "/workspace/x.env"),
        ("secrets/**", "/workspace/secrets", "/workspace/a/secrets"),
        ("secrets/", "/workspace/a/secrets", "/workspace/secrets2"),
        ("src/*.key", "/workspace/src/a.key", "/workspace/src/b/a.key"),
        ("src/**/*.key", "/workspace/src/b/c/a.key", "/workspace/a.key"),
        ("~/.ssh", "/home/agent/.ssh", "/workspace/.ssh"),
        ("//etc/ssl", "/etc/ssl", "/workspace/etc/ssl"),
        ("/tmp/x", "/tmp/x", "/tmp/y"),
        ("/tmp/x", "/workspace/tmp/x", "/x"),
        ("//**/id_rsa", "/tmp/a/id_rsa", "/tmp/a/id_rsa.pub"),
        ("*.{pem,key}", "/workspace/a.pem", "/workspace/a.pub"),
        ("**", "/workspace", "/tmp"),
        (".", "/workspace", "/workspace/a"),
        ("./a/b", "/workspace/a/b", "/workspace/b"),
    ] {
        let list = list(&[rule], true);
        assert!(list.names(Path::new(named)), "{rule} {named}");
        assert!(!list.names(Path::new(not)), "{rule} {not}");
    }
    assert!(!list(&["/tmp/x"], false).names(Path::new("/workspace/tmp/x")), "an exception is not widened");
}

#[test]
fn what_is_no_rule_is_refused() {
    for (rule, told) in [
        ("", "the path rule `` names no path"),
        ("//", "the path rule `//` names no path"),
        ("//**", "the path rule `//**` names no path"),
        ("../a", "the path rule `../a` contains `..`"),
        ("a/[", "the path rule `a/[` is not a valid glob: unclosed character class; missing ']'"),
    ] {
        assert_eq!(List::new(&[rule.to_owned()], true).unwrap_err().to_string(), told);
    }
}

#[test]
fn one_looks_only_where_something_can_be_named() {
    for (rule, directory, wanted) in [
        ("secrets/key", "/workspace", true),
        ("secrets/key", "/workspace/secrets", true),
        ("secrets/key", "/workspace/secrets/key", false),
        ("secrets/key", "/workspace/src", false),
        ("src/*.key", "/workspace/src", true),
        ("src/*.key", "/workspace/src/deep", false),
        (".env", "/workspace/any/where", true),
        (".env", "/tmp", false),
        ("//etc/**/*.key", "/usr", false),
        ("//etc/**/*.key", "/etc/ssl", true),
    ] {
        assert_eq!(list(&[rule], true).may_name_below(Path::new(directory)), wanted, "{rule} {directory}");
    }
}
