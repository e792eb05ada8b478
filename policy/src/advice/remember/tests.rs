//! Tests of the rules that may be remembered.

use super::*;
use crate::{Profile, Request, decide};

fn answer(rule: &str) -> Result<(), NotRemembered> {
    let asked = decide(&Request::bash(b"cat /etc/shadow"), &Profile::blank("p"));
    memorable(&Rule::parse(rule).unwrap(), &asked)
}

#[test]
fn what_names_its_command_is_remembered() {
    for rule in [
        "Bash(make all)",
        "Bash(make:*)",
        "Bash(npm run:*)",
        "Bash(git push:*)",
        "Bash(git push * --force)",
        "Bash(python3 -c 'print(1)')",
        "Bash(sudo ls)",
        "Bash(echo \\*)",
        "Read(//etc/shadow)",
    ] {
        assert_eq!(answer(rule), Ok(()), "{rule}");
    }
}

#[test]
fn what_would_allow_anything_is_not() {
    for rule in ["Bash", "Bash(*)", "Bash(* --version)", "Bash(mak*)", "Bash(ma* all)"] {
        assert_eq!(answer(rule), Err(NotRemembered::Program), "{rule}");
    }
    for rule in [
        "Bash(sh:*)",
        "Bash(/bin/bash:*)",
        "Bash(bash -c *)",
        "Bash(bash -c:*)",
        "Bash(env:*)",
        "Bash(env * ls)",
        "Bash(sudo:*)",
        "Bash(sudo ls*)",
        "Bash(xargs:*)",
        "Bash(python3.11:*)",
        "Bash(python3 -c *)",
        "Bash(find . -name *)",
        "Bash(timeout:*)",
        "Bash(nohup:*)",
        "Bash(parallel:*)",
        "Bash(watch:*)",
        "Bash(setsid:*)",
        "Bash(ssh host:*)",
    ] {
        assert_eq!(answer(rule), Err(NotRemembered::RunsAnything), "{rule}");
    }
    for rule in ["Read", "Read(**)", "Read(//etc/**)", "Edit(//etc/shadow)", "Edit(*)"] {
        assert_eq!(answer(rule), Err(NotRemembered::Path), "{rule}");
    }
}

#[test]
fn rules_behind_a_profile_lift_neither_what_it_denies_nor_what_it_asks_about() {
    let profile = Profile::builtin("demo").unwrap();
    let rules = ["Bash(git push:*)", "Bash(make:*)"].map(|text| Rule::parse(text).unwrap());
    let more = profile.with_allowed(rules);
    assert_ne!(more.policy_version(), profile.policy_version());
    for command in [&b"git push"[..], b"make all"] {
        let [before, after] = [&profile, &more].map(|by| decide(&Request::bash(command), by).verdict);
        assert_eq!(before, after);
    }
    let strict = Profile::builtin("strict").unwrap();
    let allowed = strict.with_allowed([Rule::parse("Bash(make:*)").unwrap()]);
    assert_eq!(decide(&Request::bash(b"make all"), &allowed).verdict, crate::Verdict::Allow);
}
