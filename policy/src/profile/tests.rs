//! Tests of profiles that load and of profiles that must not.

use super::*;
use crate::request::Mode;
use crate::rules::Rule;

fn load(text: &str) -> Result<Profile, ProfileError> {
    Profile::from_toml(text, "team.toml", &|_| None)
}

#[test]
fn every_builtin_name_is_a_profile() {
    for name in Profile::builtin_names() {
        assert_eq!(Profile::builtin(name).unwrap().name(), *name);
    }
    assert!(Profile::builtin("nope").is_none());
}

#[test]
fn a_profile_extends_another_and_adds_to_it() {
    let profile = load(
        "name = \"team\"\nextends = \"demo\"\n[policy]\nallow = [\"Bash(npm test)\"]\n[sandbox]\nx = 1\n",
    )
    .unwrap();
    assert_eq!(profile.rules().allow.len(), 1);
    assert_eq!(profile.rules().deny.len(), 1);
    assert!(profile.auto_allow());
    assert_ne!(profile.policy_version(), Profile::builtin("demo").unwrap().policy_version());
}

#[test]
fn a_rule_about_a_host_that_is_none_is_told_with_its_place() {
    let text = "name = \"t\"\n[policy]\nallow = [\"Network(a.example)\", \"Network(*.com)\"]\nask = [\"Network(*.com)\"]\ndeny = [\"Network(a b)\"]\n";
    let error = load(text).unwrap_err();
    let places: Vec<(usize, &str)> = error.problems.iter().map(|one| (one.line, one.key.as_str())).collect();
    assert_eq!(places, [(3, "policy.allow[1]"), (5, "policy.deny[0]")], "{error}");
}

#[test]
fn a_broken_profile_names_place_key_and_cure_of_everything_at_once() {
    let text = r#"name = "t"
extends = "gone"
[policy]
modes = ["plan"]
default_mode = "default"
allow = ["Bash(ls)", "Bosh(ls)", "Bash("]
additional_directories = ["src"]
[policy.shadow]
deny = ["Read(a[)"]
"#;
    let error = load(text).unwrap_err();
    let places: Vec<(usize, usize, &str)> =
        error.problems.iter().map(|one| (one.line, one.column, one.key.as_str())).collect();
    assert_eq!(
        places,
        [
            (2, 11, "extends"),
            (5, 16, "policy.default_mode"),
            (6, 22, "policy.allow[1]"),
            (6, 34, "policy.allow[2]"),
            (7, 27, "policy.additional_directories[0]"),
            (9, 9, "policy.shadow.deny[0]"),
        ]
    );
    for line in error.to_string().lines() {
        assert!(line.starts_with("team.toml:") && line.contains("; "), "{line}");
    }
}

#[test]
fn a_text_of_another_form_is_refused_at_its_place() {
    let error = load("name = \"\u{e9}\" x\n").unwrap_err();
    assert_eq!((error.problems[0].line, error.problems[0].column), (1, 12), "{error}");
    let error = load("name = \"t\"\n[policy]\nalow = []\n").unwrap_err();
    assert_eq!(error.problems[0].line, 3);
    assert!(error.to_string().contains("alow"), "{error}");
}

#[test]
fn a_profile_has_at_most_so_many_rules_and_cases() {
    let rules = |count: usize| {
        let list = "\"Bash(x)\",".repeat(count);
        format!("name = \"t\"\n[policy]\ndeny = [{list}]\n")
    };
    assert!(load(&rules(crate::limits::MAX_RULES)).is_ok());
    let error = load(&rules(crate::limits::MAX_RULES + 1)).unwrap_err().to_string();
    assert!(error.contains("`policy.deny`") && error.contains("2001 rules"), "{error}");
    let case = "[[policy.test]]\ncommand = \"rm x\"\nexpect = \"ask\"\n";
    let cases = |count: usize| format!("name = \"t\"\n{}", case.repeat(count));
    assert!(load(&cases(3)).is_ok());
    let error = load(&cases(crate::limits::MAX_CASES + 1)).unwrap_err().to_string();
    assert!(error.starts_with("team.toml:3002:1: `policy.test`"), "{error}");
}

#[test]
fn a_profile_that_fails_its_own_tests_does_not_load_and_every_failure_is_told() {
    let text = r#"name = "t"
[policy]
deny = ["Bash(git push:*)"]
[[policy.test]]
command = "rm x"
expect = "allow"
[[policy.test]]
command = "git push"
expect = "deny"
reason = "deny_rule"
[[policy.test]]
command = "git push"
expect = "deny"
reason = "too_long"
[[policy.test]]
command = "rm x"
expect = "deny"
mode = "plan"
"#;
    let error = load(text).unwrap_err();
    let keys: Vec<&str> = error.problems.iter().map(|one| one.key.as_str()).collect();
    assert_eq!(keys, ["policy.test[0]", "policy.test[2]"], "{error}");
    assert_eq!(error.problems[0].line, 4);
    assert!(error.to_string().contains("`rm x` is asked about"), "{error}");
    assert!(error.to_string().contains("is denied (`deny_rule`), not denied (`too_long`)"), "{error}");
}

