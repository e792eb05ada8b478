//! Tests of other spellings of a command. A quoted space does not separate a subcommand. Deny and ask rules match every
//! spelling of flags in the tables.

use airlock_policy::{Profile, Verdict};

use crate::cases::{assert_none, entries, strict, with_rules};

/// Returns the names with several words in the tables.
fn names_of_several_words() -> Vec<String> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tables");
    let mut names = Vec::new();
    for file in entries(&directory).iter().filter(|file| file.extension().is_some_and(|end| end == "toml")) {
        let tables: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
        for kind in ["program", "launcher", "writer", "global", "exit"] {
            let entries = tables.get(kind).and_then(|entries| entries.as_table());
            names.extend(entries.into_iter().flat_map(|entries| entries.keys().cloned()));
        }
    }
    names.retain(|name| name.contains(' '));
    assert!(names.len() > 100, "the tables have fewer names than before");
    names
}

#[test]
fn a_word_with_a_blank_in_it_names_no_subcommand() {
    let mut found = Vec::new();
    for name in names_of_several_words() {
        let (program, rest) = name.split_once(' ').unwrap();
        let within = rest.contains(' ').then(|| format!("{program} '{rest}'"));
        for text in [Some(format!("'{name}'")), Some(format!("'{name}' -v")), within].into_iter().flatten() {
            let decision = strict(&text);
            if decision.verdict != Verdict::Ask || decision.commands.len() != 1 {
                found.push(format!("{text}: {:?}, {} commands", decision.verdict, decision.commands.len()));
            }
        }
    }
    assert_none(&found);
}

/// Rules, commands that match them in other spellings, and commands that do not.
const SPELLINGS: &[(&str, &[&str], &[&str])] = &[
    (
        "Bash(rm -rf /:*)",
        &[
            "rm -rf /",
            "rm -fr /",
            "rm -r -f /",
            "rm -Rf /",
            "rm -rfv /",
            "rm -rf -- /",
            "rm -v --recursive --force /",
            "rm --rec --for /",
            "rm / -rf",
            "rm -r / -f",
            "sudo /bin/rm -f -r / x",
            "find . -exec rm -fr / {} +",
            "rm -r \"$x\" /",
            "rm -zfr /",
        ],
        &["rm -r /", "rm -f /", "rm -rf x /", "rm -rf ./", "rm -r x -- -f /", "rm -r \"x$x\" /"],
    ),
    (
        "Bash(rm -rf /)",
        &["rm -fr /", "rm --force -R /", "rm -rf -- /", "rm -rfr /"],
        &["rm -rfv /", "rm -rf / x", "rm -r /"],
    ),
    (
        "Bash(git push --force:*)",
        &[
            "git push -f",
            "git push origin main --force",
            "git -C sub push -fu origin main",
            "git --no-pager push -q --force x",
        ],
        &[
            "git push",
            "git push origin --force-with-lease",
            "git push --forc",
            "git push -o -f",
            "git push -- -f",
        ],
    ),
    ("Bash(git * --force)", &["git push -f", "git push --force origin", "git checkout -f x"], &["git push"]),
    (
        "Bash(git commit -m *)",
        &["git commit --message=x", "git commit -amx", "git commit -a --mess x y"],
        &["git commit -a", "git commit --amend"],
    ),
    ("Bash(git branch -D main)", &["git branch main -D"], &["git branch -D other", "git branch -d main"]),
    ("Bash(sort -o f:*)", &["sort --output=f x", "sort -of", "sort x -o f"], &["sort -o g x", "sort f"]),
    ("Bash(head -5:*)", &["head -5 f", "head f -5"], &["head -6 f"]),
    ("Bash(tail -n 5 -f:*)", &["tail -fn5 x", "tail --follow --lines=5 x"], &["tail -fn6 x"]),
    ("Bash(docker run --privileged:*)", &["docker run -it --privileged x"], &["docker run x --privileged"]),
];

#[test]
fn rules_that_forbid_meet_other_spellings_of_the_flags_they_name() {
    let mut wrong = Vec::new();
    for (rule, met, others) in SPELLINGS {
        for (text, named) in
            met.iter().map(|text| (text, true)).chain(others.iter().map(|text| (text, false)))
        {
            let denied = with_rules(text, &[], &[], &[rule]).verdict == Verdict::Deny;
            let asked = with_rules(text, &[], &[rule], &[]).reasons[0].code == "ask_rule";
            if denied != named || asked != named {
                wrong.push(format!("{rule} and {text}: denied {denied}, asked {asked}"));
            }
        }
    }
    assert_none(&wrong);
}

#[test]
fn rules_that_forbid_meet_other_spellings_in_a_text_that_is_not_understood() {
    for text in ["rm -fr / ; echo \"$(", "if rm --force -r /; then (", "x() { rm -r -f /"] {
        let decision = with_rules(text, &[], &[], &["Bash(rm -rf /:*)"]);
        assert_eq!(decision.verdict, Verdict::Deny, "{text}");
    }
    let long = format!("rm -fr /; echo {}", "x".repeat(11_000));
    assert_eq!(with_rules(&long, &[], &[], &["Bash(rm -rf /:*)"]).verdict, Verdict::Deny);
    let other = long.replace("-fr", "-f");
    assert_eq!(with_rules(&other, &[], &[], &["Bash(rm -rf /:*)"]).verdict, Verdict::Ask);
}

#[test]
fn rules_that_allow_are_met_word_for_word() {
    for text in ["rm -fr x", "rm -r -f x", "rm -rfv x", "rm x -rf", "rm --recursive --force x"] {
        assert_eq!(with_rules(text, &["Bash(rm -rf x:*)"], &[], &[]).verdict, Verdict::Ask, "{text}");
    }
    assert_eq!(with_rules("rm -rf x", &["Bash(rm -rf x:*)"], &[], &[]).verdict, Verdict::Allow);
}

#[test]
fn a_rule_for_a_program_that_runs_what_it_is_told_warns() {
    let warnings = |rule: &str| {
        let text = format!("name = \"t\"\nextends = \"strict\"\n[policy]\nallow = [{rule:?}]\n");
        Profile::from_toml(&text, "case.toml", &|_| None).unwrap().warnings().len()
    };
    for rule in [
        "Bash(dash:*)",
        "Bash(timeout:*)",
        "Bash(timeout 5 *)",
        "Bash(busybox:*)",
        "Bash(setsid:*)",
        "Bash(/usr/bin/nice:*)",
        "Bash(pypy3:*)",
        "Bash(python3.12:*)",
        "Bash(lua:*)",
        "Bash(uv run:*)",
        "Bash(pwsh:*)",
        "Bash(git bisect run:*)",
        "PowerShell(pwsh:*)",
        "PowerShell(PowerShell.EXE:*)",
        "PowerShell(bash:*)",
        "Bash(s*:*)",
        "Bash",
        "PowerShell",
    ] {
        assert_eq!(warnings(rule), 1, "{rule}");
    }
    for rule in [
        "Bash(timeout 5 make)",
        "Bash(npm run:*)",
        "Bash(cargo:*)",
        "Bash(git commit:*)",
        "Bash(make:*)",
        "Bash(tar:*)",
        "Bash(sort:*)",
        "PowerShell(Get-Item:*)",
    ] {
        assert_eq!(warnings(rule), 0, "{rule}");
    }
}
