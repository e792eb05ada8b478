//! Programs that start a shell if no command follows. The commands of that shell are unknown.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Verdict, decide};

use crate::cases::with_rules;

/// Each program without a command and with one.
const STARTS: &[(&str, &str)] = &[
    ("setarch x86_64", "setarch x86_64 ls"),
    ("setarch -R", "setarch -R x86_64 ls"),
    ("linux32", "linux32 ls"),
    ("linux64 -v", "linux64 -v ls"),
    ("i386", "i386 ls"),
    ("x86_64", "x86_64 ls"),
    ("chroot d", "chroot d ls"),
    ("unshare -r", "unshare -r ls"),
    ("nsenter -t 1 -a", "nsenter -t 1 -a ls"),
    ("script f", "script -c ls f"),
    ("fakeroot", "fakeroot ls"),
    ("fakechroot", "fakechroot ls"),
    ("pkexec", "pkexec ls"),
    ("sudo -s", "sudo -s ls"),
    ("sudo -u a -i", "sudo -u a -i ls"),
    ("doas -s", "doas -s ls"),
    ("systemd-run -S", "systemd-run ls"),
    ("podman unshare", "podman unshare ls"),
    ("nix-shell x.nix", "nix-shell --run ls x.nix"),
    ("nix develop", "nix develop -c ls"),
    ("guix shell", "guix shell -- ls"),
    ("npx", "npx ls"),
    ("npm exec", "npm exec ls"),
    ("aws-vault exec a", "aws-vault exec a -- ls"),
];

/// Programs that always start a user's shell.
const LOGIN: &[&str] = &["newgrp", "newgrp g", "sg g", "su", "su a", "runuser a", "poetry shell"];

/// Programs that read commands in their own language.
const OWN: &[&str] = &["gdb", "lldb", "expect", "tmux", "screen", "firejail", "proot"];

fn asked(command: &str) -> bool {
    let decision = with_rules(command, &["Bash"], &[], &[]);
    decision.verdict == Verdict::Ask && !decision.parse_complete
}

#[test]
fn a_shell_for_want_of_a_command_is_asked_about() {
    for (without, with) in STARTS {
        assert!(asked(without), "{without}");
        assert!(asked(&format!("{without} <<< ls")), "{without}");
        assert!(asked(&format!("echo ls | {without}")), "{without}");
        assert!(!asked(with), "{with}");
    }
    for command in LOGIN.iter().chain(OWN) {
        assert!(asked(command), "{command}");
    }
    for command in OWN {
        assert!(asked(&format!("{command} <<< ls")), "{command}");
    }
}

#[test]
fn a_deny_rule_sees_what_such_a_shell_reads() {
    let login = LOGIN.iter().copied();
    for command in STARTS.iter().map(|(without, _)| *without).chain(login) {
        let denied = |text: &str| with_rules(text, &["Bash"], &[], &["Bash(rm:*)"]).verdict;
        assert_eq!(denied(&format!("{command} <<< 'rm x'")), Verdict::Deny, "{command}");
        assert_eq!(denied(&format!("{command} <<'E'\nrm x\nE")), Verdict::Deny, "{command}");
        assert_ne!(denied(&format!("{command} <<< 'ls x'")), Verdict::Deny, "{command}");
    }
}

fn decided(shell: Shell, text: &str, mode: Mode, deny: &[&str], ask: &[&str]) -> Decision {
    let rules = Rules::parse(&[], ask, deny).unwrap();
    let request =
        Request { shell, mode: Some(mode), extra_rules: Some(&rules), ..Request::bash(text.as_bytes()) };
    decide(&request, &Profile::builtin("sandboxed").unwrap())
}

fn verdict(shell: Shell, text: &str, deny: &[&str]) -> Verdict {
    let verdicts = [Mode::Bypass, Mode::AcceptEdits, Mode::Default];
    let all = verdicts.map(|mode| decided(shell, text, mode, deny, &[]).verdict);
    assert!(all.iter().all(|one| *one == all[0]), "{text}: {all:?}");
    all[0]
}

