//! Tests of the steps of the pipeline, each by its answer.

use crate::cases::{code, in_mode, strict, with_rules};
use airlock_policy::{
    Answer, Binding, Mode, PermitError, Profile, Request, Requirement, Shell, Unsandboxed, Verdict, decide,
};

#[test]
fn a_read_only_command_requires_a_read_only_mount() {
    let decision = strict("git status && ls | head -5");
    assert_eq!(decision.verdict, Verdict::Allow);
    assert!(decision.read_only && decision.concurrency_safe && decision.parse_complete);
    assert_eq!(decision.requires, [Requirement::ReadOnlyMount, Requirement::TrustedPath]);
    let moved = strict("cd src && ls");
    assert!(moved.read_only && !moved.concurrency_safe);
}

#[test]
fn an_empty_command_runs_nothing() {
    for command in ["", "  \n", "# only a comment"] {
        assert_eq!((strict(command).verdict, code(&strict(command))), (Verdict::Allow, "empty_command"));
    }
}

#[test]
fn every_subcommand_needs_a_rule_or_the_proof() {
    let allow: &[&str] = &["Bash(npm test)", "Bash(make:*)"];
    let verdict = |command: &str| with_rules(command, allow, &[], &[]).verdict;
    assert_eq!(verdict("npm test"), Verdict::Allow);
    assert_eq!(verdict("ls && npm test | tee /dev/null && ls"), Verdict::Ask);
    assert_eq!(verdict("ls && make all && npm test | head"), Verdict::Allow);
    assert_eq!(verdict("npm test; rm x"), Verdict::Ask);
    assert_eq!(verdict("npm test $(rm x)"), Verdict::Ask);
    assert_eq!(verdict("timeout 60 make -j2"), Verdict::Allow);
    assert_eq!(verdict("NO_COLOR=1 make"), Verdict::Allow);
    assert_eq!(verdict("PATH=. make"), Verdict::Ask);
    assert_eq!(verdict("./make"), Verdict::Ask);
    assert_eq!(verdict("/usr/bin/make x"), Verdict::Allow);
    assert_eq!(verdict("sudo make"), Verdict::Ask);
    assert_eq!(verdict("make() { rm x; }; make"), Verdict::Ask);
}

#[test]
fn a_prefix_rule_does_not_cover_a_redirect_or_what_is_launched() {
    assert_eq!(with_rules("make > log", &["Bash(make:*)"], &[], &[]).verdict, Verdict::Ask);
    assert_eq!(with_rules("make > log", &["Bash(make)"], &[], &[]).verdict, Verdict::Allow);
    assert_eq!(with_rules("make > log", &["Bash(make:*)", "Edit(log)"], &[], &[]).verdict, Verdict::Allow);
    assert_eq!(with_rules("make 2>&1", &["Bash(make:*)"], &[], &[]).verdict, Verdict::Allow);
    assert_eq!(with_rules("find . -exec rm {} +", &["Bash(find:*)"], &[], &[]).verdict, Verdict::Ask);
    assert_eq!(with_rules("find . -delete", &["Bash(find:*)"], &[], &[]).verdict, Verdict::Ask);
    assert_eq!(with_rules("sudo apt update", &["Bash(sudo apt update)"], &[], &[]).verdict, Verdict::Allow);
}

#[test]
fn an_allow_rule_needs_every_word_known_to_stay_in_it() {
    let verdict = |command: &str| with_rules(command, &["Bash(git fetch origin)"], &[], &[]).verdict;
    assert_eq!(verdict("git fetch origin"), Verdict::Allow);
    assert_eq!(verdict("git fetch $x"), Verdict::Ask);
    assert_eq!(verdict("git fetch \"$x\""), Verdict::Ask);
    assert_eq!(verdict("git --no-pager fetch origin"), Verdict::Allow);
    assert_eq!(verdict("git -c a=b fetch origin"), Verdict::Ask);
}

#[test]
fn accept_edits_covers_edits_inside_the_workspace() {
    for command in [
        "mkdir -p a/b",
        "touch x",
        "rm -rf build",
        "mv a b",
        "cp -r a b",
        "echo x > f",
        "ls > f",
        "sed -i s/a/b/ f",
        "mkdir a && echo x >> a/f && cat a/f",
        "rmdir a",
    ] {
        let decision = in_mode(command, Mode::AcceptEdits);
        assert_eq!(code(&decision), "mode_accept_edits", "{command:?}");
        assert_eq!(decision.requires, [Requirement::TrustedPath]);
        assert!(!decision.read_only);
    }
    for command in [
        "rm -rf /etc",
        "touch ../x",
        "cp a ~root/x",
        "echo x > .git/hooks/pre-commit",
        "rm .bashrc",
        "cp x .claude/",
        "cd .claude && echo x > settings.json",
        "mkdir /opt/x",
        "rm $x/../y",
        "sed -i 's/a/b/w /etc/x' f",
    ] {
        let decision = in_mode(command, Mode::AcceptEdits);
        assert_ne!(code(&decision), "mode_accept_edits", "{command:?}");
    }
    for command in ["touch ../x", "rm .bashrc", "cd .git && touch x", "echo x > .CLAUDE/y"] {
        assert_eq!(in_mode(command, Mode::AcceptEdits).verdict, Verdict::Ask, "{command:?}");
    }
}

