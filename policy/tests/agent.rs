//! Tests of the profile `agent`: commands that stay inside the sandbox run without a question. Exceptions are commands
//! that destroy a person's work, and text that is not understood and that a rule may apply to.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Unsandboxed, Verdict, decide, parts};

use crate::cases::{assert_none, code};

fn agent() -> Profile {
    Profile::builtin("agent").unwrap()
}

fn says(command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &agent())
}

fn with_rules(command: &str, allow: &[&str], ask: &[&str], deny: &[&str]) -> Decision {
    let rules = Rules::parse(allow, ask, deny).unwrap();
    decide(&Request { extra_rules: Some(&rules), ..Request::bash(command.as_bytes()) }, &agent())
}

/// Returns the commands with another verdict or code, each with its decision.
fn differences(commands: &[&str], verdict: Verdict, wanted: &[&str]) -> Vec<String> {
    let decided = commands.iter().map(|command| (command, says(command)));
    let differs =
        decided.filter(|(_, decision)| decision.verdict != verdict || !wanted.contains(&code(decision)));
    differs
        .map(|(command, decision)| format!("{command:?}: {:?} {}", decision.verdict, code(&decision)))
        .collect()
}

#[test]
fn everything_confined_runs_without_a_question() {
    assert_none(&differences(
        &[
            "npm install",
            "python3 - <<'PY'\nprint(1)\nPY",
            "cat /etc/shadow",
            "echo x > /usr/x",
            "rm -rf src node_modules",
            "rm -rf \"$TMP\" $x",
            "rm -rf /tmp/x /workspace/tmp/*",
            "rm -f .git/index.lock",
            "rm -rf .git/rebase-merge",
            "find . -name '*.pyc' -delete",
            "find src -type f -delete",
            "find . -name x | xargs rm -rf",
            "find . -maxdepth 1 -name 'x*' -exec rm -rf {} +",
            "echo x > .bashrc",
            "echo x > .git/hooks/pre-commit",
            "git push origin main",
            "git push -u origin HEAD",
            "git push --force --dry-run",
            "git clean -n",
            "git clean -ndx",
            "git clean -fd build",
            "cd sub && git clean -fdx",
            "git -C sub clean -fdx",
            "git reset HEAD~1",
            "git reset --soft HEAD~1",
            "cd /tmp/x && git reset --hard",
            "git checkout -- src/main.rs",
            "git restore --staged .",
            "git branch -D x",
            "git gc",
            "$x y",
            "bash -c \"$x\"",
            "eval \"$x\"",
            "curl x | bash",
            "echo \"$(",
            "git commit -m 'rm -rf .git'",
        ],
        Verdict::Allow,
        &["confined", "read_only"],
    ));
    let many = "touch x; ".repeat(60);
    assert_eq!(code(&says(&many)), "confined");
    let long = format!("cat > x <<'E'\n{}\nE\n", "a b\n".repeat(5_000));
    assert_eq!(code(&says(&long)), "confined");
}

#[test]
fn a_read_only_command_is_still_read_only() {
    let decision = says("git log | head");
    assert_eq!((decision.verdict, code(&decision), decision.read_only), (Verdict::Allow, "read_only", true));
    assert_eq!(decision.requires.len(), 2);
}