#[test]
fn words_of_a_deny_rule_in_the_text_deny_it() {
    for text in [
        "remove-item x",
        "Remove-Item x",
        "Re`move-Item x",
        "re`\nmove; Remove`-Item x",
        "'Remove-Item' x",
        "& \"Remove-Item\" x",
        "Re''move-Item x",
        "\u{2018}Remove-Item\u{2019} x",
        "gci | %{Remove-Item $_}",
        "if ($true) {\n  REMOVE-ITEM x }",
        "iex \"$(Remove-Item x)\"",
    ] {
        assert_eq!(verdict(Shell::Pwsh, text, &["PowerShell(Remove-Item:*)"]), Verdict::Deny, "{text}");
    }
    for text in ["git push", "Get-Date; git `\n push -f", "GIT 'push'"] {
        assert_eq!(verdict(Shell::Pwsh, text, &["Bash(git push:*)"]), Verdict::Deny, "{text}");
    }
    for rule in ["PowerShell", "Bash", "PowerShell(Remove-*)"] {
        assert_eq!(verdict(Shell::Pwsh, "Remove-Item x", &[rule]), Verdict::Deny, "{rule}");
    }
}

#[test]
fn where_a_rule_forbids_anything_powershell_that_hides_commands_is_asked_about_in_every_mode() {
    for text in [
        "iex ('Remove' + '-Item x')",
        "& $x",
        "Import-Module ./m.psm1",
        "[Diagnostics.Process]::Start('x')",
        "1 |",
    ] {
        for rule in ["PowerShell(Remove-Item:*)", "Bash(git push:*)", "Read(.env)"] {
            assert_eq!(verdict(Shell::Pwsh, text, &[rule]), Verdict::Ask, "{text} with {rule}");
            let asked = decided(Shell::Pwsh, text, Mode::Bypass, &[], &[rule]);
            assert_eq!(asked.reasons[0].code, "powershell_opaque", "{text}");
        }
    }
    let asked = decided(Shell::Pwsh, "remove-item x", Mode::Bypass, &[], &["PowerShell(Remove-Item:*)"]);
    assert_eq!((asked.verdict, asked.reasons[0].code), (Verdict::Ask, "ask_rule"));
    let plan = decided(Shell::Pwsh, "ri x", Mode::Plan, &["Bash(git push:*)"], &[]);
    assert_eq!(plan.verdict, Verdict::Deny);
    let free = decided(Shell::Pwsh, "Get-Date", Mode::Bypass, &["Bash(git push:*)"], &[]);
    assert_eq!(free.verdict, Verdict::Allow);
}

#[test]
fn powershell_that_bash_starts_is_held_by_the_same_rules() {
    let deny = &["Bash(git push:*)", "PowerShell(Remove-Item:*)"];
    for text in [
        "pwsh -c 'git push'",
        "pwsh -NoProfile -Command \"GIT  push\"",
        "powershell 're`move-item x'",
        "/usr/bin/pwsh -nop -c Remove-Item x",
        "sudo pwsh -c 'git push'",
        "bash -c 'pwsh -c \"git push\"'",
        "pwsh -nop <<'E'\ngit push\nE",
        "pwsh <<< 'git push'",
        "pwsh -nop -c '& {git push}'",
        "pwsh -NoProfile -EncodedCommand ZwBpAHQAIABwAHUAcwBoAA==",
        "pwsh -EncodedCommand ZwBpAHQAIABwAHUAcwBoAA==",
        "pwsh /nop /c ri x",
        "pwsh \u{2013}nop \u{2013}c ri x",
        "echo 'git push' | pwsh -",
        "ls; timeout 5 pwsh -c 'git push' &",
    ] {
        let decision = decided(Shell::Bash, text, Mode::Bypass, deny, &[]);
        assert_eq!(decision.verdict, Verdict::Deny, "{text}");
        assert!(decision.reasons[0].command_index.is_some() && decision.reasons[0].rule.is_some(), "{text}");
    }
    for text in [
        "pwsh -c 'Get-Date'",
        "pwsh -EncodedCommand RwBlAHQALQBEAGEAdABlAA==",
        "pwsh -c \"$x\"",
        "pwsh",
        "cat x | pwsh",
        "pwsh -File -",
    ] {
        assert_eq!(verdict(Shell::Bash, text, deny), Verdict::Ask, "{text}");
        let free = decided(Shell::Bash, text, Mode::Bypass, &[], &[]);
        assert_eq!(free.verdict, Verdict::Allow, "{text}");
    }
    for text in ["pwsh --version", "pwsh -NoProfile -File build.ps1 a", "pwsh ./x.ps1", "echo pwsh git push"]
    {
        let decision = decided(Shell::Bash, text, Mode::Bypass, deny, &[]);
        assert_eq!(decision.verdict, Verdict::Allow, "{text}: {:?}", decision.reasons);
    }
    assert_eq!(verdict(Shell::Bash, "git push", &["PowerShell(git push:*)"]), Verdict::Deny);
}