#[test]
fn plan_denies_all_but_the_proof() {
    assert_eq!(in_mode("git log", Mode::Plan).verdict, Verdict::Allow);
    for command in ["make", "touch x", "cat /etc/shadow", "echo $(", "$x"] {
        let decision = in_mode(command, Mode::Plan);
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Deny, "plan_mode"), "{command:?}");
    }
}

#[test]
fn a_mode_the_profile_does_not_permit_is_tightened() {
    let request = Request { mode: Some(Mode::Bypass), ..Request::bash(b"rm x") };
    // The loosest mode of strict is accept_edits, which covers this edit but not a build.
    let profile = Profile::builtin("strict").unwrap();
    assert_eq!(code(&decide(&request, &profile)), "mode_accept_edits");
    let request = Request { command: b"make", ..request };
    assert_eq!(decide(&request, &profile).verdict, Verdict::Ask);
}

#[test]
fn the_modes_are_ordered_from_loose_to_tight() {
    assert_eq!(Mode::tightest(Mode::Bypass, Mode::Plan), Mode::Plan);
    assert_eq!(Mode::tightest(Mode::Default, Mode::AcceptEdits), Mode::Default);
}

#[test]
fn outside_the_sandbox_takes_three_keys() {
    let profile = Profile::from_toml(
        "name = \"t\"\n[policy]\nmodes = [\"bypass\", \"default\"]\nallow_unsandboxed = true\n",
        "t.toml",
        &|_| None,
    )
    .unwrap();
    let ask = |command: &str, profile: &Profile, floor_permits| {
        let unsandboxed = Some(Unsandboxed { floor_permits });
        let mode = Some(Mode::Bypass);
        decide(&Request { unsandboxed, mode, ..Request::bash(command.as_bytes()) }, profile)
    };
    assert_eq!(code(&ask("ls", &Profile::builtin("strict").unwrap(), true)), "unsandboxed_profile");
    assert_eq!(code(&ask("ls", &profile, false)), "unsandboxed_floor");
    let decision = ask("git status", &profile, true);
    assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "unsandboxed"));
    assert!(!decision.read_only);
}

#[test]
fn the_sandboxed_profile_allows_what_strict_asks_about() {
    let profile = Profile::builtin("demo").unwrap();
    let run = |command: &str| decide(&Request::bash(command.as_bytes()), &profile);
    assert_eq!(code(&run("python3 x.py")), "sandbox_auto_allow");
    assert_eq!(code(&run("git push origin main")), "deny_rule");
    assert_eq!(code(&run("make test")), "ask_rule");
    assert_eq!(run("cat /etc/shadow").verdict, Verdict::Ask);
    assert_eq!(code(&run("echo ((")), "parse_incomplete");
}

#[test]
fn other_shells_are_asked_about_and_their_deny_rules_hold() {
    let profile = Profile::builtin("demo").unwrap();
    let run =
        |shell, command: &str| decide(&Request { shell, ..Request::bash(command.as_bytes()) }, &profile);
    assert_eq!(code(&run(Shell::Zsh, "ls")), "zsh_not_proven");
    assert_eq!(code(&run(Shell::Pwsh, "Get-ChildItem")), "read_only");
    assert_eq!(code(&run(Shell::Pwsh, "& $x")), "powershell_opaque");
    assert_eq!(code(&run(Shell::Pwsh, "Get-ChildItem; git push")), "deny_rule");
    assert_eq!(code(&run(Shell::Zsh, "ls; git push")), "deny_rule");
    let request = Request { shell: Shell::Pwsh, ..Request::bash(b"Remove-Item x") };
    let strict = Profile::builtin("strict").unwrap();
    assert_eq!(code(&decide(&request, &strict)), "powershell_cmdlet");
}

#[test]
fn a_permit_comes_from_an_allow_or_from_the_answer_to_the_same_ask() {
    let (here, there) = (Binding::new([1; 32]), Binding::new([2; 32]));
    let yes = |binding| Answer { binding, approved: true };
    let permit = strict("ls").permit(here).unwrap();
    assert!(permit.read_only() && permit.binding() == here);
    let asked = strict("make");
    assert!(asked.permit(here).is_none());
    assert!(asked.permit_with_answer(here, &yes(here)).is_ok());
    assert_eq!(asked.permit_with_answer(here, &yes(there)).unwrap_err(), PermitError::OtherBinding);
    let no = Answer { binding: here, approved: false };
    assert_eq!(asked.permit_with_answer(here, &no).unwrap_err(), PermitError::Refused);
    let denied = in_mode("make", Mode::Plan);
    assert_eq!(denied.permit_with_answer(here, &yes(here)).unwrap_err(), PermitError::Denied);
}

#[test]
fn read_only_brings_its_requirements_whichever_step_allowed_it() {
    let decision = in_mode("ls", Mode::Bypass);
    assert_eq!(code(&decision), "mode_bypass");
    assert_eq!(decision.requires, [Requirement::ReadOnlyMount, Requirement::TrustedPath]);
    let outside = with_rules("cat /etc/shadow", &["Read(//etc/shadow)"], &[], &[]);
    assert_eq!((outside.verdict, outside.read_only), (Verdict::Allow, true));
}