#[test]
fn commands_that_destroy_work_are_asked_about() {
    assert_none(&differences(
        &[
            "rm -rf .git",
            "rm -r -f ./.git/",
            "rm --recursive .git",
            "rm -rf sub/.git",
            "rm -rf .git/objects",
            "rm -rf .git/*",
            "rm -rf .g*",
            "rm -rf /workspace",
            "rm -rf /workspace/",
            "rm -rf .",
            "rm -rf ./*",
            "rm -rf *",
            "rm -rf .[!.]* *",
            "rm -rf /",
            "rm -rf /*",
            "rm -rf ..",
            "rm -rf ~",
            "rm -rf \"$HOME\"/*",
            "rm -rf \"$PWD\"",
            "cd src; rm -rf *",
            "cd src && rm -rf ../.git",
            "true && (sudo rm -rf .git)",
            "sh -c 'rm -rf .git'",
            "echo x | xargs rm -rf .git",
            "timeout 5 rm -rf .git",
            "\"rm\" -rf .git",
            "find . -delete",
            "find -delete",
            "find /workspace -type f -delete",
            "find . -exec rm -rf {} +",
            "find .git -delete",
            "git push --force",
            "git push -f origin main",
            "git push origin +main",
            "git push --force-with-lease",
            "git push origin --delete main",
            "git clean -xdf",
            "git clean -fd",
            "git clean -f -d -x .",
            "git reset --hard",
            "cd src && git reset --hard HEAD~3",
            "git checkout .",
            "git checkout HEAD -- .",
            "git restore .",
            "git reflog expire --expire=now --all",
            "git gc --prune=now",
            "echo $(rm -rf .git",
            "f() { echo $[ x; }; rm -rf .git",
        ],
        Verdict::Ask,
        &["destroys_work"],
    ));
    let zsh = Request { shell: Shell::Zsh, ..Request::bash(b"rm -rf .git") };
    assert_eq!(code(&decide(&zsh, &agent())), "destroys_work");
    let sub = Request { cwd: Some("/workspace/sub"), ..Request::bash(b"rm -rf *") };
    assert_eq!(code(&decide(&sub, &agent())), "confined");
    let shown = parts(&Request::bash(b"ls && npm i && rm -rf .git"), &agent());
    let codes: Vec<_> = shown.iter().map(|part| part.why.code).collect();
    assert_eq!(codes, ["read_only", "confined", "destroys_work"]);
}

#[test]
fn an_allow_rule_lifts_that() {
    let decision = with_rules("git push --force origin x", &["Bash(git push --force:*)"], &[], &[]);
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Allow, "confined"));
    let other = with_rules("git push --force && rm -rf .git", &["Bash(git push --force:*)"], &[], &[]);
    assert_eq!((other.verdict, code(&other)), (Verdict::Ask, "destroys_work"));
}

#[test]
fn a_rule_holds_and_what_it_may_name_is_asked_about() {
    let deny = |command: &str| with_rules(command, &[], &[], &["Bash(git push:*)"]);
    for command in ["git push", "g\"i\"t push", "sh -c 'git push'", "x=$(git push)", "git push \"$("] {
        assert_eq!(deny(command).verdict, Verdict::Deny, "{command:?}");
    }
    for command in
        ["$x push", "bash -c \"$x\"", "echo $(ls", "curl x | bash", "echo {a,b", "eval $x", "cat x | sh"]
    {
        let decision = deny(command);
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "rules_not_certain"), "{command:?}");
        let decision = with_rules(command, &[], &["Bash(make:*)"], &[]);
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "rules_not_certain"), "{command:?}");
        assert_eq!(says(command).verdict, Verdict::Allow, "without a rule: {command:?}");
    }
    for command in ["npm install", "python3 x.py", "git status", "ls # it's", "cat - <<X\na\nX"] {
        assert_eq!(deny(command).verdict, Verdict::Allow, "{command:?}");
    }
    let zsh = Rules::parse::<&str>(&[], &[], &["Bash(git push:*)"]).unwrap();
    let zsh = Request { shell: Shell::Zsh, extra_rules: Some(&zsh), ..Request::bash(b"npm i") };
    assert_eq!(
        decide(&zsh, &agent()).verdict,
        Verdict::Ask,
        "a bash parse does not prove a zsh command read-only"
    );
}

#[test]
fn it_is_not_bypass() {
    let profile = agent();
    assert!(!profile.modes().contains(&Mode::Bypass) && !profile.allow_unsandboxed());
    let asked = |request: Request<'_>| decide(&request, &profile);
    let outside = Some(Unsandboxed { floor_permits: true });
    let decision = asked(Request { unsandboxed: outside, ..Request::bash(b"ls") });
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Deny, "unsandboxed_profile"));
    let decision = asked(Request { mode: Some(Mode::Plan), ..Request::bash(b"npm install") });
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Deny, "plan_mode"));
    let decision = asked(Request { mode: Some(Mode::Bypass), ..Request::bash(b"rm -rf .git") });
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "destroys_work"));
    let more = Profile::from_toml(
        "name = \"p\"\nextends = \"agent\"\n[policy]\nallow_unsandboxed = true\n",
        "p.toml",
        &|_| None,
    );
    let decision = decide(&Request { unsandboxed: outside, ..Request::bash(b"npm i") }, &more.unwrap());
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "unsandboxed"));
}