/// Returns the warnings of a profile with this allow rule.
fn warnings(rule: &str) -> Vec<String> {
    let text = format!("name = \"t\"\n[policy]\nallow = [\"{rule}\"]\n");
    load(&text).unwrap().warnings().to_vec()
}

#[test]
fn rules_that_allow_anything_are_warned_about() {
    let programs = "sh bash zsh fish env sudo doas xargs eval exec python python3 python3.12 node deno tsx \
                    ruby perl php lua npx bunx ssh find awk sed";
    for program in programs.split(' ') {
        assert_eq!(warnings(&format!("Bash({program}:*)")).len(), 1, "{program}");
        assert_eq!(warnings(&format!("Bash(/usr/bin/{program} *)")).len(), 1, "{program}");
    }
    for rule in ["Bash", "Bash(bash -c *)", "Bash(* --version)", "Edit(**)", "Edit(//**)", "Edit"] {
        assert_eq!(warnings(rule).len(), 1, "{rule}");
    }
    for rule in [
        "Bash(npm run:*)",
        "Bash(yarn run:*)",
        "Bash(git:*)",
        "Bash(python3 x.py)",
        "Bash(bash)",
        "Edit(src/**)",
        "Edit(.git/**)",
        "Read(**)",
    ] {
        assert_eq!(warnings(rule), [] as [String; 0], "{rule}");
    }
}

fn text(file: &str, text: &str) -> ProfileText {
    ProfileText { file: file.to_owned(), text: text.to_owned() }
}

#[test]
fn a_chain_is_followed_to_its_end_and_the_nearest_says_more() {
    let parents = |name: &str| match name {
        "b" => Some(text("b.toml", "name = \"b\"\nextends = \"c\"\n[policy]\ndeny = [\"Bash(b)\"]\n")),
        "c" => {
            Some(text("c.toml", "name = \"c\"\nextends = \"sandboxed\"\n[policy]\ndeny = [\"Bash(c)\"]\n"))
        }
        _ => None,
    };
    let own = text("a.toml", "name = \"a\"\nextends = \"b\"\n[policy]\nauto_allow_if_sandboxed = false\n");
    let (profile, cases) = Profile::resolve(&own, &parents).unwrap();
    let rules: Vec<&str> = profile.rules().deny.iter().map(Rule::text).collect();
    assert_eq!((rules, profile.auto_allow(), cases.len()), (vec!["Bash(c)", "Bash(b)"], false, 0));
    assert!(profile.modes().contains(&Mode::Bypass), "the modes of sandboxed");
}

#[test]
fn circles_and_endless_chains_are_refused_where_they_close() {
    let own = text("a.toml", "name = \"a\"\nextends = \"b\"\n");
    let circle = |name: &str| match name {
        "a" => Some(own.clone()),
        "b" => Some(text("b.toml", "name = \"b\"\nextends = \"a\"\n")),
        _ => None,
    };
    let error = Profile::resolve(&own, &circle).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "b.toml:2:11: `extends`: the profiles extend each other in a cycle that contains `a.toml`"
        ),
        "{error}"
    );
    let endless = |name: &str| {
        Some(text(&format!("{name}.toml"), &format!("name = \"{name}\"\nextends = \"{name}x\"\n")))
    };
    let error = Profile::resolve(&own, &endless).unwrap_err().to_string();
    assert!(error.starts_with("a.toml:2:11: `extends`: the chain of `extends` has more than"), "{error}");
}

#[test]
fn a_broken_parent_is_named_with_its_own_file_and_place() {
    let parent = |_: &str| Some(text("b.toml", "name = \"b\"\n[policy]\ndeny = [\"Bosh\"]\n"));
    let own = text("a.toml", "name = \"a\"\nextends = \"b\"\n");
    let error = Profile::resolve(&own, &parent).unwrap_err().to_string();
    assert!(error.starts_with("b.toml:3:9: `policy.deny[0]`"), "{error}");
}

#[test]
fn a_file_of_cases_is_read_with_places() {
    let cases = Case::read_all("[[test]]\ncommand = \"ls\"\nexpect = \"allow\"\n", "x.toml").unwrap();
    assert_eq!((cases[0].line, cases[0].key.as_str()), (1, "test[0]"));
    let strict = Profile::builtin("strict").unwrap();
    assert_eq!(cases[0].failure(&cases[0].decide(&strict)), None);
    let error = Case::read_all("[[test]]\ncomand = \"ls\"\n", "x.toml").unwrap_err().to_string();
    assert!(error.starts_with("x.toml:2:1"), "{error}");
}
